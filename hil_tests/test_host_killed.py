import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from hil_tests import dealer
from hil_tests.dealer import logged
from hil_tests.targets import Target
from sabot.rounds import rounds_of
from sabot.store import Filter, Store
from sabot.verify import Summary, verify

KILLS = 12
_END_TIMEOUT_S = 60.0


def _log(target: Target, db: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from sabot.command import main; main()", "log", target.port]
    return subprocess.Popen(
        [*command, "--db", str(db)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def test_a_host_killed_while_logging_loses_and_doubles_nothing(
    target: Target, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    db = tmp_path / "log.sqlite"
    dealing = dealer.Dealer(target.bench, dealer.shuffled(seed))
    dealing.load()
    for _ in range(KILLS):
        host = _log(target, db)
        until = time.monotonic() + chance.uniform(0.3, 1.2)
        while time.monotonic() < until:
            if len(dealing.hands) < 40:  # what the shoe holds, should no host get anything
                dealing.deal_round()
            time.sleep(chance.uniform(0, 0.05))
        assert host.poll() is None, host.stderr and host.stderr.read()
        host.send_signal(signal.SIGKILL)
        host.wait()
    host = _log(target, db)
    try:
        deadline = time.monotonic() + _END_TIMEOUT_S
        rounds: list[object] = []
        while len(rounds) < len(dealing.hands):
            assert time.monotonic() < deadline, f"{len(rounds)} of {len(dealing.hands)} rounds"
            time.sleep(0.1)
            if not db.exists():
                continue
            with Store(db) as store:
                rows = store.rows(Filter(unit=target.unit))
                rounds = list(rounds_of(target.unit, (row.event() for row in rows)))
    finally:
        host.kill()
        host.wait()
    with Store(db) as store:
        assert list(verify(store, Summary())) == []
    assert [logged(ended) for ended in rounds] == [hand.as_logged() for hand in dealing.hands]
