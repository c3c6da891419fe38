"""A client at real and odd ports: who answers, who does not, and what is told then."""

import os
import random
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import Answering, NaiveShoe, Relay, answering_shoe
from sabot.errors import (
    BadAnswer,
    CommandRefused,
    KeysUnusable,
    NoShoe,
    ProtocolMismatch,
    SabotError,
)
from sabot.link import client as client_module
from sabot.link import runtime, wire
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import (
    Command,
    HealthCommand,
    IdentifyCommand,
    LoadGameCommand,
    NextPassCommand,
    ReadEventsCommand,
    Reply,
    SetClockCommand,
    StatusCommand,
)
from sabot.link.ports import Port
from sabot.link.session import Record
from sabot.sim.process import SimulatedShoe
from sabot_protocol import VERSION, games, messages
from sabot_protocol.frame import FrameReader

pytestmark = pytest.mark.slow

HURRY_S = 0.4


def refusal(port: str, kind: type[SabotError], timeout_s: float = HURRY_S) -> str:
    """The one line in which attaching to what is at `port` fails."""
    with Port(port) as opened, pytest.raises(SabotError) as raised:
        Client(opened, timeout_s)
    assert type(raised.value) is kind
    said = str(raised.value)
    assert "\n" not in said
    return said


def received(client: Client, count: int) -> list[Record]:
    """The next `count` events, within ten seconds."""
    records: list[Record] = []
    deadline = time.monotonic() + 10
    while len(records) < count and time.monotonic() < deadline:
        records += client.receive(0.1).records
    return records


def garbage(data: bytes) -> bytes:
    return os.urandom(50)


def echo(data: bytes) -> bytes:
    return data


class EchoWithNoise:
    """Echoes whole frames with damaged ones between, for longer than anybody should wait."""

    def __init__(self) -> None:
        self._end_s: float | None = None

    def __call__(self, data: bytes) -> bytes:
        self._end_s = self._end_s or time.monotonic() + 5
        return b"noise\0" + data if data and time.monotonic() < self._end_s else b""


def heartbeats_only(data: bytes) -> bytes:
    return framed(messages.HEARTBEAT, t_ms=5) if data else b""


