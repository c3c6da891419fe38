"""The frame of a page that needs nothing else: no script, no font, no net."""

from collections.abc import Iterable
from html import escape

from sabot.cli.view import plain


def document(title: str, style: str, body: Iterable[str], *, images: bool = False) -> str:
    """A whole HTML file. Its reader is forbidden to load anything; `images` that the page itself
    holds are allowed.
    """
    allowed = "default-src 'none'; style-src 'unsafe-inline'" + (
        "; img-src data:" if images else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{as_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def as_text(said: str) -> str:
    """As HTML; what steers anything, or turns the line's direction, is written out."""
    return escape(plain(said).plain)
