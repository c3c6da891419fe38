"""What a tile of the wall shows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sabot.floor.wall import NEEDS, Tile
from sabot.games import families
from sabot.games.blackjack.hands import total_of
from sabot.log.boards import unit_of
from sabot.log.families.boxes import BlackjackRound
from sabot.log.rounds import Dealt, Round, without_cards
from sabot.reports.roads import outcomes_of
from sabot.text import spaced
from sabot.web.pictures import small_plate

PLATE_COLUMNS = 14
_LAST = 16
"""How many last rounds of another family than baccarat a tile lists."""
_STATES = {
    "no_cards": "No cards",
    "betting": "Betting",
    "dealing": "Dealing",
    "decided": "Between rounds",
}


@dataclass(frozen=True, slots=True)
class TileView:
    """What a tile shows, in the words of the page."""

    unit: str
    name: str
    game: str
    event: int
    """Number of the newest event."""
    rank: int
    """The lower, the more it needs a look."""
    need: str
    state: str
    since_unix_ms: int | None
    """Since when no log has had its shoe; None if one has it."""
    line: str
    """That its events do not arrive, and why; empty while they do."""
    short_line: str
    """The same without a reason."""
    marks: tuple[str, ...]
    """What else is to be known: "cut card drawn", "lid open"."""
    family: str
    """Of its game: "baccarat", "blackjack", "holdem"; empty as long as it has not been dealt."""
    shows: str
    """Of which family `dealt` is shown: empty for nothing."""
    dealt: Dealt | None
    """The round in play, else the last one."""
    ended: bool
    """Whether `dealt` has ended."""
    plate: Markup
    """The last results of baccarat."""
    last: tuple[str, ...]
    """The last results of the other families."""
    shoe: int
    round: int
    pace: int
    alerts: int


def view_of(tile: Tile, now_unix_ms: int, *, cards: bool) -> TileView:
    """What the tile of a table shows at a time; `cards`: with those of its round."""
    table = tile.table
    need = tile.need(now_unix_ms)
    dealt = table.open_round
    if table.rounds and (dealt is None or not _begun(dealt)):
        dealt = table.rounds[-1]
    shows = "" if dealt is None else families.of_round(dealt).name
    if table.family and dealt is not None and not _begun(dealt):
        shows = shows if shows == table.family else ""  # each round begins as one of baccarat
    rounds = [each for each in table.rounds if isinstance(each, Round)]
    if dealt is not None and not cards:
        dealt = without_cards(dealt)
    return TileView(
        unit=unit_of(table.unit),
        name=table.name or unit_of(table.unit),
        game=table.game,
        event=table.last_event,
        rank=NEEDS.index(need),
        need=need,
        state=spaced(table.error).capitalize() if table.error else _STATES[table.phase],
        since_unix_ms=tile.with_log_unix_ms if tile.silent_ms(now_unix_ms) else None,
        line=tile.line(now_unix_ms),
        short_line=tile.short_line(now_unix_ms),
        marks=tuple(_marks(tile)),
        family=table.family or shows,
        shows=shows,
        dealt=dealt,
        ended=dealt is not None and bool(dealt.last_event),
        plate=small_plate(outcomes_of(rounds), PLATE_COLUMNS),
        last=tuple(_last(table.rounds)),
        shoe=table.shoe,
        round=table.round,
        pace=table.rounds_an_hour(now_unix_ms),
        alerts=len(tile.open_alerts),
    )


def _begun(dealt: Dealt) -> bool:
    """Whether a card of the round has been drawn."""
    cards = (*dealt.player, *dealt.banker) if isinstance(dealt, Round) else dealt.dealt
    return bool(cards) or dealt.sealed > 0


def _marks(tile: Tile) -> list[str]:
    table, order = tile.table, tile.order
    marks = (
        (order is not None, "" if order is None else order.mark),
        (table.lid_open, "lid open"),
        (table.key_on, "key on"),
        (table.service_on, "service"),
        (table.cut_card, "cut card"),
    )
    return [mark for on, mark in marks if on]


def _last(rounds: Sequence[Dealt]) -> list[str]:
    """The dealer's totals of blackjack, the boards of hold'em: the last ones."""
    return [word for each in rounds[-_LAST:] if (word := _word(each))]


def _word(dealt: Dealt) -> str:
    if not isinstance(dealt, BlackjackRound):
        return ""
    if dealt.void is not None:
        return "void"
    return "bust" if (dealt.dealer_total or 0) > 21 else str(dealt.dealer_total)


def points(cards: Sequence[str]) -> str:
    """The total of a hand of blackjack as far as it is known."""
    return str(total_of(cards)) if cards else ""