def silence(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize(
    "answer",
    [silence, echo, garbage, EchoWithNoise(), heartbeats_only],
    ids=["silence", "echo", "garbage", "echo and garbage", "heartbeats only"],
)
def test_what_is_no_shoe_is_told_in_time(answer: Callable[[bytes], bytes]) -> None:
    with Answering(answer) as port:
        said = refusal(port.path, NoShoe)
        assert said.startswith(f"{port.path}: no shoe answers") and "is it powered" in said


def test_a_shoe_of_another_version_is_told_with_both_versions() -> None:
    def answer(data: bytes) -> bytes:
        asked = [wire.parse_message(payload) for payload in FrameReader().feed(data)]
        return b"".join(
            framed(messages.WRONG_VERSION, protocol=VERSION + 7, asked=message.fields["protocol"])
            for message in asked
        )

    with Answering(answer) as port:
        said = refusal(port.path, ProtocolMismatch)
        assert f"version {VERSION + 7}," in said and f"version {VERSION}:" in said


@pytest.mark.parametrize("way", ["port", "unit", "network"])
def test_a_shoe_is_reached_by_port_by_unit_and_over_the_network(
    shoe: SimulatedShoe, way: str
) -> None:
    with Relay(shoe.port) as relay:
        name = {"port": shoe.port, "unit": shoe.unit, "network": relay.url}[way]
        if way != "network":
            relay.close()
        with Port(name) as port:
            client = Client(port)
            assert client.unit == shoe.unit
            told = client.welcome
            assert (told.board, told.game, told.boot, told.last_held) == ("sim", "mini", 1, 1)
            client.begin(1)
            (record,) = received(client, 1)
            assert (record.event.kind, record.event.number) == ("boot", 1)
            assert client.ask(StatusCommand()).queue_events == 1
            client.acknowledge()


def test_events_come_once_and_a_second_host_goes_on_where_the_first_one_ended(
    shoe: SimulatedShoe,
) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        for switch in (True, False) * 5:
            shoe.bench.switch("key_on", switch)
        first = received(client, 11)
        client.acknowledge()
        shoe.bench.switch("service_on", True)
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(first[-1].event.number + 1)
        (second,) = received(client, 1)
        assert second.event.kind == "service"
        assert client.receive(0.6).records == []  # not again, though unacknowledged for long
    numbers = [record.event.number for record in [*first, second]]
    assert numbers == list(range(1, 13))
    assert {record.event.kind for record in first[1:]} == {"key"}


def test_a_host_without_the_units_key_learns_its_status_and_nothing_else(
    shoe: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "published_key", lambda name: b"")
    with Port(shoe.port) as port:
        client = Client(port)
        client.ask(StatusCommand())
        client.ask(HealthCommand())
        for ask in (
            lambda: client.begin(1),
            lambda: client.ask(IdentifyCommand()),
            lambda: client.ask(NextPassCommand(0)),
            lambda: client.read_again(1),
        ):
            with pytest.raises(KeysUnusable, match=r"no command key for it.*--commands"):
                ask()


def test_a_wrong_key_is_told_and_the_shoe_records_it_and_goes_on(shoe: SimulatedShoe) -> None:
    wrong = CommandKeyFile()
    wrong.put(shoe.unit, bytes(32))
    with Port(shoe.port) as port:
        with pytest.raises(KeysUnusable, match=r"has another command key .* --commands"):
            Client(port, keys=wrong).begin(1)
        time.sleep(1.1)  # for so long the shoe looks at no MAC
        client = Client(port)
        client.begin(1)
        (_, told) = received(client, 2)
    assert (told.event.kind, dict(told.event.fields)) == ("wrong_macs", {"count": 1})


def test_what_is_not_acknowledged_is_sent_to_the_next_host(shoe: SimulatedShoe) -> None:
    for _ in range(2):
        with Port(shoe.port) as port:
            client = Client(port)
            client.begin(1)
            assert [record.event.kind for record in received(client, 1)] == ["boot"]


def test_events_that_come_while_a_command_runs_are_kept(shoe: SimulatedShoe) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        client.ask(IdentifyCommand())
        client.ask(SetClockCommand(1_800_000_000_000))
        kinds = [record.event.kind for record in received(client, 3)]
        assert kinds == ["boot", "identified", "clock_set"]


def test_events_can_be_read_again(shoe: SimulatedShoe) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        client.ask(IdentifyCommand())
        first = received(client, 2)
        client.acknowledge()
        client.read_again(2)
        (again,) = received(client, 1)
        assert again.data == first[1].data
        with pytest.raises(CommandRefused, match="event 99 is not held"):
            client.read_again(99)


@pytest.mark.parametrize(
    ("command", "refusal", "reason"),
    [
        (SetClockCommand(5), "clock_old", "set the host's clock"),
        (ReadEventsCommand(4711), "not_held", "event 4711 is not held"),
    ],
)
def test_a_refused_command_is_told_with_its_reason(
    shoe: SimulatedShoe, command: Command[Reply], refusal: str, reason: str
) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        with pytest.raises(CommandRefused) as raised:
            client.ask(command)
        said = str(raised.value)
        assert said.startswith(f"{shoe.unit} refused {command.SHAPE.name}: ") and reason in said
        assert raised.value.refusal == refusal


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"\xff", "game document: float, break"),
        (b"", "its size must be 1 to 900 bytes"),
        (bytes(901), "its size must be 1 to 900 bytes"),
        (games.document_of(games.MINI_NAME)[:-1], "game document: ends within an item"),
        (games.document_of(games.MINI_NAME) + b"\0", "game document: bytes after the item"),
        (games.encode({**games.MINI, "wagers": ["tie"]}).replace(b"ctie", b"clie"), "wager lie"),
    ],
)
def test_a_refused_game_is_told_with_its_reason_and_the_old_one_stays(
    shoe: SimulatedShoe, document: bytes, reason: str
) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        with pytest.raises(CommandRefused) as raised:
            client.load_game(document)
        said = str(raised.value)
        assert said.startswith(f"{shoe.unit} refused load_game: ") and reason in said
    with Port(shoe.port) as port:
        mini = games.Game(games.document_of(games.MINI_NAME))
        assert Client(port).welcome.game_sha256 == mini.sha256


def test_a_game_is_sent_in_parts_and_told_at_the_next_attachment(shoe: SimulatedShoe) -> None:
    document = games.encode({**games.MINI, "name": "long", "house": {"note": "x" * 480}})
    assert len(document) > 2 * messages.MAX_GAME_PART
    with Port(shoe.port) as port:
        Client(port).load_game(document)
    with Port(shoe.port) as port:
        welcome = Client(port).welcome
        assert (welcome.game, welcome.game_sha256) == ("long", games.Game(document).sha256)


