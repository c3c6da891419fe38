"""The session with a naive shoe, on a line that loses, repeats and damages frames."""

import hmac
import random
from collections.abc import Callable, Sequence

import cbor2
import pytest

from host.tests.support.helpers import event_bytes, framed
from host.tests.support.naive_shoe import KEY, BadLine, NaiveShoe, fake_mac, proof_of
from host.tests.support.naive_shoe import event_frame as frame_of_event
from protocol.tests.helpers import vectors
from sabot.errors import BadAnswer, ProtocolMismatch
from sabot.link import command_keys, wire
from sabot.link.messages import SetClockCommand, StatusCommand
from sabot.link.session import ASK_PAUSE_S, Record, Session
from sabot_protocol import OLDEST, VERSION, messages
from sabot_protocol.frame import FrameReader
from sabot_protocol.schema import Shape

_CHALLENGE = bytes(range(160, 176))
SESSION = 77
STEP_S = 0.005
LONGEST_S = 600.0


class Host:
    """Uses a session as a client does, with the clock of the simulation."""

    def __init__(self, rng: random.Random, expect: int) -> None:
        self.session = Session(SESSION)
        self.expect = expect
        self.got: list[Record] = []
        self.durable = expect - 1
        self._acked = expect - 1
        self._rng = rng
        self._hello_s = self._announced_s = -1.0
        self._waiting: list[int] = []

    def step(self, data: bytes, now_s: float) -> bytes:
        """Take `data` from the shoe; return the bytes that the host sends at `now_s`."""
        self._attach_again_after_silence(now_s)
        session = self.session
        while data:  # in pieces, as from a port
            size = self._rng.randrange(1, 600)
            received = session.feed(data[:size], now_s)
            data = data[size:]
            if received.welcome is not None:
                session.begin(self.expect)
            self.got += received.records
            self._waiting += [record.event.number for record in received.records]
            assert not self._waiting or self._waiting[0] > self._acked
        if not session.attached and now_s - self._hello_s >= 0.1:
            self._hello_s = now_s
            session.hello()
        if now_s - self._announced_s >= 1.0:
            self._announced_s = now_s
            session.announce()
        session.ask_for_missing(now_s)
        out, session.out = bytes(session.out), bytearray()
        self._assert_nothing_is_acknowledged_early(out)
        if self._waiting and self._rng.random() < 0.3:  # a commit that takes some steps
            self.durable = self._waiting[-1]
            self._waiting = []
            session.acknowledge(self.durable)
            out += bytes(session.out)
            session.out = bytearray()
        return out

    def _attach_again_after_silence(self, now_s: float) -> None:
        """As `Client` does: a `hello` of another version that comes late ends the session."""
        heard_s = self.session.heard_s
        if heard_s is None or now_s - heard_s <= messages.SILENCE_MS / 1000:
            return
        self.session = Session(SESSION)
        del self.got[len(self.got) - len(self._waiting) :]
        self._waiting, self.expect = [], self.durable + 1

    def _assert_nothing_is_acknowledged_early(self, out: bytes) -> None:
        for payload in FrameReader().feed(out):
            message = wire.parse_message(payload)
            if message.shape is messages.ACK:
                self._acked = message.fields["number"]
                assert not self._waiting or self._acked < self._waiting[0]


def simulate(
    rng: random.Random,
    shoe: NaiveShoe,
    host: Host,
    trouble: float,
    until: Callable[[], bool],
    each_step: Callable[[float], bool] = lambda now_s: True,
) -> None:
    """Run both ends until `until` is true; while `each_step` is false, the host is unplugged."""
    to_host, to_shoe = BadLine(rng, trouble), BadLine(rng, trouble)
    now_s = 0.0
    while not until():
        now_s += STEP_S
        assert now_s < LONGEST_S, f"{len(host.got)} events came, then no more"
        arrived = to_host.arrived(now_s)
        if each_step(now_s):
            for frame in host.step(arrived, now_s).split(b"\0")[:-1]:
                to_shoe.send(frame + b"\0", now_s)
        for frame in shoe.step(to_shoe.arrived(now_s), now_s):
            to_host.send(frame, now_s)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("expect", [1, 300])
