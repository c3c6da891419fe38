"""A host that lies, against the whole firmware, in each state of a shoe.

What must hold in every case: the firmware never stops with an error; an honest host gets every
event afterwards, unchanged and with a valid chain; the cards that are pulled meanwhile are dealt,
and the lock moves, as without a host; what the shoe keeps for a host stays small. A host without
the key gets nothing done and nothing acknowledged, gets only what anyone may know, and keeps
nothing from the next host.
"""

import gc
import random
import sys
from pathlib import Path

import cbor2
import pytest

from firmware.tests.fakes.fake_flash import FIRST_KEY
from firmware.tests.support.naive_chain import NaiveChain
from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.line_adversary import payload_of
from host.tests.adversary.lying_host import LyingHost
from host.tests.adversary.whole_shoe import (
    COMMAND_KEY,
    STATES,
    UNIT,
    Memory,
    State,
    Unit,
    firmware_in_place,
    made,
)
from sabot.games.baccarat import catalogue
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import (
    IdentifyCommand,
    SetClockCommand,
    UpdateCommand,
    UpdatePartCommand,
    UpdateStatusCommand,
)
from sabot_protocol import messages

pytestmark = pytest.mark.slow

_SAYS = 30
"""How often the host says something in a case."""
_MOST_GROWTH = 12_000  # bytes: what one frame, one game document and the queue of answers take
_SILENCE_MS = messages.SILENCE_MS + 1000  # then its session is over: its line proves nothing
_CLOSED_MS = 17_000  # longer than wrong MACs are refused unread
_UNIX_MS = 1_790_000_000_000
_BY_HOSTS = (
    "clock_set",
    "identified",
    "game_loaded",
    "updated",
    "debug_opened",
    "wrong_macs",
    "boot",
)
_NOT_OF_DEALING = (*_BY_HOSTS, "checkpoint")
_KEYS = CommandKeyFile()
_KEYS.put(UNIT, COMMAND_KEY)
_SPARED = (messages.LOAD_GAME, messages.PROVISION, messages.DEBUG)
_TO_STRANGERS = (
    messages.WELCOME, messages.FIRMWARE, messages.GAME, messages.CHALLENGE, messages.WRONG_VERSION,
    messages.HEARTBEAT, messages.PROBLEM, messages.REPLY, messages.STATUS_REPORT,
    messages.HEALTH_REPORT, messages.UPDATE_REPORT,
)  # fmt: skip
_DOCUMENTS = [catalogue.document(name, {}) for name in ("mini", "ez-midi")]
_HEAD_BYTES = 600


class _Port:
    """The port of an honest host. `heard` gets the frames that it sends."""

    name = "line"

    def __init__(self, unit: Unit) -> None:
        self.heard: list[bytes] = []
        self._unit = unit

    def now_s(self) -> float:
        return self._unit.turns.now_us / 1e6

    def read(self, timeout_s: float) -> bytes:
        self._unit.run(max(1.0, 1000 * timeout_s))
        board = self._unit.board
        data, board.to_host = board.to_host, b""
        return data

    def write(self, data: bytes | bytearray) -> None:
        self.heard.append(bytes(data))
        self._unit.board.send(bytes(data))

    def client(self) -> Client:
        return Client(self, now_s=self.now_s, keys=_KEYS, bare=True)


def _size_of(roots: list[object]) -> int:
    """Bytes of all that can be reached from `roots`, without classes, modules and functions."""
    seen: set[int] = set()
    left, size = list(roots), 0
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type) or type(each).__name__ in _NOT_COUNTED:
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        left += gc.get_referents(each)
    return size


_NOT_COUNTED = (
    "module", "function", "method", "builtin_function_or_method", "Turns", "Board", "Unit", "Shoe",
    "Updater", "NotedJournal", "Shape", "cell", "frame", "dict_keys", "wrapper_descriptor",
)  # fmt: skip


def _for_hosts(unit: Unit) -> int:
    """Bytes of what the shoe keeps for hosts."""
    roots: list[object] = [unit.link, unit.link._guard, unit.link._outbox]
    if unit.shoe is not None:
        roots.append(unit.shoe.game_parts)
    else:
        roots += [unit.updater._provision, unit.updater._update]
    return _size_of(roots)


def _take_all(unit: Unit) -> list[tuple[bytes, bytes]]:
    """What an honest host gets: record and MAC of every event."""
    assert unit.shoe is not None
    client = _Port(unit).client()
    client.believe()
    client.begin(1)
    client.ask(SetClockCommand(_UNIX_MS))
    beeps = unit.board.beeps
    client.ask(IdentifyCommand())
    assert unit.board.beeps == beeps + 1
    got: list[tuple[bytes, bytes]] = []
    for _ in range(3000):
        for record in client.receive(0.05).records:
            assert record.event.number == len(got) + 1
            got.append((record.data, record.mac))
            client.acknowledge()
        if len(got) == len(unit.recorded) and not unit.shoe.journal.unwritten():
            break
    return got


