"""A command of Sabot whose thread that follows the log hangs after SIGUSR1, as in an endless loop.

python -m sabot_hil.sweeps.stopping.hanging serve --db LOG
"""

import signal
import threading
import time

from sabot.cli import run
from sabot.floor.live import Floor

_hangs = threading.Event()
_look = Floor.look


def _look_or_hang(floor: Floor) -> bool:
    while _hangs.is_set():
        time.sleep(0.1)
    return _look(floor)


if __name__ == "__main__":
    Floor.look = _look_or_hang  # type: ignore[assignment,method-assign]
    signal.signal(signal.SIGUSR1, lambda *_: _hangs.set())
    run()