def test_every_event_comes_once_and_in_order(
    rng: random.Random, trouble: float, expect: int
) -> None:
    shoe, host = NaiveShoe(1), Host(rng, expect)
    shoe.record(600)
    wanted = list(range(expect, 801))

    def more(now_s: float) -> bool:
        if shoe.next_number <= 800 and rng.random() < 0.5:
            shoe.record(1)
        return True

    simulate(rng, shoe, host, trouble, lambda: host.durable >= 800, more)
    assert [record.event.number for record in host.got] == wanted
    assert [record.data for record in host.got] == [shoe.held[number] for number in wanted]
    assert [record.mac for record in host.got] == [fake_mac(record.data) for record in host.got]


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [0.0, 0.2])
def test_only_numbers_that_the_shoe_no_longer_holds_are_skipped(
    rng: random.Random, trouble: float
) -> None:
    shoe, host = NaiveShoe(1, room=100), Host(rng, 1)
    shoe.record(50)

    def unplugged_now_and_then(now_s: float) -> bool:
        if shoe.next_number <= 3000:
            shoe.record(rng.randrange(3))
        return int(now_s) % 5 != 3  # 300 events a second, and room for 100

    simulate(
        rng, shoe, host, trouble,
        lambda: shoe.next_number > 3000 and host.durable == shoe.next_number - 1,
        unplugged_now_and_then,
    )  # fmt: skip
    numbers = [record.event.number for record in host.got]
    assert numbers == sorted(set(numbers))
    missing = set(range(1, shoe.next_number)) - set(numbers)
    assert missing and missing <= shoe.given_up


@pytest.mark.parametrize("ahead", [2, 255, 256, 257, 258, 5000])
def test_a_shoe_that_holds_only_later_events_is_logged_from_there(
    rng: random.Random, ahead: int
) -> None:
    shoe, host = NaiveShoe(1 + ahead), Host(rng, 1)
    shoe.record(5)
    simulate(rng, shoe, host, 0.0, lambda: host.durable == shoe.next_number - 1)
    assert [record.event.number for record in host.got] == [*range(1 + ahead, 6 + ahead)]


def attached(first_held: int = 1, last_held: int = 0) -> Session:
    session = Session(SESSION)
    numbers = {"first_held": first_held, "last_held": last_held}
    session.feed(framed(messages.WELCOME, session=SESSION, unit="U1", **numbers), 0.0)
    session.feed(framed(messages.FIRMWARE, session=SESSION), 0.0)
    session.feed(framed(messages.GAME, session=SESSION), 0.0)
    session.feed(framed(messages.CHALLENGE, session=SESSION), 0.0)
    assert session.attached
    return session


def event_frame(number: int) -> bytes:
    return frame_of_event(event_bytes("identified", number))


def numbers_in(session: Session, data: bytes, now_s: float = 0.0) -> list[int]:
    return [record.event.number for record in session.feed(data, now_s).records]


def acks_in(out: bytearray) -> list[int]:
    sent = [wire.parse_message(payload) for payload in FrameReader().feed(bytes(out))]
    out.clear()
    return [message.fields["number"] for message in sent if message.shape is messages.ACK]


def test_hello_carries_the_version_and_the_session() -> None:
    session = Session(SESSION)
    session.hello()
    (payload,) = FrameReader().feed(bytes(session.out))
    message = wire.parse_message(payload)
    assert message.shape is messages.HELLO
    assert dict(message.fields) == {"protocol": VERSION, "session": SESSION}


def test_the_welcome_is_reported_once_and_complete() -> None:
    session = Session(SESSION)
    welcome = framed(messages.WELCOME, session=SESSION, unit="U1", boot=4, last_held=9)
    firmware = framed(messages.FIRMWARE, session=SESSION, version="1.2", board="pico")
    game = framed(messages.GAME, session=SESSION, name="mini", sha256=b"x")
    challenge = challenge_frame(KEY, welcome, firmware, game)
    assert session.feed(game + welcome + challenge + welcome, 0.0).welcome is None
    assert not session.attached
    introduction = session.feed(firmware, 0.0).welcome
    assert introduction is not None and session.attached
    expected = {"unit": "U1", "boot": 4, "last_held": 9, "firmware": "1.2", "board": "pico"}
    expected |= {"game": "mini", "game_sha256": b"x"}
    assert {name: getattr(introduction, name) for name in expected} == expected
    assert session.feed(welcome + firmware + game, 0.0).welcome is None


