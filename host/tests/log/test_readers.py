"""Programs that read shoes through a running log: they get the shoe's answers. Nothing that they
do or fail to do keeps an event from being stored and acknowledged at once."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

import cbor2
import pytest

from host.tests.support.naive_shoe import KEY, KEYS, fake_mac, naive_event
from host.tests.support.read_shoe import (
    REPORTS,
    DealtShoe,
    ReadShoe,
    RunningLog,
    logging_shoe,
    wait_until,
)
from sabot.errors import CommandRefused, NoShoe, PortBusy
from sabot.link import client as clients
from sabot.link import log_socket, wire
from sabot.link.client import read_game
from sabot.link.log_socket import READS, VERSION, ThroughLog
from sabot.link.messages import (
    Command,
    HealthCommand,
    IdentifyCommand,
    LoadGameCommand,
    NextPassCommand,
    ReadPassCommand,
    RestartCommand,
    SelfTestCommand,
    SetClockCommand,
    StatusCommand,
    UpdateStatusCommand,
)
from sabot.log import readers
from sabot.log.store import open_store
from sabot_protocol import enums, messages

pytestmark = pytest.mark.slow

LATEST_S = 20.0
"""A naive shoe sends unacknowledged events again after 0.25 s; a busy machine takes its time. A log
that waited for a program that does not read would wait for ever."""


@contextmanager
def opened(unit: str = "U1") -> Iterator[ThroughLog]:
    """A shoe through its log."""
    found = log_socket.find(unit)
    assert found is not None
    with ThroughLog(found) as shoe:
        yield shoe


def raw_connection(folder: Path) -> socket.socket:
    """A connection to the only log, without our code."""
    (path,) = (folder / "sabot-logs").iterdir()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.settimeout(10)
    with chdir(path.parent):  # the whole path may be longer than the 107 bytes of an address
        made.connect(path.name)
    return made


def test_a_log_passes_on_the_commands_that_only_read(tmp_path: Path) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe), opened() as through:
        assert (through.unit, through.welcome.game) == ("U1", "mini")
        status = through.ask(StatusCommand())
        assert (status.phase, status.heap_free) == (enums.PHASES[3], 70_000)
        assert through.ask(HealthCommand()).a_permille == 997
        report = through.ask(NextPassCommand(4))
        assert (report.pass_, report.fault, report.card) == (5, enums.FAULTS[2], None)
        assert through.ask(ReadPassCommand(5, 0)).runs == b"\x11\x22\x33"
        assert through.ask(SelfTestCommand()).temperature_c == -3
        assert through.ask(UpdateStatusCommand()).stage == enums.UPDATE_STAGES[0]
        assert read_game(through) == shoe.document
    wanted = {each.name for each in (*REPORTS, messages.READ_GAME)}
    assert {each.name for each in READS} == wanted <= set(shoe.asked)


@pytest.mark.parametrize(
    "command",
    [
        RestartCommand(),
        IdentifyCommand(),
        SetClockCommand(1_900_000_000_000),
        LoadGameCommand(0, 3, b"abc"),
    ],
)
def test_a_command_that_changes_a_shoe_is_refused(tmp_path: Path, command: Command[Any]) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe), opened() as through:
        shoe.asked.clear()
        with pytest.raises(CommandRefused, match="only what reads; end the log first"):
            through.ask(command)
        through.ask(StatusCommand())
    assert shoe.asked == ["status"]


def test_a_command_that_the_shoe_does_not_answer_ends_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_COMMAND_TIMEOUT_S", 0.5)
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe) as log, opened() as through:
        shoe.silent_to = {wire.parse_message(wire.payload_of(HealthCommand.SHAPE, 1)).shape}
        with pytest.raises(CommandRefused, match="no answer to health"):
            through.ask(HealthCommand())
        assert through.ask(StatusCommand()).heap_free == 70_000
        assert not log.logger.failures


def test_several_who_ask_for_a_self_test_at_once_get_one(tmp_path: Path) -> None:
    shoe = ReadShoe()

    def tested(_: int) -> int:
        with opened() as through:
            return through.ask(SelfTestCommand()).sectors

    with logging_shoe(tmp_path / "log", shoe), ThreadPoolExecutor(5) as pool:
        assert list(pool.map(tested, range(5))) == [4096] * 5
    assert shoe.asked.count("self_test") == 1


def test_a_log_that_ends_while_a_reader_waits_says_so(tmp_path: Path) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe) as log, opened() as through:
        shoe.silent_to = set(REPORTS)
        shoe.asked.clear()
        stop = threading.Thread(target=lambda: (wait_until(lambda: shoe.asked), log.stop()))
        stop.start()
        with pytest.raises(NoShoe) as raised:
            through.ask(HealthCommand())
        stop.join()
        assert "ended" in str(raised.value) and "\n" not in str(raised.value)
        with pytest.raises(NoShoe, match=f"process {os.getpid()}\\) has ended; repeat"):
            through.ask(HealthCommand())
        assert log_socket.logged() == []


def test_a_shoe_that_its_log_has_lost_is_not_there(tmp_path: Path) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe), opened() as through:
        shoe.step = lambda data, now_s: []  # type: ignore[method-assign]
        with pytest.raises(NoShoe, match="U1 has fallen silent"):
            through.ask(HealthCommand())
        with pytest.raises(NoShoe, match=r"U1: `sabot log` \(process \d+\) waits for it"), opened():
            pass


def test_two_logs_in_one_process_or_two_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = ReadShoe(), ReadShoe()
    two.unit = "U2"

    monkeypatch.setitem(KEYS._keys, "U2", KEY)  # other tests count on it that U2 has none
    with logging_shoe(tmp_path / "1", one), logging_shoe(tmp_path / "2", two):
        assert sorted(each.unit for each in log_socket.logged()) == ["U1", "U2"]
        for unit in ("U1", "U2"):
            with opened(unit) as through:
                assert through.unit == unit
                assert through.ask(HealthCommand()).cards == 412
    assert log_socket.find("U1") is None


_HAMMER = """
import os, random, socket, sys, cbor2
from sabot.errors import SabotError
from sabot.link import log_socket
from sabot.link.log_socket import VERSION, ThroughLog
from sabot.link.messages import HealthCommand, NextPassCommand, ReadPassCommand, SelfTestCommand

