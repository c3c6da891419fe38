"""The wall and the tables as JSON, and as a stream of what changes."""

import time
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.desk.roster import DEALER, SUPERVISOR
from sabot.errors import DeskRefused
from sabot.floor import dealt_cards, wall
from sabot.floor.dealt_cards import DealtCards
from sabot.floor.live import Floor
from sabot.floor.order_shown import OrderShown
from sabot.floor.wall import TileFields, by_need
from sabot.log.boards import unit_of
from sabot.log.rounds import Round, without_cards
from sabot.reports.derived_roads import DerivedCell, big_eye_boy, cockroach_pig, small_road
from sabot.reports.roads import Outcome, bead_plate, big_road, outcomes_of
from sabot.web.access import Visit
from sabot.web.api.operations import Open, Operation
from sabot.web.feed import FeedResponse
from sabot.web.pages.duty import note
from sabot.web.pages.table import counts_of, laid_open_of, on_duty, tile_of
from sabot.web.sources import Changed


class _Place(TypedDict):
    unit: str
    shoe: int
    round: int


Dealt = Annotated[
    Mapping[str, Any],
    Open(
        "Dealt",
        "As `sabot rounds --json` prints it; with `family` if it is not of baccarat.",
        _Place,
    ),
]


class Order(TypedDict):
    """What was found in the order of the cards: the kind of incident, and the cards that have come,
    each with the one at the same place of the shoe of cards that they repeat."""

    kind: str
    detail: str
    cards: list[str]
    before: list[str]


class Tile(TileFields):
    """A table of the wall."""

    open_alerts: int
    order: Order | None
    open_round: Dealt | None


class Cell(TypedDict):
    """A cell of a road."""

    column: int
    row: int
    round: int
    mark: str


class BigRoadCell(Cell):
    """A cell of the big road; without a round, if there were ties before the first winner."""

    ties: int


class Roads(TypedDict):
    """The roads of a shoe of cards of baccarat."""

    bead_plate: list[Cell]
    big_road: list[BigRoadCell]
    big_eye_boy: list[Cell]
    small_road: list[Cell]
    cockroach_pig: list[Cell]


class Counts(TypedDict):
    """How many of each card came out of the last shoe of cards that has ended. Nothing is counted
    of one in play, so `ended` is true."""

    shoe: int
    ended: bool
    decks: int | None
    face_down: int
    not_understood: int | None
    cards: Mapping[str, int]


class LaidOpen(TypedDict):
    """The cards of a round of the shoe of cards in play that lay face up, as they came; those that
    were burned before the first round are of round 0."""

    round: int
    cards: list[str]


class FaceUp(TypedDict):
    """What has lain face up in the shoe of cards in play so far; nothing of it is counted."""

    shoe: int
    not_understood: int | None
    rounds: list[LaidOpen]


class OnDuty(TypedDict):
    """Who is on duty at a table now: pseudonyms, null where no one has said it."""

    dealer: str | None
    supervisor: str | None


class Table(Tile):
    """A table, with its rounds in place of their number."""

    rounds: list[Dealt]  # type: ignore[misc]
    roads: Roads
    counts: Counts | None
    laid_open: FaceUp | None
    on_duty: OnDuty | None


class Done(TypedDict):
    """It was done."""

    done: bool


class _Wall(TypedDict):
    id: str
    loaded: int
    units: int
    problem: str
    tables: list[Tile]


class Change(TypedDict):
    """The tables that have changed, or with `all` every one of `units`."""

    tables: list[Tile]
    units: list[str]
    all: bool
    problem: str


def tile_json(tile: wall.Tile, *, cards: bool) -> Tile:
    """A table of the wall; `cards`: with those of its round."""
    open_round = tile.table.open_round
    if open_round is not None and not cards:
        open_round = without_cards(open_round)
    return {
        **tile.as_json(_now_unix_ms()),
        "open_alerts": len(tile.open_alerts),
        "order": None if tile.order is None else _order(tile.order, cards=cards),
        "open_round": None if open_round is None else open_round.as_json(),
    }


def _order(order: OrderShown, *, cards: bool) -> Order:
    pairs = order.pairs if cards else ()
    return {
        "kind": order.kind,
        "detail": order.detail,
        "cards": [came for came, _ in pairs],
        "before": [before for _, before in pairs],
    }


def _wall(visit: Visit) -> _Wall:
    floor = visit.services.floor
    version, tiles = floor.version, by_need(floor.tiles(), _now_unix_ms())
    return {
        "id": visit.request.app.state.feeds.id_of(version),
        "loaded": floor.loaded[0],
        "units": floor.loaded[1],
        "problem": floor.problem,
        "tables": [tile_json(tile, cards=visit.may("round")) for tile in tiles],
    }