def challenge_frame(key: bytes, *answers: bytes, session: int = SESSION) -> bytes:
    """A shoe's challenge with its proof of these answers."""
    proof = proof_of(key, session, _CHALLENGE, *answers)
    return framed(messages.CHALLENGE, session=session, challenge=_CHALLENGE, proof=proof)


_ANSWERS = (
    framed(messages.WELCOME, session=SESSION, unit="U1", boot=4, last_held=9),
    framed(messages.FIRMWARE, session=SESSION, version="1.2"),
    framed(messages.GAME, session=SESSION, name="mini"),
)


def test_a_shoe_is_believed_if_its_proof_fits_key_unit_session_and_every_answer() -> None:
    def believed(frames: Sequence[bytes], unit: str = "U1", key: bytes = KEY) -> bool:
        session = Session(SESSION)
        session.feed(b"".join(frames), 0.0)
        assert session.attached
        return session.believe(unit, key)

    good = [*_ANSWERS, challenge_frame(KEY, *_ANSWERS)]
    assert believed(good) and believed(good[::-1]), "they may come in another order"
    assert not believed(good, "U2") and not believed(good, key=bytes(32))
    for place, name in enumerate(("unit", "version", "name")):
        other = framed(
            (messages.WELCOME, messages.FIRMWARE, messages.GAME)[place],
            session=SESSION,
            **{name: "U1"},
        )
        assert not believed([*good[:place], other, *good[place + 1 :]]), name
    assert not believed([*_ANSWERS, challenge_frame(bytes(32), *_ANSWERS)])
    proof = proof_of(KEY, SESSION + 1, _CHALLENGE, *_ANSWERS)
    replayed = framed(messages.CHALLENGE, session=SESSION, challenge=_CHALLENGE, proof=proof)
    assert not believed([*_ANSWERS, replayed])
    assert not believed([*_ANSWERS, framed(messages.CHALLENGE, session=SESSION)]), "no key at all"


def test_a_challenge_of_another_size_is_dropped() -> None:
    for challenge, proof in ((15, 16), (17, 16), (32, 16), (256, 16), (16, 15), (16, 0), (0, 16)):
        session = Session(SESSION)
        given = {"challenge": bytes(challenge), "proof": bytes(proof)}
        odd = framed(messages.CHALLENGE, session=SESSION, **given)
        assert session.feed(b"".join([*_ANSWERS, odd]), 0.0).welcome is None
        assert not session.attached and session.challenge == b""


def test_answers_of_two_hellos_are_believed_once_they_fit() -> None:
    session = Session(SESSION)
    later = framed(messages.WELCOME, session=SESSION, unit="U1", boot=4, last_held=10)
    first = session.feed(b"".join([*_ANSWERS, challenge_frame(KEY, later, *_ANSWERS[1:])]), 0.0)
    assert first.welcome is not None and first.welcome.last_held == 9
    assert not session.believe("U1", KEY)
    session.feed(later, 0.0)
    assert session.believe("U1", KEY)
    introduction = session.introduction()
    assert introduction is not None and introduction.last_held == 10
    session.feed(_ANSWERS[0] + challenge_frame(bytes(32), *_ANSWERS), 0.0)
    assert session.introduction() == introduction, "what is proved stays"


def test_the_proofs_and_macs_of_the_golden_vectors_are_right() -> None:
    document = vectors("sessions")
    key = bytes.fromhex(document["command_key"])
    for given in ({n: bytes.fromhex(v[n]) for n in v} for v in document["sessions"]):
        number = int.from_bytes(given["session"], "big")
        answers = given["welcome"] + given["firmware"] + given["game"]
        parts = number, given["challenge"]
        assert command_keys.is_proof(key, *parts, answers, given["proof"])
        assert not command_keys.is_proof(key, *parts, answers, given["mac"])
        assert command_keys.command_mac(key, *parts, given["command"]) == given["mac"]


