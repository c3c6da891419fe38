"""All captured passes of a folder on one page: those of which no card came first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from sabot.html import as_text, page
from sabot.text import card_symbol

Entry = Mapping[str, Any]
"""A pass, as in the index of the folder; its `picture` is None if it has no picture."""

_STYLE = """
body { max-width: 300mm; }
h2 small { font-size: 10pt; font-weight: normal; color: #444; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(88mm, 1fr)); gap: 4mm; }
figure { margin: 0; border: 2px solid; border-radius: 4px; overflow: hidden; break-inside: avoid; }
figure img { display: block; width: 100%; background: #fff; }
figcaption { padding: .3em .6em; color: #111; }
figcaption b { font-size: 13pt; margin-right: .6em; } .bad b, td.bad { color: #a01010; }
td.bad { font-weight: bold; background: #fdeeee; }
td.number, th.number { text-align: right; } td, th { padding: 2px 10px 2px 0; white-space: nowrap; }
"""

_COLUMNS = (
    "verdict",
    "unit",
    "start",
    "pass",
    "time since start",
    "set",
    "speed",
    "margin",
    "skew",
)
_NUMBERS = _COLUMNS[2:]


def render(entries: Iterable[Entry]) -> str:
    """The whole page, for a file in the folder of the captures."""
    ordered = sorted(entries, key=_newest_first)
    unread = [entry for entry in ordered if "card" not in entry]
    read = [entry for entry in ordered if "card" in entry]
    title = "Captured passes"
    body = [f"<h1>{title}</h1>"]
    body += _section("No card was read", unread, "bad")
    body += _section("A card was read", read, "good")
    return page(title, _STYLE, body, images_beside=True)


def _section(title: str, entries: Sequence[Entry], kind: str) -> list[str]:
    if not entries:
        return []
    count = f"{len(entries)} pass{'es' if len(entries) > 1 else ''}, the newest first"
    figures = [_figure(entry, kind) for entry in entries if entry.get("picture")]
    grid = ['<div class="grid">', *figures, "</div>"] if figures else []
    return [f"<h2>{title} <small>{count}</small></h2>", *grid, *_table(entries, kind)]


def _figure(entry: Entry, kind: str) -> str:
    facts = _facts(entry)
    label = as_text(f"{facts['verdict']}, pass {facts['pass']} of {facts['unit']}")
    picture = _address(entry["picture"])
    details = (
        f"{facts['unit']} start {facts['start']} pass {facts['pass']}, {facts['time since start']}"
    )
    measured = f"{facts['speed']}, margin {facts['margin']}" if facts["speed"] != "-" else ""
    return (
        f'<figure class="{kind}"><a href="{picture}">'
        f'<img src="{picture}" alt="{label}" loading="lazy"></a>'
        f"<figcaption><b>{as_text(facts['verdict'])}</b>{as_text(measured)}"
        f"<br>{as_text(details)}<br>{_links(entry)}</figcaption></figure>"
    )


def _table(entries: Sequence[Entry], kind: str) -> list[str]:
    names = "".join(f"<th{_class(name, '')}>{name}</th>" for name in _COLUMNS)
    rows = []
    for entry in entries:
        facts = _facts(entry)
        cells = "".join(f"<td{_class(n, kind)}>{as_text(facts[n])}</td>" for n in _COLUMNS)
        rows.append(f"<tr>{cells}<td>{_links(entry)}</td></tr>")
    head = f"<table><thead><tr>{names}<th>files</th></tr></thead><tbody>"
    return [head, *rows, "</tbody></table>"]


def _facts(entry: Entry) -> dict[str, str]:
    """What is shown of a pass, one text for each column."""
    card = entry.get("card")
    verdict = card_symbol(card) if isinstance(card, str) else str(entry.get("fault", "?"))
    speed, margin, skew = (entry.get(name) for name in ("speed_mm_s", "margin_permille", "skew_um"))
    measured = isinstance(speed, int) and speed > 0
    return {
        "verdict": verdict + (" (end not kept)" if entry.get("cut") else ""),
        "unit": str(entry.get("unit", "?")),
        "start": str(entry.get("boot", "?")),
        "pass": str(entry.get("pass", "?")),
        "time since start": _time(entry.get("t_ms")),
        "set": "-" if entry.get("set") is None else str(entry["set"]),
        "speed": f"{speed} mm/s" if measured else "-",
        "margin": f"{margin / 10:.1f} %" if measured and isinstance(margin, int) else "-",
        "skew": f"{skew} um" if measured and isinstance(skew, int) else "-",
    }


def _time(t_ms: object) -> str:
    if not isinstance(t_ms, int):
        return "?"
    minutes, ms = divmod(t_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{ms / 1000:06.3f}"


def _links(entry: Entry) -> str:
    files = {"recording": entry["recording"], "picture": entry.get("picture")}
    return ", ".join(
        f'<a href="{_address(name)}">{what}</a>' for what, name in files.items() if name
    )


def _address(name: object) -> str:
    """The address of a file beside the page: nothing in a name can lead to another place."""
    return quote(str(name), safe="")


def _class(column: str, kind: str) -> str:
    if column in _NUMBERS:
        return ' class="number"'
    return f' class="{kind}"' if column == "verdict" and kind else ""


def _newest_first(entry: Entry) -> tuple[str, int, int]:
    boot, number = (entry.get(name) for name in ("boot", "pass"))
    return (
        str(entry.get("unit")),
        -boot if isinstance(boot, int) else 0,
        -number if isinstance(number, int) else 0,
    )
