"""The pieces of the wiring drawings, as SVG text. Lengths are in the drawing's units."""

from html import escape


def document(width: int, height: int, pieces: list[str]) -> str:
    """Return a whole drawing with these pieces on white."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    return "\n".join([*head, *pieces, "</svg>"]) + "\n"


def box(x: float, y: float, width: float, height: float, title: str, what: str) -> str:
    """Return a rounded box with its title, and below it what it is; `x`, `y` are its upper left
    corner."""
    middle = x + width / 2
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height:g}" rx="8" fill="#f4f6f8" '
        f'stroke="#444"/>'
        + text(middle, y + 20, title, bold=True)
        + text(middle, y + 38, what, size=11)
    )


def text(
    x: float, y: float, content: str, anchor: str = "middle", size: int = 13, bold: bool = False
) -> str:
    """Return a line of text; `anchor` is "start", "middle" or "end", and `y` its base line."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{weight}>'
        f"{escape(content)}</text>"
    )


def line(colour: str, *points: tuple[float, float]) -> str:
    """Return a wire through these points."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def arrow(x: float, y: float, right: bool, colour: str) -> str:
    """Return the head of an arrow that points to the right or to the left."""
    tip, tail = (x + 6, x - 5) if right else (x - 6, x + 5)
    return (
        f'<polygon points="{tip:g},{y:g} {tail:g},{y - 5:g} {tail:g},{y + 5:g}" fill="{colour}"/>'
    )