def test_an_answer_to_another_hosts_hello_is_ignored() -> None:
    session = Session(SESSION)
    shapes = (messages.WELCOME, messages.FIRMWARE, messages.CHALLENGE, messages.GAME)
    for shape in shapes:
        session.feed(framed(shape, session=SESSION + 1), 0.0)
    assert not session.attached
    for shape in shapes:
        own = SESSION if shape is not messages.GAME else SESSION + 1
        session.feed(framed(shape, session=own), 0.0)
    assert not session.attached


def test_a_signed_command_has_its_message_and_the_mac_of_the_definition() -> None:
    session = Session(SESSION)
    key, challenge = bytes(range(32)), bytes(range(160, 176))
    for shape in (messages.WELCOME, messages.FIRMWARE, messages.GAME):
        session.feed(framed(shape, session=SESSION), 0.0)
    given = {"challenge": challenge, "proof": bytes(16)}
    session.feed(framed(messages.CHALLENGE, session=SESSION, **given), 0.0)
    session.send_signed(key, SetClockCommand(1764000067000), 17)
    (payload,) = FrameReader().feed(bytes(session.out))
    command = cbor2.dumps([messages.SET_CLOCK.number, 17, 1764000067000])
    begin = b"sabot host to shoe" + SESSION.to_bytes(8, "big") + b"\x10" + challenge
    mac = hmac.digest(key, begin + b"\0\x0c" + command, "sha256")[:16]
    assert cbor2.loads(payload) == [messages.SIGNED.number, 17, command, mac]


def test_messages_before_the_answer_to_hello_are_ignored() -> None:
    session = Session(SESSION)
    session.begin(1)
    received = session.feed(event_frame(1) + framed(messages.HEARTBEAT, last_held=5), 0.0)
    assert (received.records, received.heartbeat, received.answers) == ([], None, [])


def test_events_before_begin_are_ignored_but_not_lost() -> None:
    session = attached(last_held=2)
    assert numbers_in(session, event_frame(1) + event_frame(2)) == []
    session.acknowledge(0)
    session.announce()
    assert acks_in(session.out) == []
    session.begin(1)
    assert acks_in(session.out) == [0]
    assert numbers_in(session, event_frame(1) + event_frame(2)) == [1, 2]


def test_only_events_that_were_handed_out_are_acknowledged() -> None:
    session = attached(last_held=9)
    session.begin(4)
    assert acks_in(session.out) == [3]
    assert numbers_in(session, event_frame(4) + event_frame(5) + event_frame(7)) == [4, 5]
    session.announce()
    session.ask_for_missing(ASK_PAUSE_S)
    assert acks_in(session.out) == [3, 3]
    session.acknowledge(5)
    assert acks_in(session.out) == [5]


def test_what_is_durable_is_in_every_announcement_also_if_it_waits_for_its_own() -> None:
    session = attached(last_held=9)
    session.begin(1)
    assert numbers_in(session, event_frame(1) + event_frame(2)) == [1, 2]
    session.acknowledge(2, at_once=False)
    assert acks_in(session.out) == [0]
    assert numbers_in(session, event_frame(4), 1.0) == []  # the third is missing
    session.ask_for_missing(1.0)
    assert acks_in(session.out) == [2]


def test_events_that_come_again_are_answered_seldom() -> None:
    # Each acknowledgement that brings nothing new has the shoe send all again: with one after each
    # repeated event a slow shoe never came further.
    session = attached(last_held=9)
    session.begin(1)
    assert numbers_in(session, event_frame(1) + event_frame(2)) == [1, 2]
    session.acknowledge(2)
    assert acks_in(session.out) == [0, 2]
    for step in range(1, 101):
        assert numbers_in(session, event_frame(1) + event_frame(2), step / 100) == []
        session.ask_for_missing(step / 100)
    assert 3 <= len(acks_in(session.out)) <= 4


