"""The report as one page of HTML, to be read, printed and filed; and its parts, for a page of
`sabot serve`. Everything that comes from a log or a file is escaped as text."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo

from sabot.html import as_text, page, verdict
from sabot.integrity.composition import Composition
from sabot.integrity.dealt_shoe import Place
from sabot.integrity.favourable import Favourable
from sabot.integrity.finding import HOLM, Listed
from sabot.integrity.over_log import Outcome
from sabot.integrity.shown.words import CANNOT_KNOW, ENDED_ONLY, METHODS
from sabot.integrity.shuffle import Shuffle
from sabot.table_time import text_of
from sabot.text import counted

Link = Callable[[Place], str | None]
"""Returns the address of the page of a round; None if it has no page."""

Picture = Callable[[str], str]
"""Returns the source of the picture with a name, for an `img`."""

TITLE = "What the cards give away"
MOST_ROWS = 60
_MOST_BEST = 3

_STYLE = """
body { max-width: 190mm; }
th, td { vertical-align: top; padding: 2px 8px 2px 0; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.about { min-width: 6em; }
td.chance, .place { white-space: nowrap; }
img { max-width: 100%; height: auto; }
small { color: #444; } figure { margin: .5em 0; }
@page { size: A4; margin: 14mm 12mm; }
@media print {
  body { margin: 0; padding: 0; max-width: none; font-size: 9pt; }
  tr, figure, .verdict { break-inside: avoid; } h2 { break-after: avoid; }
  thead { display: table-header-group; }
}
"""


def render(
    outcome: Outcome, log: str, zone: tzinfo, pictures: Mapping[str, tuple[str, bytes]]
) -> str:
    """Return the whole HTML file about the log `log`."""

    def source(name: str) -> str:
        return f"data:image/png;base64,{b64encode(pictures[name][1]).decode()}"

    words = {name: words for name, (words, _) in pictures.items()}
    body = (f"<h1>{TITLE}</h1>", f"<p>Log: {as_text(log)}</p>")
    parts = parts_of(outcome, zone, words, source, lambda place: None)
    return page(TITLE, _STYLE, (*body, *parts), images=True)


def parts_of(
    outcome: Outcome, zone: tzinfo, pictures: Mapping[str, str], source: Picture, link: Link
) -> Iterator[str]:
    """Yield the parts of the report as HTML. `pictures` are the names of the pictures that there
    are, and what each shows in words."""
    yield _verdict(outcome, zone)
    yield f"<p>{as_text(HOLM)} {as_text(ENDED_ONLY)}</p>"
    yield _findings(outcome.findings, link)
    for name, analysis in outcome.analyses.items():
        yield f"<h2>{as_text(_HEADINGS.get(name, name.capitalize()))}</h2>"
        if name in METHODS:
            yield f"<p>{as_text(METHODS[name])}</p>"
        if isinstance(analysis, Shuffle):
            yield _shuffle(analysis)
        elif isinstance(analysis, Composition):
            yield _composition(analysis)
        elif isinstance(analysis, Favourable):
            yield _favourable(analysis, link)
        if name in pictures:
            words = as_text(pictures[name])
            yield f'<figure><img src="{source(name)}" alt="{words}"></figure>'
    yield "<h2>What a log cannot know</h2>"
    yield f"<ul>{''.join(f'<li>{as_text(each)}</li>' for each in CANNOT_KNOW)}</ul>"


_HEADINGS = {
    "order": "In which order the cards came",
    "shuffle": "How the cards were shuffled",
    "composition": "Which cards came out",
    "favourable": "When the cards favoured a wager",
}


def _verdict(outcome: Outcome, zone: tzinfo) -> str:
    found = len(outcome.findings)
    looked = (
        f"{counted(outcome.shoes, 'shoe')} of cards of {counted(outcome.units, 'unit')}, "
        f"{counted(outcome.cards, 'card')}"
    )
    if outcome.first_unix_ms is not None and outcome.last_unix_ms is not None:
        first, last = (
            text_of(each, zone) for each in (outcome.first_unix_ms, outcome.last_unix_ms)
        )
        looked += f", loaded from {first} to {last}"
    left_out = (
        f" Left out as in play or not whole: {outcome.left_out:,}." if outcome.left_out else ""
    )
    headline = counted(found, "finding") if found else "Nothing strange was found"
    details = (
        f"{looked}. {counted(outcome.tests, 'test')} made; listed is what has a corrected chance "
        f"below {outcome.limit:g}.{left_out}"
    )
    return verdict(not found, as_text(headline), as_text(details))


def _findings(findings: Sequence[Listed], link: Link) -> str:
    if not findings:
        return ""
    rows = "".join(_row(place, each, link) for place, each in enumerate(findings[:MOST_ROWS], 1))
    more = len(findings) - MOST_ROWS
    rest = f"<p>{more:,} weaker findings are in the output of --json.</p>" if more > 0 else ""
    return (
        "<h2>Findings, the strongest first</h2><table><thead><tr><th></th><th>About</th>"
        "<th>What was found</th><th class=number>Counted</th><th class=number>By chance</th>"
        f"<th>Chance</th></tr></thead><tbody>{rows}</tbody></table>{rest}"
    )


def _row(number: int, listed: Listed, link: Link) -> str:
    found = listed.finding
    return (
        f"<tr><td class=number>{number}</td><td class=about>{as_text(found.about)}</td>"
        f"<td>{as_text(found.sentence)} <small>{as_text(listed.how_often)}</small>"
        f"{_places(found.places, link)}</td>"
        f"<td class=number>{figure_text(found.value)}</td>"
        f"<td class=number>{figure_text(found.expected)}</td>"
        f"<td class=chance>{chance_text(found.chance)}<br><small>corrected "
        f"{chance_text(listed.corrected)}</small></td></tr>"
    )


def _places(places: Iterable[Place], link: Link) -> str:
    shown = []
    for place in places:
        shown.append(_linked(place, link))
    return f"<br><small>Look at {', '.join(shown)}.</small>" if shown else ""


def chance_text(chance: float) -> str:
    """A chance as people read it."""
    if chance <= 0:
        return "0"
    return f"{chance:.3f}" if chance >= 0.001 else f"{chance:.0e}".replace("e-0", "e-")


def figure_text(figure: float) -> str:
    """A count or a mean as people read it."""
    return f"{figure:,.0f}" if float(figure).is_integer() else f"{figure:,.1f}"


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(
        f"<th{' class=number' * (place > 0)}>{each}</th>" for place, each in enumerate(names)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=number' * (place > 0)}>{as_text(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shuffle(analysis: Shuffle) -> str:
    figures = sorted(analysis.figures(), key=lambda each: each.expected - each.shared)
    if not figures:
        return "<p>No two shoes of cards of a unit could be compared.</p>"
    names = ("Group", "Against", "Shoes", "Shared", "By chance", "Riffles", "Rising", "Shuffled")
    rows = [
        (
            each.about, "the last" if each.lag == 1 else "the one before", f"{each.shoes:,}",
            f"{each.shared:.1f}", f"{each.expected:.1f}", str(each.riffles),
            f"{each.rising:.1f}", f"{each.rising_shuffled:.1f}",
        )
        for each in figures[:MOST_ROWS]
    ]  # fmt: skip
    return _table(names, rows)


def _composition(analysis: Composition) -> str:
    names = ("Group", "Shoes", "Short", "Chance by card", "By rank", "By suit")
    rows = [
        (
            each.about, f"{each.shoes:,}", f"{each.shorts:,}",
            *(
                chance_text(each.chances[name]) if name in each.chances else "too few"
                for name in ("card", "rank", "suit")
            ),
        )
        for each in list(analysis.figures())[:MOST_ROWS]
    ]  # fmt: skip
    return _table(names, rows)


def _favourable(analysis: Favourable, link: Link) -> str:
    figures = sorted(analysis.figures(), key=lambda each: -each.per_shoe)
    if not figures:
        return "<p>No shoe of cards was dealt by a known game of baccarat.</p>"
    names = ("Wager", "Rounds", "Favourable", "Worth a shoe", "Most")
    rows = [
        (
            each.wager.replace("_", " "), f"{each.rounds:,}", f"{each.favourable:,}",
            f"{each.per_shoe:.3f} units", f"{each.best[0][0]:+.1%}" if each.best else "",
        )
        for each in figures
    ]  # fmt: skip
    best = "".join(
        f"<li>{as_text(each.wager.replace('_', ' '))}: "
        + ", ".join(
            f"{units:+.1%} before {_linked(place, link)}" for units, place in each.best[:_MOST_BEST]
        )
        + "</li>"
        for each in figures
        if each.best
    )
    return _table(names, rows) + (
        f"<p>The rounds that favoured most:</p><ul>{best}</ul>" * bool(best)
    )


def _linked(place: Place, link: Link) -> str:
    address, text = link(place), f'<span class="place">{as_text(str(place))}</span>'
    return text if address is None else f'<a href="{as_text(address)}">{text}</a>'