rng = random.Random(int(sys.argv[1]))
os.chdir(os.path.join(os.environ["XDG_RUNTIME_DIR"], "sabot-logs"))

def connection():
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.settimeout(5)
    made.connect(os.listdir()[0])
    return made

kept = []
print("ready", flush=True)
while True:
    try:
        what = rng.randrange(5)
        if what == 0:  # an honest one without pauses
            found = log_socket.find("U1")
            if found is not None:
                with ThroughLog(found) as shoe:
                    for _ in range(20):
                        for command in (HealthCommand(), NextPassCommand(0), ReadPassCommand(5, 0)):
                            shoe.ask(command)
                    shoe.ask(SelfTestCommand())
        elif what == 1:  # noise
            with connection() as one:
                one.send(rng.randbytes(rng.randrange(1, 60_000)))
                one.recv(1 << 16)
        elif what == 2:  # never reads, and stays
            one = connection()
            for _ in range(50):
                one.send(cbor2.dumps([VERSION, "shoes", rng.randrange(-5, 1 << 70)]))
            kept.append(one)
        elif what == 3:  # asks, and is gone
            with connection() as one:
                port = log_socket.logged()[0].port
                one.send(cbor2.dumps([VERSION, "ask", port, "U1", cbor2.dumps([21, 7])]))
        else:
            kept.append(connection())
        if len(kept) > 20:
            kept.pop(rng.randrange(len(kept))).close()
    except (OSError, SabotError, IndexError):
        pass
