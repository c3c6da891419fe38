"""A client in any order of calls, with a shoe that forgets what was acknowledged, on a bad line:
frames are lost, repeated, delayed and changed.

What must hold: the program gets every event once, in order and unchanged; the shoe gets no
acknowledgement of an event that the program has not said is stored.
"""

import random

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import protocol.tests.without_clocks  # noqa: F401
from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import KEYS, BadLine, NaiveShoe, naive_event
from sabot.errors import BadAnswer, CommandRefused, NoShoe, ProtocolMismatch, UnitNotProven
from sabot.link import wire
from sabot.link.client import Client
from sabot.link.messages import SetClockCommand
from sabot_protocol import VERSION, messages

_STEP_S = 0.02
_GOOD = 0.0
_LAST_READS = 4000


class _Line:
    """The port of the host: both directions of a line to the naive shoe, and their time."""

    name = "line"

    def __init__(self, shoe: NaiveShoe, rng: random.Random, now_s: float) -> None:
        self.now_s = now_s
        self._shoe = shoe
        self._rng = rng
        self._trouble = _GOOD
        self._to_shoe = BadLine(rng, _GOOD)
        self._to_host = BadLine(rng, _GOOD)

    def disturb(self, trouble: float) -> None:
        """From now on this share of the frames has a trouble."""
        self._to_shoe, self._to_host = BadLine(self._rng, trouble), BadLine(self._rng, trouble)

    def say(self, frame: bytes) -> None:
        """Let the shoe send a frame."""
        self._to_host.send(frame, self.now_s)

    def write(self, data: bytes | bytearray) -> None:
        for frame in bytes(data).split(b"\0")[:-1]:
            self._to_shoe.send(frame + b"\0", self.now_s)

    def read(self, timeout_s: float) -> bytes:
        end_s = self.now_s + timeout_s
        while True:
            self.now_s += _STEP_S
            for frame in self._shoe.step(self._to_shoe.arrived(self.now_s), self.now_s):
                self._to_host.send(frame, self.now_s)
            data = self._to_host.arrived(self.now_s)
            if data or self.now_s >= end_s:
                return data


class ClientMachine(RuleBasedStateMachine):
    """A program that stores events, and the shoe that it has them from."""

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.shoe = NaiveShoe(1, forgets=True)
        self.received: list[bytes] = []
        self.stored = 0
        self.client: Client | None = None
        self.line = _Line(self.shoe, self.rng, 1000.0)

    def _lost(self) -> None:
        """The session is over: the program has what it has stored."""
        self.client = None
        del self.received[self.stored :]

    def _attached(self) -> Client | None:
        if self.client is None:
            self.line = _Line(self.shoe, self.rng, self.line.now_s + 10)
            try:
                line = self.line
                self.client = Client(line, now_s=lambda: line.now_s, keys=KEYS)
                self.client.begin(self.stored + 1)
            except (NoShoe, UnitNotProven, CommandRefused):
                self._lost()
        return self.client

    @rule(trouble=st.sampled_from((_GOOD, 0.05, 0.3)))
    def disturb(self, trouble: float) -> None:
        self.line.disturb(trouble)

    @rule(recorded=st.integers(0, 70), timeout_s=st.sampled_from((0.0, 0.02, 0.3)))
    def receive(self, recorded: int, timeout_s: float) -> None:
        client = self._attached()
        self.shoe.record(recorded)
        if client is None:
            return
        try:
            records = client.receive(timeout_s).records
        except (NoShoe, BadAnswer, ProtocolMismatch) as error:
            if isinstance(error, NoShoe):
                self._lost()
            return
        self.received += [record.data for record in records]

    @rule()
    def store(self) -> None:
        if self.client is None:
            return
        self.stored = len(self.received)
        self.client.acknowledge()

    @rule(recorded=st.integers(0, 70))
    def command(self, recorded: int) -> None:
        client = self._attached()
        self.shoe.record(recorded)
        if client is None:
            return
        try:
            client.ask(SetClockCommand(1))
        except (CommandRefused, BadAnswer, ProtocolMismatch):
            pass
        except NoShoe:
            self._lost()

    @rule()
    def an_answer_to_nothing(self) -> None:
        self.line.say(framed(messages.REPLY, id=10_000))

    @rule()
    def the_shoe_says_it_has_another_version(self) -> None:
        self.line.say(framed(messages.WRONG_VERSION, protocol=VERSION + 1, asked=VERSION))

    @rule()
    def detach(self) -> None:
        self._lost()

    @invariant()
    def nothing_is_acknowledged_before_it_is_stored(self) -> None:
        if hasattr(self, "shoe"):
            assert self.shoe.acknowledged <= self.stored

    @invariant()
    def every_event_came_once_in_order_and_unchanged(self) -> None:
        if hasattr(self, "shoe"):
            numbers = [wire.parse_event(data).number for data in self.received]
            assert numbers == list(range(1, len(numbers) + 1))
            assert self.received[-60:] == [naive_event(n) for n in numbers[-60:]]

    def teardown(self) -> None:
        """On a good line the program gets all."""
        if not hasattr(self, "shoe"):
            return
        self._lost()
        reads = 0
        while self.stored < self.shoe.next_number - 1:
            reads += 1
            assert reads < _LAST_READS, f"{self.stored} of {self.shoe.next_number - 1} events"
            self.receive(0, 0.05)
            self.store()
        self.every_event_came_once_in_order_and_unchanged()


TestClientMachine = ClientMachine.TestCase
TestClientMachine.settings = settings(
    max_examples=12,
    stateful_step_count=25,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
