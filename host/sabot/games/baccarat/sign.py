"""The sign at a table: what each wager pays, the limits, and what players must be told.

Maryland, Chapters 2 B(3) and 2 B(6)(b), ask for it unless the layout says the same; Pennsylvania's
document has a notice on age and help. One page to print, without script, font or network.
"""

from collections.abc import Iterable, Mapping

from sabot.games.baccarat.catalogue import find_game
from sabot.games.baccarat.limits import Limits, limits_in
from sabot.games.baccarat.wagers import STANDARD, WAGERS
from sabot.html import as_text, page
from sabot.text import amount
from sabot_protocol.baccarat import Game

_NOTICES: Mapping[str, str] = {
    "pennsylvania": "Must be 21+. Gambling problem? Call 1-800-GAMBLER.",
}
"""What a rule document has players told, by its name in the catalogue."""

_DRAGON_7 = (
    "A wager on the Banker's Hand that results in a Dragon 7 shall push and be returned to the "
    "player. A Dragon 7 is a Banker's Hand that wins with 7 points of three cards. No vigorish is "
    "collected."
)
"""Maryland, Chapters 2 B(6)(b), 1 B(1) and 1 B(2)."""

_MANY_ROWS = 14
"""With more rows than this the sign has a smaller type, so that it stays one page."""

_STYLE = """
body { max-width: 180mm; font-size: 15pt; }
body.many { font-size: 10.5pt; }
h1 { font-size: 2.2em; text-align: center; margin: 0 0 .2em; }
h2 { font-size: 1.3em; margin: .8em 0 .2em; }
th, td { padding: .12em .8em .12em 0; vertical-align: top; }
th[scope="row"] { white-space: nowrap; } td.number, th.number { text-align: right;
  white-space: nowrap; padding-right: 0; padding-left: .8em; }
tr.more th, tr.more td { border-bottom-style: none; }
.rule { margin: .8em 0; padding: .5em .7em; border: 2px solid #111; font-weight: bold; }
.notice { margin-top: .8em; text-align: center; font-size: 1.3em; font-weight: bold; }
footer { margin-top: .8em; font-size: 8pt; color: #444; overflow-wrap: anywhere; }
@page { size: A4; margin: 14mm 15mm; }
@media print {
  body { margin: 0 auto; padding: 0; } tr, .rule, .notice { break-inside: avoid; }
  h2 { break-after: avoid; } thead { display: table-header-group; }
}
"""


def render(game: Game) -> str:
    """The whole HTML file of a game with the house's choices."""
    house_game = find_game(game.name)
    rows = list(_odds(game))
    body = [
        f"<h1>{as_text(game.title)}</h1>",
        "<h2>Payout odds</h2>",
        _table(("Wager", "", "Pays"), rows),
        *_vigorish(game),
        "<h2>Minimum and maximum</h2>",
        _table(("Wager", "Minimum", "Maximum"), _limits(game)),
    ]
    if "dragon_7" in game.wagers:
        body.append(f'<p class="rule">{_DRAGON_7}</p>')
    notice = _NOTICES.get(house_game.rules)
    if notice is not None:
        body.append(f'<p class="notice">{as_text(notice)}</p>')
    source = f"{house_game.source}. Game document {game.sha256.hex()}"
    body.append(f"<footer>{as_text(source)}</footer>")
    style = _STYLE.replace("body.many", "body" if len(rows) > _MANY_ROWS else "body.many")
    return page(f"{game.title}: odds and limits", style, body)


def _odds(game: Game) -> Iterable[str]:
    """The rows of the odds: one for each prize, and one for each result that pushes."""
    for name in game.wagers:
        wager = WAGERS[name]
        # A standard wager is on the hand that it is named after, and needs no more words.
        lines = [
            ("" if name in STANDARD else prize.words, f"{to_one} to 1")
            for prize, to_one in wager.paid(game.house).values()
        ]
        lines += [(push.words, "push") for push in wager.all_pushes_in(game)]
        for place, (what, worth) in enumerate(lines):
            kind = "" if place == len(lines) - 1 else ' class="more"'
            title = as_text(wager.title) if not place else ""
            yield (
                f'<tr{kind}><th scope="row">{title}</th><td>{as_text(what)}</td>'
                f'<td class="number">{worth}</td></tr>'
            )


def _vigorish(game: Game) -> list[str]:
    permille = game.house["vigorish_permille"]
    if not permille:
        return []
    rounded = {"up_25": ", rounded up to 25 cents", "exact": ""}[game.house["vigorish_rounding"]]
    percent = f"{permille / 10:g}"
    return [f"<p>A vigorish of {percent}% of the amount won is taken on Banker{rounded}.</p>"]


def _limits(game: Game) -> Iterable[str]:
    """The rows of the limits: wagers with the same limits in one row."""
    wagers_with: dict[Limits, list[str]] = {}
    for name, limits in limits_in(game).items():
        wagers_with.setdefault(limits, []).append(WAGERS[name].title)
    for limits, titles in wagers_with.items():
        names = "all wagers" if len(wagers_with) == 1 else ", ".join(titles)
        yield (
            f"<tr><td>{as_text(names)}</td>"
            f'<td class="number">{amount(limits.least_cents)}</td>'
            f'<td class="number">{amount(limits.most_cents)}</td></tr>'
        )


def _table(names: tuple[str, ...], rows: Iterable[str]) -> str:
    right = [' class="number"' if name in ("Pays", "Minimum", "Maximum") else "" for name in names]
    heads = "".join(f"<th{kind}>{name}</th>" for name, kind in zip(names, right, strict=True))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
