"""The frame of a self-contained page: no script, no font, no network."""

from collections.abc import Iterable
from html import escape

from sabot.text import printable

_STYLE = """
:root { color-scheme: light; }
body { font: 10pt/1.4 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #111;
  background: #fff; margin: 1em auto; padding: 0 4mm; }
h1 { font-size: 18pt; margin: 0 0 .4em; } h2 { font-size: 13pt; margin: 1.5em 0 .4em; }
.verdict { border: 3px solid; border-radius: 4px; padding: .4em .7em; margin: .6em 0;
  font-size: 15pt; font-weight: bold; }
.verdict small { display: block; font-size: 10pt; font-weight: normal; color: #111; }
.good { color: #14602e; border-color: #14602e; background: #eef8f0; }
.bad { color: #a01010; border-color: #a01010; background: #fdeeee; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; border-bottom: 1px solid #ccc; }
thead th { border-bottom: 2px solid #111; }
.facts th { font-weight: normal; color: #444; }
@media print { * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
"""


def page(
    title: str,
    style: str,
    body: Iterable[str],
    *,
    images: bool = False,
    images_beside: bool = False,
) -> str:
    """A whole HTML file. The browser may load nothing; with `images` it may show images that are
    within the page, with `images_beside` those that are files beside it. `style` is added to the
    style that all pages share.
    """
    # Some browsers take a file beside a local page for a part of its site, others do not.
    sources = ["data:"] * images + ["'self'", "file:"] * images_beside
    allowed = "default-src 'none'; style-src 'unsafe-inline'"
    allowed += f"; img-src {' '.join(sources)}" if sources else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{as_text(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def verdict(good: bool, headline: str, details: str) -> str:
    """The box at the top of a page: `headline`, and `details` in small type, both as HTML."""
    kind = "good" if good else "bad"
    return f'<p class="verdict {kind}">{headline}<small>{details}</small></p>'


def as_text(text: str) -> str:
    """Text as HTML. Control characters, and those for the writing direction, are escaped."""
    return escape(printable(text))
