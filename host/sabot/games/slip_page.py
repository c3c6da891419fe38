"""What the slips of all families share: a narrow page to print and sign."""

from collections.abc import Iterable

from sabot.html import as_text

STYLE = """
body { max-width: 110mm; font-size: 9.5pt; }
h1 { font-size: 1.5em; } td.number, th.number { text-align: right; white-space: nowrap; }
td { vertical-align: top; padding: .12em .6em .12em 0; }
.floor { margin: .8em 0; padding: .4em .6em; border: 2px solid #111; }
.sign { margin-top: 2.2em; border-top: 1px solid #111; }
footer { margin-top: .8em; font-size: 7pt; color: #444; overflow-wrap: anywhere; }
@page { size: A5; margin: 10mm; }
@media print { body { margin: 0 auto; padding: 0; } tr, .floor, .sign { break-inside: avoid; } }
"""


def amounts_table(rows: Iterable[tuple[str, ...]], names: tuple[str, ...] = ()) -> str:
    """A table whose last column has amounts, with the names of its columns."""
    heads = "".join(f"<th>{name}</th>" for name in names[:-1])
    heads += "".join(f'<th class="number">{name}</th>' for name in names[-1:])
    shown = (
        "<tr>"
        + "".join(f"<td>{as_text(cell)}</td>" for cell in row[:-1])
        + f'<td class="number">{as_text(row[-1])}</td></tr>'
        for row in rows
    )
    head = f"<thead><tr>{heads}</tr></thead>" if names else ""
    return f"<table>{head}<tbody>{''.join(shown)}</tbody></table>"
