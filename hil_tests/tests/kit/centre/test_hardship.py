"""A full disk and a wrong clock, as a program sees them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sabot_hil.kit.centre.hardship import Hardship, library

_WRITE = """
import errno, json, os, sqlite3, sys
path = sys.argv[1]
with open(path, "wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 1000)
    except OSError as error:
        failed = error.errno == errno.ENOSPC
    size = os.fstat(file.fileno()).st_size
    again = os.pwrite(file.fileno(), b"y" * 10, 0)
try:
    with sqlite3.connect(path + ".sqlite") as connection:
        connection.execute("CREATE TABLE t (a)")
    sqlite = ""
except sqlite3.Error as error:
    sqlite = error.sqlite_errorname
print(json.dumps([failed, size, again, sqlite]))
"""
_TIMES = """
import datetime, json, time
now = time.time_ns() / 1e9, datetime.datetime.now().timestamp(), time.monotonic()
print(json.dumps(now))
"""


@pytest.fixture
def hardship(tmp_path: Path) -> Hardship:
    if (found := library()) is None:
        pytest.skip("no C compiler")
    return Hardship(tmp_path, found)


def run(hardship: Hardship, code: str, *arguments: object) -> Any:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, **hardship.environment}
    return json.loads(subprocess.run(command, env=environment, capture_output=True).stdout)


def test_on_a_full_disk_every_file_that_would_grow_fails_and_no_other(
    hardship: Hardship, tmp_path: Path
) -> None:
    hardship.fill_disk(12_345)
    failed, size, again, sqlite = run(hardship, _WRITE, tmp_path / "file")
    assert failed and size == 12_345
    assert again == 10, "what is there can be overwritten"
    assert sqlite == "SQLITE_FULL"
    assert hardship.room_bytes() == 0
    hardship.free_disk()
    assert hardship.room_bytes() is None


def test_the_clock_is_off_by_hours_and_right_again(hardship: Hardship) -> None:
    for off_s in (-5 * 3600, 11 * 3600 + 0.25, 0):
        hardship.set_clock(round(off_s * 1000))
        by_time, by_date, monotonic = run(hardship, _TIMES)
        assert abs(by_time - time.time() - off_s) < 60
        assert abs(by_date - by_time) < 60
        assert abs(monotonic - time.monotonic()) < 60, "only the time of day"
