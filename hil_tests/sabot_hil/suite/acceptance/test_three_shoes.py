import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from sabot_hil.capabilities import Target, Unable
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import Logbook


class _AllClocks:
    """The time of several targets."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._clocks = [target.clock for target in targets]
        self.emulated = self._clocks[0].emulated
        self.measures_shoe = self._clocks[0].measures_shoe

    def now_us(self) -> int:
        return self._clocks[0].now_us()

    def pass_ms(self, ms: float) -> None:
        for clock in self._clocks:
            clock.pass_ms(ms)

    def slept_us(self) -> int:
        raise Unable("several shoes have several processors; use one shoe")


def test_three_shoes_at_once_are_logged_apart(
    more_targets: Callable[[str], Target], tmp_path: Path, seed: int
) -> None:
    targets = [more_targets(f"HIL-{seed:08X}-{n}") for n in range(3)]
    dealings = [
        dealer.BenchDealer(target.bench, dealer.whole_shoe(seed + n, target.clock))
        for n, target in enumerate(targets)
    ]
    clock = _AllClocks(targets)
    with Logbook(tmp_path, [target.shoe.port for target in targets], clock, once=True) as book:
        threads = [threading.Thread(target=dealing.deal_shoe) for dealing in dealings]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(dealing.ended for dealing in dealings)
        book.wait(lambda: book.logger.wait(0), "done with three shoes of cards")
        for target, dealing in zip(targets, dealings, strict=True):
            book.check(target.shoe.unit, dealing.hands)
