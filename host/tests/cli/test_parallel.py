"""What a person sees of long work on several units."""

import json
import os
import subprocess
import sys

import pytest

from host.tests.support.terminal import screen_after

pytestmark = pytest.mark.slow

_WORK = """
import sys
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
    run_in_parallel(["SHOE-1", "SHOE-2", "SHOE-3"], work, as_json=sys.argv[1:] == ["--json"])
except NoShoe:
    print("failed")
"""


def test_each_result_has_a_line_of_its_own_on_a_screen() -> None:
    lines = screen_after([sys.executable, "-c", _WORK], os.environ)
    assert lines == ["SHOE-1: runs the release", "SHOE-2: runs the release", "failed"]


def test_as_json_each_unit_has_an_object_also_the_one_that_failed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WORK, "--json"], capture_output=True, text=True, check=True
    )
    *objects, last = done.stdout.splitlines()
    assert last == "failed"
    assert [json.loads(each) for each in objects] == [
        {"unit": "SHOE-1", "text": "SHOE-1: runs the release", "exit_code": 0},
        {"unit": "SHOE-2", "text": "SHOE-2: runs the release", "exit_code": 0},
        {"unit": "SHOE-3", "text": "SHOE-3: gone", "exit_code": 5},
    ]