def _table(visit: Visit) -> Table:
    tile = tile_of(visit, visit.request.path_params["unit"])
    rounds = tile.table.rounds
    outcomes = outcomes_of(each for each in rounds if isinstance(each, Round))
    dealt, may_see = counts_of(visit, tile), visit.may("round")
    open_, on = laid_open_of(visit, tile), on_duty(visit, tile.table.name)
    shown = rounds if may_see else map(without_cards, rounds)
    return {
        **tile_json(tile, cards=may_see),
        "rounds": [each.as_json() for each in shown],
        "roads": _roads(outcomes),
        "counts": None if dealt is None else _counts(dealt),
        "on_duty": None
        if on is None
        else {"dealer": on.get(DEALER), "supervisor": on.get(SUPERVISOR)},
        "laid_open": None if open_ is None else _face_up(open_),
    }


def _duty(visit: Visit) -> Done:
    try:
        note(visit, visit.form.get("unit", ""))
    except DeskRefused as error:
        raise HTTPException(400, str(error)) from None
    return {"done": True}


def _live(visit: Visit) -> Response:
    return FeedResponse(visit, _Tables(visit.services.floor, cards=visit.may("round")))


class _Tables:
    """The tables that have changed; `cards`: with those of their rounds."""

    def __init__(self, floor: Floor, *, cards: bool) -> None:
        self._floor, self._cards = floor, cards
        self._version: int | None = None

    def due(self) -> bool:
        """As `Source`."""
        return self._floor.version != self._version

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        floor = self._floor
        now = self._version = floor.version
        if now == version:
            return now, {}
        tiles = floor.tiles() if version is None else floor.changed(version)
        changed: Change = {
            "tables": [tile_json(tile, cards=self._cards) for tile in tiles],
            "units": sorted(unit_of(tile.table.unit) for tile in floor.tiles()),
            "all": version is None,
            "problem": floor.problem,
        }
        return now, changed


def _roads(outcomes: list[Outcome]) -> Roads:
    beads: list[Cell] = [
        {
            "column": bead.column,
            "row": bead.row,
            "round": bead.outcome.round,
            "mark": bead.outcome.winner,
        }
        for bead in bead_plate(outcomes)
    ]
    big: list[BigRoadCell] = [
        {
            "column": cell.column,
            "row": cell.row,
            "round": cell.outcome.round if cell.outcome else 0,
            "mark": cell.outcome.winner if cell.outcome else "",
            "ties": cell.ties,
        }
        for cell in big_road(outcomes)
    ]
    return {
        "bead_plate": beads,
        "big_road": big,
        "big_eye_boy": _derived(big_eye_boy(outcomes)),
        "small_road": _derived(small_road(outcomes)),
        "cockroach_pig": _derived(cockroach_pig(outcomes)),
    }


def _derived(cells: list[DerivedCell]) -> list[Cell]:
    return [
        {"column": cell.column, "row": cell.row, "round": cell.round, "mark": cell.mark.value}
        for cell in cells
    ]


def _counts(dealt: DealtCards) -> Counts:
    return {
        "shoe": dealt.shoe,
        "ended": True,
        "decks": dealt.decks,
        "face_down": dealt.face_down,
        "not_understood": dealt.not_understood,
        "cards": dict(sorted(dealt.counts.items())),
    }


def _face_up(found: dealt_cards.FaceUp) -> FaceUp:
    return {
        "shoe": found.shoe,
        "not_understood": found.not_understood,
        "rounds": [{"round": each.round, "cards": [*each.cards]} for each in found.rounds],
    }


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


OPERATIONS = [
    Operation(
        "GET",
        "/api/tables",
        _wall,
        "wall",
        "All tables as they are now, those that need a look first",
    ),
    Operation(
        "GET",
        "/api/tables/{unit}",
        _table,
        "table",
        "One table: its rounds, its roads, and its cards as far as the role may see",
    ),
    Operation(
        "POST",
        "/api/tables/duty",
        _duty,
        "acknowledge",
        "Note who has a task (dealer or supervisor) at a unit's table from now on; without a "
        "person that no one has it any more",
        body=("unit", "task", "person"),
    ),
    Operation(
        "GET",
        "/api/live",
        _live,
        "wall",
        "The tables that change, as they change",
        query={"after": "the id of the last event, or of /api/tables, that the client has"},
        streams=Change,
    ),
]
