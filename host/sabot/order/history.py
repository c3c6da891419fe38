"""The order of the shoes of cards in a log."""

from collections.abc import Callable, Iterator
from itertools import islice

from sabot.log import boards
from sabot.log.reveal import ShownGames
from sabot.log.store import Filter, Store
from sabot.order.chances import House
from sabot.order.dealt_order import DealtOrder, Found
from sabot.order.events import card_events
from sabot.order.past import LAST, PastShoe
from sabot.order.run_index import RunIndex

_STEP = 2000  # events that are read at once


def shoes_before(store: Store, unit: str, before: int | None = None) -> list[PastShoe]:
    """Return the last shoes of cards of a unit that ended before event `before`, up to LAST, the
    newest last; None: before the end of its log. Those of boards that were replaced are among
    them."""
    for shoes in shoes_read(store, unit, before):
        if shoes is not None:
            return shoes
    return []


def shoes_read(
    store: Store, unit: str, before: int | None = None
) -> Iterator[list[PastShoe] | None]:
    """Read the same in steps: yield None after each, and at the end the shoes."""
    names = boards.in_order(store.boards(boards.unit_of(unit)))
    shoes: list[PastShoe] = []
    for name in reversed(names[: names.index(unit) + 1] if unit in names else [unit]):
        last = before - 1 if before is not None and name == unit else None
        most = LAST - len(shoes)
        begins = Filter(name, last=last, kinds=("shoe_loaded",), newest_first=True)
        numbers = [row.number for row in islice(store.rows(begins), most + 1)]
        if not numbers:
            continue
        order = DealtOrder(name, ShownGames(store.game))
        # A page at a time: the log is not kept open between two steps.
        first = numbers[-1]
        while some := [*islice(card_events(store, name, first, last), _STEP)]:
            for event in some:
                order.add(event)
            first = some[-1].number + 1
            yield None
        shoes = [*order.ended[-most:], *shoes]
        if len(shoes) >= LAST:
            break
    yield shoes


def found_in(
    store: Store,
    unit: str,
    logged: RunIndex | None = None,
    house: House = House(),
    first: int | None = None,
    last: int | None = None,
    count: Callable[[int], None] = lambda number: None,
) -> Iterator[tuple[Found, bool]]:
    """Yield what is found in the order of the cards of a unit, and whether that shoe of cards is
    over: in order, as it was found while they were dealt. From event `first` on, which begins a
    shoe of cards, to event `last`; None: of all. `count` gets the number of the last event now and
    then."""
    order = DealtOrder(unit, ShownGames(store.game), house, beside=False)
    order.past(
        shoes_before(store, unit, first) if first else _of_boards_before(store, unit), logged
    )
    found: Found | None = None
    for event in card_events(store, unit, first, last):
        order.add(event)
        new = order.new()
        if found is not None and (order.over or new):
            yield found, True
            found = None
        for each in new:
            found = each
        if order.over:
            count(event.number)
    if found is not None:
        yield found, order.over or (last is not None and _is_over(store, unit, last))


def _is_over(store: Store, unit: str, last: int) -> bool:
    """Whether a shoe of cards ended after event `last`."""
    ends = Filter(unit, first=last + 1, kinds=("shoe_ended", "shoe_loaded"))
    return next(iter(store.rows(ends)), None) is not None


def _of_boards_before(store: Store, unit: str) -> list[PastShoe]:
    names = boards.in_order(store.boards(boards.unit_of(unit)))
    at = names.index(unit) if unit in names else 0
    return shoes_before(store, names[at - 1]) if at else []
