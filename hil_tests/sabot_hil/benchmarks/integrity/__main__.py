"""How long it takes to look through many shoes of cards, and how much memory.

    python -m sabot_hil.benchmarks.integrity [SHOES]

Honest shoes of EZ Baccarat of a hundred units are dealt into a log in build/, which is deleted
afterwards. Making it takes longer than looking through it.
"""

import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from host.tests.support.logged_cards import LoggedCards
from sabot.games.baccarat import catalogue
from sabot.integrity.analyses import Setting
from sabot.integrity.expectation import ByGame
from sabot.integrity.over_log import look_through
from sabot.log.store import open_store
from sabot_hil.kit.runner import BUILD
from sabot_hil.sweeps.integrity.planted import dealt, shuffled
from sabot_protocol.baccarat import Game

_SHOES = 10_000
_UNITS = 100
_SEED = 38
_TIMED = 100  # shoes of cards for the time of a round


@dataclass(frozen=True, slots=True)
class Looked:
    """The figures for a log of so many shoes of cards."""

    shoes: int
    log_bytes: int
    elapsed_s: float
    memory_bytes: int
    """The most that this process, and the largest of its helpers, had in memory."""
    findings: int
    tests: int
    round_us: float
    """Microseconds for the exact worth of all wagers of EZ Baccarat before a round."""


def measure(shoes: int = _SHOES) -> Looked:
    """Make a log of so many shoes of cards, look through it, and delete it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = Path(folder) / "log.sqlite"
        _deal(path, shoes)
        with open_store(path) as store:
            units = store.units()
        begin_s = time.perf_counter()
        outcome = look_through(path, units, Setting())
        elapsed_s = time.perf_counter() - begin_s
        most = max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return Looked(
            outcome.shoes, path.stat().st_size, elapsed_s, 1024 * most,
            len(outcome.findings), outcome.tests, _round_us(),
        )  # fmt: skip


def _round_us() -> float:
    document = catalogue.document("ez-midi")
    worth = ByGame({Game(document).sha256: document}.get)
    random = Random(_SEED)
    shoes = [dealt(shuffled(random), number, "U") for number in range(_TIMED + 1)]
    worth(shoes.pop())  # the tables of the game are made with the first
    begin_s = time.perf_counter()
    for shoe in shoes:
        worth(shoe)
    rounds = sum(len(shoe.rounds) for shoe in shoes)
    return (time.perf_counter() - begin_s) / rounds * 1e6


def _deal(path: Path, shoes: int) -> None:
    random, document = Random(_SEED), catalogue.document("ez-midi")
    units = min(_UNITS, shoes)
    with open_store(path, create=True) as store:
        for number in range(units):
            logged = LoggedCards(store, f"SHOE-{number}", str(number), document)
            for _ in range(shoes // units):
                logged.deal(shuffled(random))
            logged.save()
        store.derive()


if __name__ == "__main__":
    print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else _SHOES))
