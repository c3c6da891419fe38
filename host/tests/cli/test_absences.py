"""`incidents` after a real log was killed, and after its shoe was unplugged for a while."""

import json
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from host.tests.support.commands import run, running, simulating

pytestmark = pytest.mark.slow

SLOW_S = 60.0  # a command needs no longer to start


def test_a_killed_log_and_a_shoe_that_went_away_are_listed(tmp_path: Path) -> None:
    shoe = (tmp_path, "SHOE-7", "--state", "shoe.state")
    with ExitStack() as stack:
        with simulating(*shoe):
            with running(tmp_path, "log", "SHOE-7") as log:
                log.wait_for_line(" attached, ")
                time.sleep(7)  # every 5 s it stores its notes
                killed_s = time.time()
                log.kill()
            time.sleep(4)
            log = stack.enter_context(running(tmp_path, "log", "SHOE-7"))
            log.wait_for_line(" attached, ")
            again_s = time.time()
            left_s = time.time()
        time.sleep(4)
        with simulating(*shoe):
            log.wait_for_line(" attached, ", 2)
            back_s = time.time()
            assert log.end() == 0
    lines = run(tmp_path, "incidents", "--json").stdout.splitlines()
    found = [each for each in map(json.loads, lines) if each["event"] is None]
    assert [(each["kind"], each["unit"], each["stands"]) for each in found] == [
        ("not_logged", "SHOE-7", False),
        ("away", "SHOE-7", False),
    ]
    spans = [
        (datetime.fromisoformat(each["time"]).timestamp(), each["lasted_ms"]) for each in found
    ]
    (not_logged_s, not_logged_ms), (away_s, away_ms) = spans
    assert killed_s - 5 - SLOW_S <= not_logged_s <= killed_s
    # The line comes a moment before the note, and both are rounded to a millisecond.
    assert again_s - SLOW_S <= not_logged_s + not_logged_ms / 1000 <= again_s + 1
    assert left_s - 0.001 <= away_s <= left_s + SLOW_S
    assert away_s + 3 <= away_s + away_ms / 1000 <= back_s + 1