"""


def test_no_event_is_lost_or_late_while_programs_hammer_at_the_socket(
    tmp_path: Path, rng: Any
) -> None:
    """The shoe itself measures: it knows nothing of the socket."""
    shoe = DealtShoe()
    with logging_shoe(tmp_path / "log", shoe):
        wait_until(lambda: shoe.acknowledged >= 100)
        alone_s = max(shoe.late_s.values())
        command = [sys.executable, "-c", _HAMMER]
        hammers = [
            subprocess.Popen([*command, str(rng.getrandbits(30))], stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        try:
            for each in hammers:
                assert each.stdout is not None and each.stdout.readline() == b"ready\n"
            begun, asked = shoe.acknowledged, len(shoe.asked)
            wait_until(lambda: len(shoe.asked) - asked > 50)  # they get through
            wait_until(lambda: shoe.acknowledged - begun > 200)
            during_s = max(late for number, late in shoe.late_s.items() if number > begun)
            with opened() as through:  # and one more does
                assert through.ask(HealthCommand()).cards == 412
        finally:
            for each in hammers:
                each.kill()
                each.communicate()
        shoe.stopped = True
        last = shoe.next_number - 1
        wait_until(lambda: shoe.acknowledged == last)
    print(f"acknowledged after at most {alone_s:.3f} s alone, {during_s:.3f} s hammered")
    assert during_s < LATEST_S
    wanted = [(n, naive_event(n), fake_mac(naive_event(n))) for n in range(1, last + 1)]
    with open_store(tmp_path / "log") as store:
        assert list(store.raw("U1")) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\xff" * 70_000,
        cbor2.dumps([]),
        cbor2.dumps([VERSION + 1, "shoes", 0]),
        cbor2.dumps([VERSION, "shoes", "x"]),
        cbor2.dumps([VERSION, "ask", "p", "U1"]),
        cbor2.dumps([VERSION, "stop"]),
        cbor2.dumps({1: "shoes"}),
        b"\x81" * 5000,
    ],
)
def test_a_program_that_sends_something_else_is_cut_off(
    tmp_path: Path, runtime_folder: Path, data: bytes
) -> None:
    with logging_shoe(tmp_path / "log", ReadShoe()):
        with raw_connection(runtime_folder) as bad:
            bad.send(data)
            assert bad.recv(100) == b""
        with opened() as through:
            assert through.ask(HealthCommand()).cards == 412


def test_a_program_that_is_silent_is_cut_off(
    tmp_path: Path, runtime_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_IDLE_S", 0.2)
    with logging_shoe(tmp_path / "log", ReadShoe()), raw_connection(runtime_folder) as silent:
        assert silent.recv(100) == b""


def test_too_many_programs_are_refused_and_the_others_served(
    tmp_path: Path, runtime_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_MOST_CONNECTIONS", 2)
    with logging_shoe(tmp_path / "log", ReadShoe()), opened() as through:
        with raw_connection(runtime_folder), raw_connection(runtime_folder) as third:
            version, *rest = cbor2.loads(third.recv(1000))
            assert (version, *rest[:2]) == (VERSION, "error", "busy")
            assert through.ask(HealthCommand()).cards == 412


def test_many_shoes_are_listed_in_several_messages(runtime_folder: Path) -> None:
    ports = [f"socket://host-{number:03}.casino.example:4001/{'x' * 400}" for number in range(300)]
    many = readers.Readers([*ports, "y" * 3000])
    many.start()
    try:
        assert [shoe.port for shoe in log_socket.logged()] == ports
    finally:
        many.close()


def test_a_reader_of_another_version_of_the_socket_gets_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe):
        found = log_socket.find("U1")
        monkeypatch.setattr(log_socket, "packed", lambda *parts: cbor2.dumps([7, *parts]))
        assert found is not None
        with suppress(NoShoe), ThroughLog(found) as through:
            through.ask(HealthCommand())
            pytest.fail("it was answered")


def test_a_busy_log_refuses_in_one_line() -> None:
    data = log_socket.packed_error(PortBusy("32 programs\nread"))
    assert cbor2.loads(data) == [VERSION, "error", "busy", "32 programs\\nread", ""]


def test_a_log_whose_store_fails_reports_that_to_its_readers(tmp_path: Path) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe) as log:
        assert isinstance(log, RunningLog)
        (tmp_path / "log").unlink()
        shoe.record(1)
        assert log.logger.wait(30)
        (failure,) = log.logger.failures.values()
        found = log_socket.find(log_socket.logged()[0].port)
        assert found is not None and found.welcome is None and found.why == str(failure)