def test_events_that_came_too_early_are_handed_out_in_order() -> None:
    session = attached(last_held=9)
    session.begin(1)
    assert numbers_in(session, event_frame(3) + event_frame(2) + event_frame(3)) == []
    assert numbers_in(session, event_frame(1)) == [1, 2, 3]
    assert numbers_in(session, event_frame(2) + event_frame(3) + event_frame(4)) == [4]


@pytest.mark.parametrize(
    "trouble",
    [
        event_frame(3),  # one was left out
        event_frame(1)[:-3] + b"\0",  # damage
        b"\1" * 5000 + b"\0",  # longer than any frame
        frame_of_event(b"\xff"),  # not an event
        framed(messages.EVENT, record=event_bytes("identified", 1), mac=bytes(15)),
        framed(messages.EVENT, record=event_bytes("identified", 1), mac=bytes(17)),
        framed(messages.HEARTBEAT, first_held=1, last_held=4),  # the shoe holds more than came
        framed(messages.PROBLEM, count=1),  # the shoe dropped a frame
        wire.frame_of(Shape(messages.HEARTBEAT.number, "short", "")),
    ],
    ids=[
        "left out",
        "damaged",
        "oversize",
        "not an event",
        "short mac",
        "long mac",
        "held",
        "problem",
        "not a message",
    ],
)
def test_missing_events_are_requested_once_and_not_too_often(trouble: bytes) -> None:
    session = attached(last_held=4)
    session.begin(1)
    acks_in(session.out)
    session.ask_for_missing(10.0)
    assert acks_in(session.out) == []
    session.feed(trouble, 10.0)
    session.ask_for_missing(10.0)
    session.ask_for_missing(20.0)
    assert acks_in(session.out) == [0]
    session.feed(trouble + trouble, 20.0)
    session.ask_for_missing(20.0)
    session.feed(trouble, 20.0)
    session.ask_for_missing(20.0 + ASK_PAUSE_S / 2)
    assert acks_in(session.out) == [0]
    session.ask_for_missing(20.0 + 1.5 * ASK_PAUSE_S)
    assert acks_in(session.out) == [0]


def test_an_event_whose_mac_has_another_length_is_not_handed_out() -> None:
    session = attached(last_held=2)
    session.begin(1)
    bad = framed(messages.EVENT, record=event_bytes("identified", 1), mac=bytes(12))
    assert numbers_in(session, bad + event_frame(2)) == []
    session.acknowledge(0)
    assert set(acks_in(session.out)) == {0}
    assert numbers_in(session, event_frame(1)) == [1, 2]


def test_very_many_numbers_are_skipped_at_once() -> None:
    session = attached(last_held=5)
    session.begin(1)
    last = (1 << 63) - 1
    session.feed(framed(messages.HEARTBEAT, first_held=last, last_held=last), 0.0)
    assert numbers_in(session, event_frame(last)) == [last]


def test_what_is_held_before_the_proof_counts_for_nothing() -> None:
    """Else the host would acknowledge what it never got: acknowledgements are cumulative."""
    session = Session(SESSION)
    lie = framed(messages.WELCOME, session=SESSION, unit="U1", first_held=9, last_held=9)
    session.feed(b"".join([lie, *_ANSWERS[1:], challenge_frame(KEY, *_ANSWERS)]), 0.0)
    session.feed(framed(messages.HEARTBEAT, first_held=8, last_held=9), 0.0)
    session.feed(_ANSWERS[0], 0.0)
    assert session.believe("U1", KEY)
    session.out.clear()
    session.begin(1)
    assert acks_in(session.out) == [0]
    assert numbers_in(session, event_frame(1)) == [1]


def test_heartbeats_that_contradict_each_other_end_the_session() -> None:
    lie = {"first_held": 60, "last_held": 90}
    for odd in (({"first_held": 11, "last_held": 9},), (lie, {"first_held": 1, "last_held": 9})):
        session = attached(last_held=9)
        session.begin(1)
        with pytest.raises(BadAnswer, match=r"U1: .*contradict each other.*; attach it again"):
            for each in odd:
                session.feed(framed(messages.HEARTBEAT, **each), 0.0)
        assert not session.attached and numbers_in(session, event_frame(1)) == []