def _check_chain(events: list[tuple[bytes, bytes]]) -> None:
    chain = NaiveChain(FIRST_KEY)
    before = chain.name
    for number, (record, mac) in enumerate(events, 1):
        before = chain.mac(number, before, record)
        assert mac == before, f"event {number}"


class _World:
    """The states of a unit, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Memory] = {}
        self._dealt: dict[str, list[tuple[str, tuple[object, ...]]]] = {}
        self._cases = 0

    def unit(self, state: State) -> Unit:
        self._cases += 1
        folder = self._folder / str(self._cases)
        folder.mkdir()
        if state.name not in self._made:
            (folder / "made").mkdir()
            self._made[state.name] = made(state, folder / "made")
        (folder / "unit").mkdir()
        return Unit(folder / "unit", self._made[state.name], state.on_trial)

    def dealt(self, state: State) -> list[tuple[str, tuple[object, ...]]]:
        """What is dealt in that state without a host."""
        if state.name not in self._dealt:
            unit = self.unit(state)
            unit.play_all(state.live)
            begun = len(unit.recorded)
            unit.play_all(state.after)
            self._dealt[state.name] = _of_dealing(unit, begun)
        return self._dealt[state.name]


def _of_dealing(unit: Unit, begun: int) -> list[tuple[str, tuple[object, ...]]]:
    """The events of cards and people until the board restarted, if it did."""
    after = unit.since(begun + 1)
    until = [kind for kind, _ in after].index("boot") if unit.resets else len(after)
    return [event for event in after[:until] if event[0] not in _NOT_OF_DEALING]


def _lie(unit: Unit, host: LyingHost, state: State, rng: random.Random) -> tuple[int, bytes]:
    """Let the host lie while the state's script is played. Return how many bytes more the shoe
    kept for it, and what the shoe sent."""
    kept = _for_hosts(unit)
    most, said = 0, b""
    unit.board.to_host = b""
    unit.board.play(state.after)
    for _ in range(_SAYS):
        unit.board.send(host.says())
        unit.run(rng.choice((1, 5, 20, 100, 400)))
        host.hear(unit.board.to_host)
        said += unit.board.to_host
        unit.board.to_host = b""
        most = max(most, _for_hosts(unit) - kept)
    unit.play_all([])
    unit.hear_all()
    return most, said


def _honest_session(unit: Unit, state: State) -> list[bytes]:
    """What an honest host has sent in a session before: it can be sent again."""
    port = _Port(unit)
    client = port.client()
    client.ask(UpdateStatusCommand())
    if state.unit:
        client.believe()
    if unit.shoe is not None:
        client.ask(IdentifyCommand())
    if state.begun:
        client.ask(UpdateCommand(_HEAD_BYTES))
        client.ask(UpdatePartCommand(0, bytes(400)))
    unit.run(_SILENCE_MS)
    return port.heard


def _check_said(said: bytes, state: State, has_key: bool) -> None:
    """Only whole messages that are right leave the shoe, and to a stranger only open ones."""
    shapes = {shape.number: shape for shape in messages.TO_HOST}
    for frame in said.split(b"\0")[:-1]:
        number, *values = cbor2.loads(payload_of(frame))
        shapes[number].check(values)
        assert has_key or not state.unit or shapes[number] in _TO_STRANGERS, shapes[number].name


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("has_key", [False, True], ids=["a stranger", "a host with the key"])
def test_a_host_that_lies_does_no_harm(batch: int, has_key: bool, tmp_path: Path) -> None:
    world = _World(tmp_path)
    with firmware_in_place():
        for seed, rng in cases(batch, sample=2 * len(STATES)):
            _case(world, STATES[seed % len(STATES)], rng, has_key)


def _case(world: _World, state: State, rng: random.Random, has_key: bool) -> None:
    unit = world.unit(state)
    unit.play_all(state.live)
    heard = _honest_session(unit, state)
    begun, acked = len(unit.recorded), unit.link._outbox.acked
    files = unit.memory().files
    key = COMMAND_KEY if has_key else b""
    host = LyingHost(rng, key, heard, _DOCUMENTS, _SPARED if has_key else ())
    most, said = _lie(unit, host, state, rng)
    assert most < _MOST_GROWTH, most
    _check_said(said, state, has_key)
    if unit.shoe is not None and not (has_key and state.full):
        dealt, alone = _of_dealing(unit, begun), world.dealt(state)
        # A host with the key may begin an update between two rounds; the updater reads no cards.
        assert dealt == (alone[: len(dealt)] if unit.resets else alone)
    if not has_key and state.unit:
        assert not unit.resets and unit.link._outbox.acked == acked
        assert unit.memory().files == files
        by_hosts = {kind for kind, _ in unit.since(begun + 1)} & set(_BY_HOSTS)
        assert by_hosts <= {"wrong_macs"}
    unit.run(_CLOSED_MS)
    if unit.shoe is None:
        report = _Port(unit).client().ask(UpdateStatusCommand())
        assert report.stage in ("idle", "head", "refused")
        if state.begun and not has_key:
            assert (report.stage, report.offset) == ("head", 400)
        return
    got = _take_all(unit)
    assert got == unit.recorded
    _check_chain(got)
