"""A client at good and odd ports: what answers there, and the error if no shoe does."""

import os
import random
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import KEYS, Answering, NaiveShoe, Relay, answering_shoe
from sabot.errors import (
    BadAnswer,
    CommandRefused,
    KeysUnusable,
    LineDamaged,
    NoShoe,
    ProtocolMismatch,
    SabotError,
    UnitNotProven,
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
from sabot_protocol import OLDEST, VERSION, baccarat, games, messages
from sabot_protocol.frame import FrameReader

pytestmark = pytest.mark.slow

HURRY_S = 0.4


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated shoe on a busy machine takes its time."""
    monkeypatch.setattr(client_module, "_SILENCE_S", 30.0)


def refusal(port: str, kind: type[SabotError], timeout_s: float = HURRY_S) -> str:
    """The error message, one line, of attaching to what is at `port`."""
    with Port(port) as opened, pytest.raises(SabotError) as raised:
        Client(opened, timeout_s)
    assert type(raised.value) is kind
    text = str(raised.value)
    assert "\n" not in text
    return text


def received(client: Client, count: int) -> list[Record]:
    """The next `count` events, within a hundred seconds."""
    records: list[Record] = []
    deadline = time.monotonic() + 100
    while len(records) < count and time.monotonic() < deadline:
        records += client.receive(0.1).records
    return records


def garbage(data: bytes) -> bytes:
    return os.urandom(50)


def echo(data: bytes) -> bytes:
    return data


class EchoWithNoise:
    """Echoes whole frames with damaged ones between, for longer than a client should wait."""

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
    ("answer", "what"),
    [
        (garbage, "something answers, but its frames are damaged"),
        (EchoWithNoise(), "something answers, but its frames are damaged"),
        (heartbeats_only, "a shoe is there, and what this host sends to it does not arrive"),
        (lambda data: b"hello " if data else b"", "with frames: it says 'hello hello "),
    ],
    ids=["garbage", "echo and garbage", "heartbeats only", "text"],
)
def test_what_answers_without_whole_frames_is_no_lack_of_power(
    answer: Callable[[bytes], bytes], what: str
) -> None:
    with Answering(answer) as port:
        text = refusal(port.path, LineDamaged)
        assert text.startswith(f"{port.path}: ") and what in text and "power" not in text


def test_a_board_without_sabot_is_no_damaged_line() -> None:
    with Answering(lambda data: b"raw REPL; CTRL-B to exit\r\n>" if data else b"") as port:
        text = refusal(port.path, NoShoe)
        assert "MicroPython's prompt" in text and "`sabot flash` first" in text


@pytest.mark.parametrize("answer", [silence, echo])
def test_a_port_without_a_shoe_is_an_error_in_time(answer: Callable[[bytes], bytes]) -> None:
    with Answering(answer) as port:
        text = refusal(port.path, NoShoe)
        assert text.startswith(f"{port.path}: no shoe answers") and "check its power" in text


def test_the_error_for_another_version_has_both_versions() -> None:
    def answer(data: bytes) -> bytes:
        asked = [wire.parse_message(payload) for payload in FrameReader().feed(data)]
        return b"".join(
            framed(messages.WRONG_VERSION, protocol=VERSION + 7, asked=message.fields["protocol"])
            for message in asked
        )

    with Answering(answer) as port:
        text = refusal(port.path, ProtocolMismatch)
        assert f"version {VERSION + 7}," in text and f"{OLDEST} to {VERSION}: update" in text


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
            welcome = client.welcome
            facts = (welcome.board, welcome.game, welcome.boot, welcome.last_held)
            assert facts == ("sim", "mini", 1, 1)
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
        assert client.receive(0.6).records == []  # not repeated, although not acknowledged for long
    numbers = [record.event.number for record in [*first, second]]
    assert numbers == list(range(1, 13))
    assert {record.event.kind for record in first[1:]} == {"key"}


def test_a_host_without_the_units_key_gets_its_status_and_nothing_else(
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


def test_with_a_wrong_key_the_shoe_is_not_believed_and_gets_no_command(
    shoe: SimulatedShoe,
) -> None:
    wrong = CommandKeyFile()
    wrong.put(shoe.unit, bytes(32))
    with Port(shoe.port) as port:
        client = Client(port, keys=wrong)
        for ask in (
            client.believe,
            lambda: client.begin(1),
            lambda: client.ask(IdentifyCommand()),
            lambda: client.ask(NextPassCommand(0)),
            lambda: client.read_again(1),
        ):
            with pytest.raises(UnitNotProven, match=r"has another command key .* --commands"):
                ask()
        client = Client(port)
        client.begin(1)
        held = received(client, client.welcome.last_held)
        assert [record.event.kind for record in held] == ["boot"]


def test_a_command_with_a_wrong_mac_is_recorded_by_the_shoe_which_goes_on(
    shoe: SimulatedShoe,
) -> None:
    with Port(shoe.port) as port:
        stranger = Client(port)
        stranger._session.send_signed(bytes(32), IdentifyCommand(), 1)
        stranger._flush()
        time.sleep(1.1)  # until then the shoe checks no MAC
        client = Client(port)
        client.begin(1)
        (_, record) = received(client, 2)
    assert (record.event.kind, dict(record.event.fields)) == ("wrong_macs", {"count": 1})


def test_unacknowledged_events_are_sent_to_the_next_host(shoe: SimulatedShoe) -> None:
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
def test_the_error_for_a_refused_command_has_the_reason(
    shoe: SimulatedShoe, command: Command[Reply], refusal: str, reason: str
) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        with pytest.raises(CommandRefused) as raised:
            client.ask(command)
        text = str(raised.value)
        assert text.startswith(f"{shoe.unit} refused {command.SHAPE.name}: ") and reason in text
        assert raised.value.refusal == refusal


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"\xff", "game document: float, break"),
        (b"", "its size must be 1 to 900 bytes"),
        (bytes(901), "its size must be 1 to 900 bytes"),
        (baccarat.document_of(baccarat.MINI_NAME)[:-1], "game document: ends within an item"),
        (baccarat.document_of(baccarat.MINI_NAME) + b"\0", "game document: bytes after the item"),
        (games.encode({**baccarat.MINI, "wagers": ["tie"]}).replace(b"ctie", b"clie"), "wager lie"),
    ],
)
def test_the_error_for_a_refused_game_has_the_reason_and_the_old_game_stays(
    shoe: SimulatedShoe, document: bytes, reason: str
) -> None:
    with Port(shoe.port) as port:
        client = Client(port)
        with pytest.raises(CommandRefused) as raised:
            client.load_game(document)
        text = str(raised.value)
        assert text.startswith(f"{shoe.unit} refused load_game: ") and reason in text
    with Port(shoe.port) as port:
        mini = baccarat.Game(baccarat.document_of(baccarat.MINI_NAME))
        assert Client(port).welcome.game_sha256 == mini.sha256


def test_a_game_is_sent_in_parts_and_reported_at_the_next_attachment(shoe: SimulatedShoe) -> None:
    document = games.encode({**baccarat.MINI, "name": "long", "house": {"note": "x" * 400}})
    assert len(document) > 2 * messages.MAX_GAME_PART
    with Port(shoe.port) as port:
        Client(port).load_game(document)
    with Port(shoe.port) as port:
        welcome = Client(port).welcome
        assert (welcome.game, welcome.game_sha256) == (
            "long",
            baccarat.Game(document).sha256,
        )


def test_a_repeated_command_is_carried_out_once(shoe: SimulatedShoe) -> None:
    document = baccarat.document_of(baccarat.MINI_NAME)
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        client.load_game(document)
        for _ in range(3):
            client._session.send_command(LoadGameCommand(400, len(document), document[400:]), 2)
        client.ask(StatusCommand())
        kinds = [record.event.kind for record in received(client, 2)]
        assert kinds == ["boot", "game_loaded"]
        assert client.receive(0.4).records == []


def test_a_command_without_an_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
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
        (
            {"shape": messages.STATUS_REPORT, "id": 2},
            "status_report for command 2, which was never sent",
        ),
        (
            {"shape": messages.STATUS_REPORT, "id": 0},
            "status_report for command 0, which was never sent",
        ),
    ],
    ids=["another report", "a reply", "the next id", "no id"],
)
def test_an_unexpected_answer_is_an_error(answer: dict[str, Any], why: str) -> None:
    class Odd(NaiveShoe):
        def answer(self, message: wire.Message) -> list[bytes]:
            return [framed(**answer)]

    with answering_shoe(Odd(1)) as there, Port(there.path) as port:
        client = Client(port)
        with pytest.raises(BadAnswer, match=why):
            client.ask(StatusCommand())


def test_an_answer_that_comes_again_after_the_next_command_is_no_error() -> None:
    class Repeating(NaiveShoe):
        answers: ClassVar[list[bytes]] = []

        def answer(self, message: wire.Message) -> list[bytes]:
            self.answers.append(framed(messages.STATUS_REPORT, id=message.fields["id"]))
            return self.answers

    with answering_shoe(Repeating(1)) as there, Port(there.path) as port:
        client = Client(port)
        assert [client.ask(StatusCommand()).id for _ in range(4)] == [1, 2, 3, 4]


class _BusyLine:
    """A line to a shoe that attaches and is then too busy to answer. Each read takes time."""

    name = "busy"

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked = self.acknowledged = 0
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
        self.acknowledged += sum(message.shape is messages.ACK for message in messages_in)
        self._heard += data


@pytest.mark.parametrize(("spoilt", "least", "most"), [(b"", 8, 12), (b"noise\0", 60, 110)])
def test_repetitions_slow_down_for_a_busy_shoe_but_not_on_a_bad_line(
    spoilt: bytes, least: int, most: int
) -> None:
    line = _BusyLine()
    client = Client(line, now_s=lambda: line.now_s)
    line.spoilt = spoilt
    with pytest.raises(CommandRefused, match="no answer to status"):
        client.ask(StatusCommand())
    assert least <= line.asked <= most


def test_a_host_that_begins_asks_once_for_the_events() -> None:
    """To a shoe a repeated ack means that events are missing, and it sends them all again."""
    line = _BusyLine()
    client = Client(line, now_s=lambda: line.now_s, keys=KEYS)
    client.begin(1)
    client.receive(0.1)
    assert line.acknowledged == 1


def test_a_shoe_that_falls_silent_is_an_error(
    shoe: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_SILENCE_S", 1.5)  # more than a heartbeat
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        deadline = time.monotonic() + 2.2
        while time.monotonic() < deadline:
            client.receive(0.1)  # no events, only heartbeats
        shoe.power_off()
        with pytest.raises(NoShoe) as raised:
            received(client, 1_000_000)
        assert str(raised.value) == f"{shoe.port}: {shoe.unit} has fallen silent"


def test_many_events_come_undamaged_from_a_naive_shoe_on_a_noisy_line(rng: random.Random) -> None:
    naive = NaiveShoe(1)
    naive.record(300)

    def answer(data: bytes) -> bytes:
        out = bytearray(b"".join(naive.step(data, time.monotonic())))
        for _ in range(len(out) // 400):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        return bytes(out)

    with Answering(answer) as there, Port(there.path) as port:
        client = Client(port, keys=KEYS)
        client.begin(1)
        got: list[Record] = []
        deadline = time.monotonic() + 100
        while len(got) < 300 and time.monotonic() < deadline:
            records = client.receive(0.1).records
            if records:
                got += records
                client.acknowledge()
        assert [record.data for record in got] == [naive.held[number] for number in range(1, 301)]


def test_events_that_came_while_a_command_ran_are_acknowledged_once_they_are_received() -> None:
    naive = NaiveShoe(1, forgets=True)
    naive.record(3)
    with answering_shoe(naive) as there, Port(there.path) as port:
        client = Client(port, keys=KEYS)
        client.begin(1)
        assert len(received(client, 3)) == 3
        naive.record(5)
        while not client._pending.records:
            client.ask(SetClockCommand(1))
        client.acknowledge()
        client.ask(SetClockCommand(2))  # the answer comes after the acknowledgement was read
        assert naive.acknowledged == 3
        numbers = [record.event.number for record in received(client, 5)]
        assert numbers == [4, 5, 6, 7, 8]
        client.acknowledge()
        client.ask(SetClockCommand(3))
        assert naive.acknowledged == 8


def test_events_that_came_with_a_wrong_answer_are_not_lost() -> None:
    naive = NaiveShoe(1)
    naive.record(4)
    wrong = [framed(messages.REPLY, id=10_000)]

    def answer(data: bytes) -> bytes:
        out = b"".join(naive.step(data, time.monotonic()))
        return out + wrong.pop() if wrong and naive_events(out) else out

    with Answering(answer) as there, Port(there.path) as port:
        client = Client(port, keys=KEYS)
        client.begin(1)
        with pytest.raises(BadAnswer, match="was never sent"):
            received(client, 4)
        assert [record.event.number for record in received(client, 4)] == [1, 2, 3, 4]


def naive_events(out: bytes) -> bool:
    """Whether there are events in these frames."""
    payloads = FrameReader().feed(out)
    return any(wire.parse_message(each).shape is messages.EVENT for each in payloads)


@pytest.mark.parametrize(
    "unit", ["", "a b", "\x1b[2J", "SHOE\n7", "../x", "Ä", "x" * 33, "a\0b", "SHOE-7\u202e"]
)
def test_a_shoe_with_an_id_that_no_unit_can_have_is_refused(unit: str) -> None:
    shoe = NaiveShoe(1)
    shoe.unit = unit
    with answering_shoe(shoe) as port, Port(port.path) as opened:
        with pytest.raises(BadAnswer, match="which no unit can have") as raised:
            Client(opened)
    assert str(raised.value).startswith(f"{port.path}: ") and str(raised.value).isprintable()
