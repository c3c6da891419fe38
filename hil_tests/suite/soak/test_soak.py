"""Shoe after shoe with faults, losses of power and noise: nothing lost, and nothing drifts."""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hil_tests import dealer
from hil_tests.capabilities import Target, attached
from hil_tests.logbook import findings, received
from protocol import messages
from sabot.rounds import rounds_of
from sabot.store import Filter, Store

_SHORT = 370  # cards behind the cut card: seven rounds or so
_CUTS = 0.01  # of a dealer's steps
_UNREADABLE_EVERY = (0, 7, 23)


def test_shoe_after_shoe_is_recorded_as_it_was_dealt(
    target: Target, tmp_path: Path, seed: int, minutes: float, measure: Callable[..., None]
) -> None:
    rng = random.Random(seed)
    done: Counter[str] = Counter()
    hands = []
    heaps: list[int] = []
    unit = target.shoe.unit
    end_s = time.monotonic() + 60 * minutes

    def between(where: str) -> None:
        if rng.random() < _CUTS:
            target.power.off()
            target.power.on()
            done["losses of power"] += 1

    with Store(tmp_path / "soak.sqlite", create=True) as store:
        while not heaps or time.monotonic() < end_s:
            every = rng.choice(_UNREADABLE_EVERY)
            cards = dealer.shuffled(
                rng.randrange(2**32), cut_from_end=_SHORT if not minutes else 16
            )
            dealing = dealer.Dealer(target.bench, cards, between, unreadable_every=every)
            dealing.deal_shoe()
            hands += dealing.hands
            done["shoes of cards"] += 1
            done["cards entered by hand"] += len(dealing.entered)
            with attached(target.shoe) as client:
                client.begin((store.last_number(unit) or 0) + 1)
                store.append(unit, received(client))
                status = client.command(messages.STATUS)
            heaps.append(status["heap_used"])
            assert status["bad_sectors"] == 0
            done["rounds"] = len(hands)
        told = rounds_of(unit, (row.event() for row in store.rows(Filter(unit=unit))))
        assert [dealer.logged(each) for each in told] == [hand.as_logged() for hand in hands]
        assert findings(store, tmp_path) == []
        events = store.last_number(unit)
    for what, count in done.items():
        measure(what, count, "")
    measure("events", events or 0, "")
    measure("heap in use at the end against the first shoe", heaps[-1] / heaps[0], "", at_most=1.1)
