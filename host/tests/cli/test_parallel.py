"""What a person sees of long work on several units."""

import os
import sys

import pytest

from host.tests.support.terminal import screen_after

pytestmark = pytest.mark.slow

_WORK = """
import time
from sabot.cli.service.parallel import run_in_parallel
from sabot.errors import NoShoe
from sabot.release.update import Progress

def work(unit, on_progress):
    for done in range(5):
        on_progress(Progress(unit, "sending", done, 4))
        time.sleep(0.05 if unit == "SHOE-1" else 0.1)
    if unit == "SHOE-3":
        raise NoShoe("SHOE-3: gone")
    return f"{unit}: runs the release"

try:
    run_in_parallel(["SHOE-1", "SHOE-2", "SHOE-3"], work)
except NoShoe:
    print("failed")
"""


def test_each_result_has_a_line_of_its_own_on_a_screen() -> None:
    lines = screen_after([sys.executable, "-c", _WORK], os.environ)
    assert lines == ["SHOE-1: runs the release", "SHOE-2: runs the release", "failed"]
