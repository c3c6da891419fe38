"""Ports that are missing, busy, wrong or gone: each has its own error, in one line."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import pytest
from serial.tools import list_ports

from host.tests.support.naive_shoe import Answering
from sabot.errors import NoShoe, PortBusy, PortNotFound, SabotError, SameUnit
from sabot.link import ports, runtime
from sabot.link.ports import Port

_LONGER_THAN_A_TEST_S = 600.0
_HOLD = """
import serial, sys
port = serial.Serial(sys.argv[1], exclusive=True)
print("held", flush=True)
sys.stdin.readline()
"""


def refusal(name: str, kind: type[SabotError]) -> str:
    """The error message, one line, of opening `name`."""
    with pytest.raises(SabotError) as raised:
        Port(name).close()
    assert type(raised.value) is kind
    text = str(raised.value)
    assert "\n" not in text and text.startswith(f"{name}: ")
    return text


@pytest.fixture
def echo() -> Iterator[Answering]:
    """A port that echoes what is written to it."""
    with Answering(lambda data: data) as port:
        yield port


def test_a_port_that_is_not_there() -> None:
    text = refusal("/dev/ttyNONE7", PortNotFound)
    assert "no such port" in text and "`sabot ports`" in text


@pytest.mark.parametrize("name", ["SHOE-9", "e6614104030abcde", "ttyACM0", "", "COM3"])
def test_a_unit_that_is_not_attached(name: str) -> None:
    text = refusal(name, PortNotFound)
    assert "no such unit is attached" in text and "`sabot ports`" in text


def test_a_folder_and_a_file_are_not_ports(tmp_path: Path) -> None:
    assert "not a serial port" in refusal(str(tmp_path), NoShoe)
    (tmp_path / "file").write_text("hello")
    assert "not a serial port" in refusal(str(tmp_path / "file"), NoShoe)
    assert (tmp_path / "file").read_text() == "hello"


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero"])
def test_a_device_that_is_not_a_terminal_is_not_a_port(name: str) -> None:
    assert "not a serial port" in refusal(name, NoShoe)


def test_a_port_that_another_program_uses(echo: Answering) -> None:
    command = [sys.executable, "-c", _HOLD, echo.path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == "held\n"
        text = refusal(echo.path, PortBusy)
        assert "in use by another program" in text and "stop that" in text
        child.communicate("\n", timeout=200)
    Port(echo.path).close()


def test_a_port_that_this_program_uses_already(echo: Answering) -> None:
    with Port(echo.path):
        refusal(echo.path, PortBusy)
    Port(echo.path).close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_port_without_permission(echo: Answering) -> None:
    code = (
        "import os, sys; from sabot.link.ports import Port; from sabot.errors import SabotError\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: Port(sys.argv[1])\n"
        "except SabotError as error: print(type(error).__name__, error)"
    )
    Path(echo.path).chmod(0o600)
    text = subprocess.check_output([sys.executable, "-c", code, echo.path], text=True, timeout=200)
    assert text.startswith(f"PortNotFound {echo.path}: no permission") and "group" in text


def test_an_address_where_no_one_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    text = refusal(f"socket://127.0.0.1:{number}", PortNotFound)
    assert "no connection" in text and "device server" in text


@pytest.mark.parametrize(
    "url",
    [
        "foo://bar",
        "://",
        "socket://",
        "socket://127.0.0.1",
        "socket://127.0.0.1:port",
        "socket://127.0.0.1:99999",
        "socket://:4001",
        "http://example.com",
        "loop://?nonsense=1",
    ],
)
def test_a_malformed_address(url: str) -> None:
    assert "socket://host:port" in refusal(url, PortNotFound)


@pytest.mark.parametrize("url", ["loop://", ""])
def test_what_was_written_can_be_read(echo: Answering, url: str) -> None:
    with Port(url or echo.path) as port:
        begin = time.monotonic()
        assert port.read(0.2) == b""
        assert time.monotonic() - begin > 0.02
        port.write(b"\0\x03\x04hello\xff")
        read = b""
        deadline = time.monotonic() + 100
        while len(read) < 9 and time.monotonic() < deadline:
            read += port.read(0.5)
        assert read == b"\0\x03\x04hello\xff"


def test_reading_returns_as_soon_as_something_came(echo: Answering) -> None:
    with Port(echo.path) as port:
        later = threading.Timer(0.1, port.write, (b"x",))
        later.start()
        assert port.read(_LONGER_THAN_A_TEST_S) == b"x"
        later.join(100)


def test_a_port_that_goes_away_is_an_error(echo: Answering) -> None:
    with Port(echo.path) as port:
        port.write(b"x")
        echo.close()
        with pytest.raises(NoShoe) as raised:
            for _ in range(100):
                port.read(0.05)
                port.write(b"x")
        assert str(raised.value).startswith(f"{echo.path}: the connection broke (")
        assert "\n" not in str(raised.value)


def test_a_connection_that_is_closed_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        with Port(url) as port:
            server.accept()[0].close()
            with pytest.raises(NoShoe, match="the connection broke"):
                for _ in range(100):
                    port.read(0.05)
                    port.write(b"x")


def test_reading_and_writing_a_closed_port_is_an_error(echo: Answering) -> None:
    port = Port(echo.path)
    port.close()
    port.close()
    with pytest.raises(NoShoe):
        port.read(0.1)
    with pytest.raises(NoShoe):
        port.write(b"x")


def test_simulated_shoes_are_found_by_unit_while_they_run(echo: Answering) -> None:
    first = runtime.publish("SIM-B", echo.path)
    second = runtime.publish("SIM-A", echo.path)
    assert [info.serial for info in ports.attached()] == ["SIM-A", "SIM-B"]
    assert ports.resolve("SIM-B") == echo.path
    runtime.withdraw(second)
    found = [(info.serial, info.port, info.what) for info in ports.attached()]
    assert found == [("SIM-B", echo.path, "simulated")]
    refusal("SIM-A", PortNotFound)
    runtime.withdraw(first)
    assert runtime.published() == {}


def test_a_simulated_shoe_that_was_killed_is_not_found(echo: Answering) -> None:
    program = "import os, sys\nfrom sabot.link import runtime\n"
    program += "kept = runtime.publish('SIM-K', sys.argv[1])\nos.kill(os.getpid(), 9)"
    killed = subprocess.run([sys.executable, "-c", program, echo.path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert runtime.published() == {}
    refusal("SIM-K", PortNotFound)


def test_a_simulated_shoe_that_goes_while_shoes_are_listed_is_no_error(
    monkeypatch: pytest.MonkeyPatch, echo: Answering
) -> None:
    kept = runtime.publish("SIM-G", echo.path)

    def goes_at_the_look(file: TextIO, operation: int) -> None:
        runtime.withdraw(kept)
        raise BlockingIOError

    monkeypatch.setattr(runtime.fcntl, "flock", goes_at_the_look)
    assert set(runtime.published()) <= {"SIM-G"}


def test_a_second_shoe_of_one_name_does_not_get_it(echo: Answering) -> None:
    first = runtime.publish("SIM-A", "/dev/pts/first")
    second = runtime.publish("SIM-A", echo.path)
    assert first is not None and second is None
    runtime.withdraw(second)
    assert runtime.published() == {"SIM-A": "/dev/pts/first"}
    runtime.withdraw(first)


def test_boards_are_found_by_usb_serial_number(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = [
        SimpleNamespace(vid=0x2E8A, serial_number="E66", device="/dev/ttyACM1", product="Pico"),
        SimpleNamespace(vid=0x2E8A, serial_number="A11", device="/dev/ttyACM0", product=None),
        SimpleNamespace(vid=0x2E8A, serial_number=None, device="/dev/ttyACM2", product="Pico"),
        SimpleNamespace(vid=0x0403, serial_number="FT1", device="/dev/ttyUSB0", product="FTDI"),
        SimpleNamespace(vid=None, serial_number=None, device="/dev/ttyS0", product=None),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: boards)
    found = [(info.serial, info.port, info.what) for info in ports.attached()]
    assert found == [("A11", "/dev/ttyACM0", "USB board"), ("E66", "/dev/ttyACM1", "Pico")]
    assert ports.resolve("E66") == "/dev/ttyACM1"
    assert ports.resolve("/dev/ttyUSB0") == "/dev/ttyUSB0"
    refusal("FT1", PortNotFound)


def test_two_boards_with_one_serial_number_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boards = [
        SimpleNamespace(vid=0x2E8A, serial_number="E66", device=f"/dev/ttyACM{n}", product="Pico")
        for n in range(2)
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: boards)
    text = refusal("E66", SameUnit)
    assert "/dev/ttyACM0 and /dev/ttyACM1" in text and "name the port" in text


def test_a_unit_that_may_be_at_a_busy_port_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, echo: Answering
) -> None:
    board = SimpleNamespace(vid=0x2E8A, serial_number="E66", device=echo.path, product="Pico")
    monkeypatch.setattr(list_ports, "comports", lambda: [board])
    with Port(echo.path):
        text = refusal("SHOE-7", PortBusy)
    assert echo.path in text and "perhaps `sabot log`; stop that first" in text
    # A bare simulated board is published under its board's number, not under its unit's id.
    simulated = runtime.publish("BARE-1", echo.path)
    monkeypatch.setattr(list_ports, "comports", list)
    with Port(echo.path):
        refusal("SHOE-7", PortBusy)
    runtime.withdraw(simulated)


def test_all_boards_are_asked_once_for_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = [
        SimpleNamespace(vid=0x2E8A, serial_number=f"E{n}", device=f"/dev/ttyACM{n}", product=None)
        for n in range(3)
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: boards)
    units: dict[str, str | None] = {"/dev/ttyACM0": "SHOE-0", "/dev/ttyACM1": "SHOE-1"}
    asked: list[str] = []

    def unit_at(port: str) -> str | None:
        asked.append(port)
        return units.get(port, "")

    monkeypatch.setattr(ports, "_unit_at", unit_at)
    found = ports.lasting_names(["SHOE-1", "SHOE-0", "E2", "/dev/ttyACM2", "/dev/ttyS0", "SHOE-9"])
    error = found.pop("SHOE-9")
    assert found == {
        "SHOE-1": "E1",
        "SHOE-0": "E0",
        "E2": "E2",
        "/dev/ttyACM2": "E2",
        "/dev/ttyS0": "/dev/ttyS0",
    }
    assert isinstance(error, PortNotFound)
    assert sorted(asked) == ["/dev/ttyACM0", "/dev/ttyACM1", "/dev/ttyACM2"]


def test_with_a_lasting_name_no_other_board_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    board = SimpleNamespace(vid=0x2E8A, serial_number="E1", device="/dev/ttyACM1", product=None)
    monkeypatch.setattr(list_ports, "comports", lambda: [board])
    monkeypatch.setattr(ports, "_unit_at", lambda port: pytest.fail("asked"))
    with pytest.raises(PortNotFound):
        Port("SHOE-0", "E0")  # restarts just now: its port is gone


@pytest.fixture
def named(tmp_path: Path, echo: Answering) -> tuple[str, str, str]:
    """A port, as the kernel names it, and by its names in by-id and by-path."""
    names = []
    for folder in ("by-id", "by-path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shoe").symlink_to(echo.path)
        names.append(str(tmp_path / folder / "shoe"))
    return (echo.path, *names)


def test_all_names_of_a_port_are_one_port(
    named: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device, by_id, by_path = named
    info = SimpleNamespace(
        serial_number="E66", device=device, product="Pico", vid=ports._RASPBERRY_PI_USB
    )
    monkeypatch.setattr(list_ports, "comports", lambda: [info])
    assert {ports.place_of(name) for name in (*named, "E66")} == {device}
    assert ports.place_of("SHOE-7") == ""
    given = [by_id, "socket://10.0.0.7:4001", device, "E66", by_path, by_id]
    others = dict.fromkeys((device, "E66", by_path), by_id)
    assert ports.distinct(given) == ([by_id, "socket://10.0.0.7:4001"], others)
    for name in named:
        assert ports.lasting_name(name) == "E66"


def test_a_unit_and_its_port_are_one_port(
    named: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device, by_id, _ = named
    info = SimpleNamespace(
        serial_number="E66", device=device, product="Pico", vid=ports._RASPBERRY_PI_USB
    )
    monkeypatch.setattr(list_ports, "comports", lambda: [info])
    monkeypatch.setattr(ports, "_unit_at", lambda port: "SHOE-7")
    assert ports.distinct(["SHOE-7", by_id]) == (["SHOE-7"], {by_id: "SHOE-7"})
    asked = pytest.fail
    monkeypatch.setattr(ports, "_unit_at", lambda port: asked("no board is asked"))
    assert ports.distinct(["SHOE-7", "SHOE-8"]) == (["SHOE-7", "SHOE-8"], {})
    assert ports.distinct([by_id, device]) == ([by_id], {device: by_id})