def test_a_command_is_carried_out_once_though_it_is_repeated(shoe: SimulatedShoe) -> None:
    document = games.document_of(games.MINI_NAME)
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        client.load_game(document)
        for _ in range(3):
            client._session.command(LoadGameCommand(400, len(document), document[400:]), 2)
        client.ask(StatusCommand())
        kinds = [record.event.kind for record in received(client, 2)]
        assert kinds == ["boot", "game_loaded"]
        assert client.receive(0.4).records == []


def test_a_command_that_nobody_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_COMMAND_TIMEOUT_S", HURRY_S)
    naive = NaiveShoe(1)
    with answering_shoe(naive) as there, Port(there.path) as port:
        client = Client(port)
        with pytest.raises(CommandRefused, match="U1: no answer to status"):
            client.ask(StatusCommand())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"shape": messages.HEALTH_REPORT, "id": 1}, "answers status with health_report"),
        ({"shape": messages.REPLY, "id": 1}, "answers status with reply"),
        ({"shape": messages.STATUS_REPORT, "id": 2}, "status_report for a command 2 that was nev"),
        ({"shape": messages.STATUS_REPORT, "id": 0}, "status_report for a command 0 that was nev"),
    ],
    ids=["another report", "a reply", "the next id", "no id"],
)
def test_a_report_that_was_not_asked_for_is_an_error(answer: dict[str, Any], why: str) -> None:
    class Odd(NaiveShoe):
        def answer(self, message: wire.Message) -> list[bytes]:
            return [framed(**answer)]

    with answering_shoe(Odd(1)) as there, Port(there.path) as port:
        client = Client(port)
        with pytest.raises(BadAnswer, match=why):
            client.ask(StatusCommand())


def test_an_answer_that_comes_again_after_the_next_command_is_no_error() -> None:
    class Repeating(NaiveShoe):
        said: ClassVar[list[bytes]] = []

        def answer(self, message: wire.Message) -> list[bytes]:
            self.said.append(framed(messages.STATUS_REPORT, id=message.fields["id"]))
            return self.said

    with answering_shoe(Repeating(1)) as there, Port(there.path) as port:
        client = Client(port)
        assert [client.ask(StatusCommand()).id for _ in range(4)] == [1, 2, 3, 4]


class _BusyLine:
    """To a shoe that has said who it is and is busy from then on. Each read takes its time."""

    name = "busy"

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked = 0
        self._shoe = NaiveShoe(1)
        self._heard = b""
        self.spoilt = b""

    def read(self, timeout_s: float) -> bytes:
        self.now_s += max(timeout_s, 0.001)
        out = b"".join(self._shoe.step(self._heard, self.now_s))
        self._heard = b""
        return out + self.spoilt

    def write(self, data: bytes | bytearray) -> None:
        messages_in = [wire.parse_message(payload) for payload in FrameReader().feed(bytes(data))]
        self.asked += sum(message.shape is messages.STATUS for message in messages_in)
        self._heard += data


@pytest.mark.parametrize(("spoilt", "least", "most"), [(b"", 8, 12), (b"noise\0", 60, 110)])
def test_a_busy_shoe_is_asked_ever_more_seldom_and_one_on_a_bad_line_is_not(
    spoilt: bytes, least: int, most: int
) -> None:
    line = _BusyLine()
    client = Client(line, now_s=lambda: line.now_s)
    line.spoilt = spoilt
    with pytest.raises(CommandRefused, match="no answer to status"):
        client.ask(StatusCommand())
    assert least <= line.asked <= most


def test_a_shoe_that_falls_silent_is_told(
    shoe: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_SILENCE_S", 1.5)  # more than a heartbeat
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        deadline = time.monotonic() + 2.2
        while time.monotonic() < deadline:
            client.receive(0.1)  # nothing happens, and the shoe is heard
        shoe.power_off()
        with pytest.raises(NoShoe) as raised:
            received(client, 1_000_000)
        assert str(raised.value) == f"{shoe.port}: {shoe.unit} has fallen silent"


def test_many_events_come_whole_from_a_naive_shoe_on_a_noisy_line(rng: random.Random) -> None:
    naive = NaiveShoe(1)
    naive.record(300)

    def answer(data: bytes) -> bytes:
        out = bytearray(b"".join(naive.step(data, time.monotonic())))
        for _ in range(len(out) // 400):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        return bytes(out)

    with Answering(answer) as there, Port(there.path) as port:
        client = Client(port)
        client.begin(1)
        got: list[Record] = []
        deadline = time.monotonic() + 30
        while len(got) < 300 and time.monotonic() < deadline:
            records = client.receive(0.1).records
            if records:
                got += records
                client.acknowledge()
        assert [record.data for record in got] == [naive.held[number] for number in range(1, 301)]
