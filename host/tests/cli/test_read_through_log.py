"""`ports`, `health`, `doctor` and `capture` while `sabot log` runs, as real processes."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from host.tests.support.commands import (
    RunningCommand,
    done_here,
    error_line_here,
    run,
    running,
    simulating,
)
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

UNITS = ("SHOE-7", "SHOE-8", "SHOE-9")


@pytest.fixture
def shoes(tmp_path: Path) -> Iterator[None]:
    """Three simulated shoes that deal slowly when a host attaches."""
    with ExitStack() as stack:
        for unit in UNITS:
            stack.enter_context(simulating(tmp_path, unit, "--seed", "7", "--pace", "0.5"))
        yield


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[None]:
    """SHOE-7 alone."""
    with simulating(tmp_path, "SHOE-7", "--seed", "7", "--pace", "0.5"):
        yield


def log_of(folder: Path, stack: ExitStack, db: str, *units: str) -> RunningCommand:
    """A running log that has sessions with `units`."""
    log = stack.enter_context(running(folder, "log", *units, "--db", db))
    log.wait_for_line(" attached, ", len(units))
    return log


def sockets_in(folder: Path) -> list[Path]:
    return list((folder / "sabot-logs").iterdir())


def states(folder: Path) -> dict[str, str]:
    lines = done_here(folder, "ports", "--json").stdout.splitlines()
    return {each["unit"] or each["serial"]: each["state"] for each in map(json.loads, lines)}


def test_shoes_are_read_through_their_logs_and_logged_meanwhile(
    tmp_path: Path, shoes: None
) -> None:
    with ExitStack() as stack:
        one = log_of(tmp_path, stack, "one.sqlite", "SHOE-7", "SHOE-8")
        two = log_of(tmp_path, stack, "two.sqlite", "SHOE-9")
        assert states(tmp_path) == dict.fromkeys(UNITS, "logged")
        one.wait_for_line("SHOE-7 shoe 1 round  1 ")

        # Several readers at once.
        done: list[str] = []

        def read(*arguments: str) -> None:
            done.append(run(tmp_path, *arguments).stdout)

        readers = [
            threading.Thread(target=read, args=arguments)
            for arguments in (
                ("health", "--all", "--json"),
                ("health", "SHOE-9", "SHOE-7", "--json"),
                ("capture", "SHOE-7", "SHOE-8", "--last", "2", "--no-pictures", "--json"),
            )
        ]
        for each in readers:
            each.start()
        for each in readers:
            each.join()
        units = sorted([json.loads(line)["unit"] for line in out.splitlines()] for out in done)
        captured = ["SHOE-7", "SHOE-7", "SHOE-8", "SHOE-8"]
        assert units == [captured, list(UNITS), ["SHOE-9", "SHOE-7"]]
        doctor = done_here(tmp_path, "doctor", "--all", code=1)  # no test card was pulled
        assert [f"{unit}: " in doctor.stdout for unit in UNITS] == [True] * 3
        assert "process" not in doctor.stdout

        line = error_line_here(tmp_path, "load", "SHOE-7", code=4)
        process = one.process.pid
        assert line == (
            f"SHOE-7: `sabot log` (process {process}) has it: end that log, then repeat this "
            "command"
        )
        assert not any("trying again" in line for line in [*one.problems, *two.problems])
        assert (one.end(), two.end()) == (0, 0)
    for db, wanted in (("one.sqlite", ["SHOE-7", "SHOE-8"]), ("two.sqlite", ["SHOE-9"])):
        others = [unit for unit in UNITS if unit not in wanted]
        elsewhere = [word for unit in others for word in ("--elsewhere", unit)]
        done = done_here(tmp_path, "verify", "--db", db, *elsewhere)
        assert "nothing to find fault" in done.stdout
        with open_store(tmp_path / db) as store:
            assert store.units() == wanted
    assert "means over" in done_here(tmp_path, "health", "SHOE-7").stdout  # no log: at its port


def test_the_socket_of_a_killed_log_is_in_no_ones_way(
    tmp_path: Path, shoe: None, runtime_folder: Path
) -> None:
    with ExitStack() as stack:
        log = log_of(tmp_path, stack, "log.sqlite", "SHOE-7")
        log.end(by=signal.SIGKILL)
        assert len(sockets_in(runtime_folder)) == 1
        assert states(tmp_path) == {"SHOE-7": "ready"}
        assert sockets_in(runtime_folder) == []
        again = log_of(tmp_path, stack, "log.sqlite", "SHOE-7")
        assert states(tmp_path)["SHOE-7"] == "logged"
        assert again.end() == 0
        assert sockets_in(runtime_folder) == []


def test_a_log_without_a_socket_logs_all_the_same(
    tmp_path: Path, shoe: None, runtime_folder: Path
) -> None:
    (runtime_folder / "sabot-logs").write_text("a file")
    with ExitStack() as stack:
        log = log_of(tmp_path, stack, "log.sqlite", "SHOE-7")
        line = log.wait_for_line("no command can read through this log")
        assert "set XDG_RUNTIME_DIR to a folder of your own" in line
        assert states(tmp_path)["SHOE-7"] == "in use"
        line = error_line_here(tmp_path, "health", "SHOE-7", code=4)
        assert "in use by another program, perhaps `sabot log`" in line
        assert log.end() == 0


def test_a_shoe_that_cannot_be_read_does_not_keep_the_others_from_being_read(
    tmp_path: Path, shoe: None
) -> None:
    done = done_here(tmp_path, "health", "/dev/ttyNONE", "SHOE-7", "SHOE-1", "--json", code=3)
    assert [json.loads(line)["unit"] for line in done.stdout.splitlines()] == ["SHOE-7"]
    assert len(done.stderr.splitlines()) == 2
    assert "--all" in done_here(tmp_path, "health", code=2).stderr
    assert "--all" in done_here(tmp_path, "doctor", "SHOE-7", "--all", code=2).stderr


def test_a_unit_that_is_not_there_is_not_looked_for_at_the_port_of_another_that_is_logged(
    tmp_path: Path, shoe: None
) -> None:
    with ExitStack() as stack:
        log_of(tmp_path, stack, "one.sqlite", "SHOE-7")
        line = error_line_here(tmp_path, "log", "SHOE-77", "--db", "other.sqlite", code=3)
        assert line == "SHOE-77: no such unit is attached; `sabot ports` lists those that are"
