"""The slip of a settled round: what was dealt, what the dealer does, and the sums, to be signed.

One narrow page to print, without script, font or network.
"""

from datetime import tzinfo

from sabot.games.baccarat.settle import Settlement
from sabot.games.baccarat.wager_file import Area, GivenRound
from sabot.games.slip_page import STYLE, amounts_table
from sabot.html import as_text, page
from sabot.log.rounds import Round
from sabot.table_time import text_of
from sabot.text import amount, card_symbol
from sabot_protocol.baccarat import Game

_ALWAYS = ("wagered_cents", "paid_cents", "house_cents")
"""Sums that a slip shows also if they are nothing."""


def render(
    game: Game,
    dealt: GivenRound,
    settled: Settlement,
    logged: Round | None = None,
    table: str = "",
    *,
    zone: tzinfo,
) -> str:
    """The whole HTML file. `logged` is the round in a log and `table` where its unit stood; without
    them the cards were given by a person, and the slip says so. Its time is on the clock of
    `zone`."""
    steps = [
        (f"{step.area}", _named(step.player, step.area), step.wager or "", step.do,
         amount(step.amount_cents))
        for step in settled.steps
    ]  # fmt: skip
    left = (
        f"left to the floor: {each.area}, {each.player}, {each.wager or 'marker'} "
        f"{amount(each.cents)}: {each.why}"
        for each in settled.left
    )
    markers = (
        f"marker: {each.area}, {each.player} owes {amount(each.owed_cents)}"
        for each in settled.markers
    )
    body = [
        f"<h1>{as_text(game.title)}</h1>",
        f"<p>{as_text(_which(logged, table, zone))}</p>",
        f"<p>{as_text(_cards(dealt))}</p>",
        f"<p>{as_text(settled.announced)}</p>" if settled.announced else "",
        amounts_table(steps, ("where", "player", "wager", "the dealer", "amount")),
        *(f"<p>{as_text(line)}</p>" for line in markers),
        *(f'<p class="floor">{as_text(line)}</p>' for line in (*left, *settled.notices)),
        "<h2>Sums</h2>",
        amounts_table(
            (name.removesuffix("_cents").replace("_", " "), amount(cents))
            for name, cents in settled.totals().items()
            if cents or name in _ALWAYS
        ),
        '<p class="sign">Dealer</p>',
        '<p class="sign">Floor supervisor</p>',
        f"<footer>Game document {game.sha256.hex()}</footer>",
    ]
    return page(f"{game.title}: settled round", STYLE, body)


def _which(logged: Round | None, table: str, zone: tzinfo) -> str:
    if logged is None:
        return "The cards were given, not taken from a log."
    at = f"Table {table}, " if table else ""
    which = f"{logged.unit} shoe {logged.shoe} round {logged.round}"
    return f"{at}{which}, {text_of(logged.ended_unix_ms, zone)}"


def _named(player: str, area: Area) -> str:
    """The player's name; empty for one without, who is called as the area."""
    return "" if player == str(area) else player


def _cards(dealt: GivenRound) -> str:
    if dealt.void is not None:
        return f"Void: {dealt.void}"
    player, banker = (" ".join(map(card_symbol, hand)) for hand in (dealt.player, dealt.banker))
    return f"Player {player}; Banker {banker}"