@pytest.mark.parametrize(("version", "older"), [(913, "this host"), (OLDEST - 1, "the shoe")])
def test_the_error_for_a_version_that_is_not_spoken_has_all_versions_and_what_to_do(
    version: int, older: str
) -> None:
    session = Session(SESSION)
    with pytest.raises(ProtocolMismatch) as raised:
        session.feed(framed(messages.WRONG_VERSION, protocol=version, asked=VERSION), 0.0)
    text = str(raised.value)
    assert f"version {version}" in text and f"versions {OLDEST} to {VERSION}" in text
    assert text.endswith(f"update {older}") and "\n" not in text


@pytest.mark.parametrize("version", range(OLDEST, VERSION + 1))
def test_a_version_that_is_spoken_and_refused_all_the_same_is_no_older_host(version: int) -> None:
    session = attached()
    session.begin(1)
    with pytest.raises(BadAnswer, match=rf"names version {version}, .* speaks too; look"):
        session.feed(framed(messages.WRONG_VERSION, protocol=version, asked=VERSION), 0.0)
    assert not session.attached and numbers_in(session, event_frame(1)) == []


def _hellos(session: Session) -> list[tuple[object, object]]:
    """Version and session number of each `hello` that the session sends now."""
    sent = [wire.parse_message(payload) for payload in FrameReader().feed(bytes(session.out))]
    session.out = bytearray()
    return [tuple(each.fields.values()) for each in sent if each.shape is messages.HELLO]


def test_a_shoe_of_version_10_is_greeted_in_its_version_with_another_session_number() -> None:
    session = Session(SESSION)
    session.hello()
    ((version, first),) = _hellos(session)
    session.feed(framed(messages.WRONG_VERSION, protocol=OLDEST, asked=VERSION) * 2, 0.0)
    ((fallen_to, second),) = _hellos(session)
    assert (version, fallen_to) == (VERSION, OLDEST) and first != second
    session.feed(b"".join(_answers(first, OLDEST)), 0.0)
    assert not session.attached, "these answer the first hello"
    session.feed(b"".join(_answers(second, OLDEST)), 0.0)
    assert session.attached and session.version == OLDEST and not session.misled


@pytest.mark.parametrize("newest", [VERSION, VERSION + 1, VERSION + 30])
def test_a_newer_shoe_is_spoken_to_in_the_version_of_this_host(newest: int) -> None:
    session = Session(SESSION)
    session.hello()
    ((_, number),) = _hellos(session)
    welcome = session.feed(b"".join(_answers(number, newest)), 0.0).welcome
    assert welcome is not None and session.version == VERSION
    lacking = welcome.what_host_lacks()
    assert (f"version {newest}, this host {VERSION}" in lacking) == (newest > VERSION)
    assert bool(lacking) == (newest > VERSION)


def test_a_shoe_that_is_older_than_this_host_is_spoken_to_in_its_own_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sabot.link.session.VERSION", VERSION + 3)
    session = Session(SESSION)
    session.hello()
    ((asked, number),) = _hellos(session)
    session.feed(b"".join(_answers(number, VERSION)), 0.0)
    assert asked == VERSION + 3 and session.version == VERSION


def test_who_says_falsely_that_a_shoe_is_of_version_10_is_not_believed() -> None:
    session = Session(SESSION)
    session.feed(framed(messages.WRONG_VERSION, protocol=OLDEST, asked=VERSION), 0.0)
    ((asked, number),) = _hellos(session)
    assert asked == OLDEST
    session.feed(b"".join(_answers(number, VERSION)), 0.0)
    assert not session.attached and session.misled
    ((asked, again),) = _hellos(session)
    assert asked == VERSION and again != number
    session.feed(b"".join(_answers(again, VERSION)), 0.0)
    assert session.attached and session.version == VERSION


