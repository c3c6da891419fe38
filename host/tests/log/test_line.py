"""A running log whose events stop on the way: who looks is told, in the words of the table."""

import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from host.tests.log.test_logger import Logging, logging, wait_until
from host.tests.support.device_server import DeviceServer, same, without
from host.tests.support.naive_shoe import NaiveShoe, answering_shoe
from sabot.errors import SameUnit
from sabot.floor.wall import tile_of
from sabot.link import flow as flows
from sabot.log import logger
from sabot.metrics.log_metrics import LogMetrics
from sabot.metrics.serving import registry_of
from sabot.silences import LINE
from sabot_protocol import messages
from sabot_protocol.frame import FrameReader

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """People are told after a second, and the log notes often."""
    monkeypatch.setattr(flows, "LINE", replace(LINE, after_s=1.0))
    monkeypatch.setattr(logger, "EVERY_S", 0.1)


class _AttachedTo:
    """A log of one shoe, and what it says."""

    def __init__(self, log: Logging, shoe: NaiveShoe) -> None:
        self.log, self.shoe = log, shoe

    def wait_until_told(self) -> str:
        """Wait until the log's own output has the words; the shoe goes on recording."""
        last = 0

        def told() -> bool:
            nonlocal last
            if time.monotonic() - last > 0.05:
                last = time.monotonic()
                self.shoe.record(1)
            return any(map(LINE.is_told_in, self.log.warned))

        wait_until(told)
        return next(filter(LINE.is_told_in, self.log.warned))


def _no_event_passes(data: bytes) -> bytes:
    """Damages each frame with an event, and nothing else."""
    out = b""
    for part in data.split(b"\0")[:-1]:
        (payload,) = FrameReader().feed(part + b"\0")
        is_event = payload[1:3] == bytes([0x18, messages.EVENT.number])
        out += (part.replace(part[3:4], b"") if is_event else part) + b"\0"
    return out


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[tuple[_AttachedTo, DeviceServer]]:
    """A log of a shoe whose events have come, and then stop, while heartbeats come."""
    shoe = NaiveShoe(1)
    shoe.record(40)
    with DeviceServer(shoe) as server, logging(tmp_path / "log", server.url) as log:
        log.wait_for(40)
        server.to_host = _no_event_passes
        shoe.record(5)
        yield _AttachedTo(log, shoe), server


def test_a_line_on_which_events_are_damaged_is_told_everywhere_and_its_end_too(
    stopped: tuple[_AttachedTo, DeviceServer],
) -> None:
    attached, server = stopped
    store = attached.log.store
    text = attached.wait_until_told()
    assert re.match(r"U1 holds \d+ events that do not arrive, [\d,]+ frames were damaged: \S", text)
    assert "telnet" not in text
    wait_until(lambda: "U1" in store.flows() and store.flows()["U1"].stopped)
    noted = store.flows()["U1"]
    assert noted.newest_stored == 40 < noted.newest_on_shoe and noted.damaged_from_shoe > 0
    now_unix_ms = time.time_ns() // 1_000_000
    tile = tile_of(store, "U1")
    assert tile.need(now_unix_ms) == "held" and LINE.is_told_in(tile.line(now_unix_ms))
    figures = generate_latest(registry_of(LogMetrics(store))).decode()
    assert re.search(r'sabot_unit_held_seconds\{unit="U1"\} [1-9]', figures)
    assert "sabot_shoes_attached 0.0" in figures

    server.to_host = same
    attached.log.wait_for(attached.shoe.next_number - 1)
    wait_until(lambda: attached.log.warned[-1] == "U1: its events arrive again")
    wait_until(lambda: not store.flows()["U1"].stopped)
    assert sum(map(LINE.is_told_in, attached.log.warned)) == 1


def test_a_device_server_that_drops_a_byte_value_is_named_while_it_does(tmp_path: Path) -> None:
    shoe = NaiveShoe(1)
    shoe.record(40)
    with DeviceServer(shoe) as server, logging(tmp_path / "log", server.url) as log:
        log.wait_for(40)
        server.to_host = without(0x11, 0x13)
        # The record of event 273 has 0x11 in its number.
        shoe.record(400)
        text = _AttachedTo(log, shoe).wait_until_told()
    assert "0x11 and 0x13 do not come, as with XON/XOFF" in text


def test_acknowledgements_that_do_not_arrive_are_told_while_heartbeats_come(
    stopped: tuple[_AttachedTo, DeviceServer],
) -> None:
    attached, server = stopped
    server.to_host, server.to_shoe = same, lambda data: b""
    attached.shoe.record(200)
    assert "check the line" in attached.wait_until_told()  # in other words after damaged frames


def test_a_second_host_that_gets_the_other_half_is_told(tmp_path: Path) -> None:
    shoe = NaiveShoe(1)
    shoe.record(40)
    with DeviceServer(shoe, hosts=2) as server, logging(tmp_path / "log", server.url) as log:
        log.wait_for(40)
        host, _, number = server.url.removeprefix("socket://").partition(":")
        with socket.create_connection((host, int(number))):

            def told() -> bool:
                shoe.record(5)
                return any(map(LINE.is_told_in, log.warned))

            wait_until(told)
        assert "only parts of the frames come" in log.warned[-1]


def test_a_shoe_is_attached_once_an_event_of_it_has_come(tmp_path: Path) -> None:
    shoe, attached = NaiveShoe(1), []
    shoe.record(40)
    with DeviceServer(shoe, to_host=_no_event_passes) as server:
        with logging(tmp_path / "log", server.url) as log:
            log.logger._watcher = replace(
                log.logger._watcher, attached=lambda port, client: attached.append(port)
            )
            _AttachedTo(log, shoe).wait_until_told()
            assert attached == []
            server.to_host = same
            wait_until(lambda: attached == [server.url])


def test_an_idle_shoe_that_holds_nothing_is_attached_and_never_told(tmp_path: Path) -> None:
    shoe = NaiveShoe(1)
    with answering_shoe(shoe) as port, logging(tmp_path / "log", port.path) as log:
        wait_until(lambda: "U1" in log.store.flows())
        heard_s = time.monotonic()
        wait_until(lambda: time.monotonic() - heard_s > 1.5)  # longer than until people are told
        assert log.warned == [] and not log.store.flows()["U1"].stopped


def test_two_names_of_one_port_do_not_fight(tmp_path: Path) -> None:
    shoe = NaiveShoe(1)
    shoe.record(10)
    with answering_shoe(shoe) as port:
        other = tmp_path / "by-id"
        other.symlink_to(port.path)
        with logging(tmp_path / "log", port.path, str(other)) as log:
            log.wait_for(10)
            wait_until(lambda: bool(log.logger.failures))
            ((name, error),) = log.logger.failures.items()
            assert isinstance(error, SameUnit) and "another name of the port" in str(error)
            first = {port.path, str(other)} - {name}
            assert next(iter(first)) in str(error)
            shoe.record(10)
            log.wait_for(20)