def _answers(session: object, newest: int) -> list[bytes]:
    """The answers of a shoe without a key whose newest version is `newest`."""
    assert isinstance(session, int)
    shoe = NaiveShoe(1)
    shoe.version, shoe.key = newest, b""
    return shoe.introduction(session)


@pytest.mark.parametrize("trouble", [0.0, 0.1, 0.4])
def test_every_event_of_a_shoe_of_version_10_comes_once_over_a_bad_line(
    rng: random.Random, trouble: float
) -> None:
    shoe, host = NaiveShoe(1), Host(rng, 1)
    shoe.version = OLDEST
    shoe.record(300)
    simulate(rng, shoe, host, trouble, lambda: host.durable >= 300)
    assert [record.data for record in host.got] == [shoe.held[number] for number in range(1, 301)]
    assert host.session.version == OLDEST


@pytest.mark.parametrize("trouble", [0.1, 0.4])
def test_on_no_bad_line_is_a_newer_shoe_taken_for_one_of_version_10(
    rng: random.Random, trouble: float
) -> None:
    shoe, host = NaiveShoe(1), Host(rng, 1)
    shoe.record(100)
    simulate(rng, shoe, host, trouble, lambda: host.durable >= 100)
    assert host.session.version == VERSION and not host.session.misled


def test_what_a_host_of_another_version_was_answered_is_passed_over() -> None:
    session = attached()
    session.begin(1)
    left = framed(messages.WRONG_VERSION, protocol=VERSION, asked=VERSION + 3)
    assert numbers_in(session, left + event_frame(1)) == [1]


def test_after_another_version_no_event_is_handed_out_or_acknowledged() -> None:
    session = attached(last_held=9)
    session.begin(1)
    with pytest.raises(ProtocolMismatch):
        session.feed(
            event_frame(1) + framed(messages.WRONG_VERSION, protocol=913, asked=VERSION), 0.0
        )
    assert numbers_in(session, event_frame(2)) == []
    session.acknowledge(2)
    assert acks_in(session.out) == [0], "only the one at the begin"


def test_answers_and_heartbeats_are_handed_on() -> None:
    session = attached()
    session.send_command(StatusCommand(), 5)
    (payload,) = FrameReader().feed(bytes(session.out))
    assert wire.parse_message(payload).fields == {"id": 5}
    answers = framed(messages.REPLY, id=4, detail="done")
    reports = [shape for shape in messages.TO_HOST if shape.fields[0] == ("id", "uint")][1:]
    assert len(reports) == 8
    for number, shape in enumerate(reports, 5):
        answers += framed(shape, id=number)
    received = session.feed(answers + framed(messages.HEARTBEAT, t_ms=3), 1.0)
    assert [answer.id for answer in received.answers] == list(range(4, 5 + len(reports)))
    assert received.heartbeat is not None and received.heartbeat.t_ms == 3


def test_read_again_hands_out_the_events_from_a_number_on_again() -> None:
    session = attached(last_held=4)
    session.begin(1)
    frames = [event_frame(number) for number in range(1, 5)]
    assert numbers_in(session, b"".join(frames)) == [1, 2, 3, 4]
    session.acknowledge(4)
    session.read_again(2)
    assert numbers_in(session, b"".join(frames)) == [2, 3, 4]


def test_heard_s_is_the_time_of_the_last_good_message() -> None:
    session = Session(SESSION)
    session.feed(b"noise\0", 3.0)
    assert session.heard_s is None
    session.feed(framed(messages.HEARTBEAT), 4.0)
    session.feed(b"noise\0", 5.0)
    assert session.heard_s == 4.0


def test_a_message_of_a_later_shoe_is_neither_damage_nor_asked_for_again() -> None:
    session = attached(last_held=4)
    session.begin(1)
    acks_in(session.out)
    later = wire.frame_of(Shape(95, "later", "text:text"), "more than this host knows")
    received = session.feed(later + event_frame(1), 10.0)
    session.ask_for_missing(20.0)
    assert [each.event.number for each in received.records] == [1]
    assert (session.missing, session.damaged, acks_in(session.out)) == (False, 0, [])
