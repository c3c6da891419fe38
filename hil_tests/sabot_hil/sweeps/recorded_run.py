"""A recorded shoe of cards with every kind of incident, dealt on a simulated shoe with a flash
trace.

It holds what the shoe showed after each action of the dealer, what it recorded, and every operation
on its journal chip. power_cut.py compares each power cut with it.
"""

import json
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import cbor2

from sabot.keys import chain_keys as unit_keys
from sabot.link.client import Client
from sabot.link.messages import SetClockCommand
from sabot.link.ports import Port
from sabot.sim.channel import Outputs
from sabot.sim.process import SimulatedShoe
from sabot.sim.waveform import blank_samples, pass_samples
from sabot_hil.kit.dealer import BenchDealer, shuffled_shoe
from sabot_hil.kit.flash_image import ChipImage, FlashOperation, read_trace
from sabot_hil.kit.used_unit import write_key_files
from sabot_hil.kit.waiting import wait_until_still
from sabot_protocol import cards

UNIT = "POWERCUT"
_UNREADABLE_EVERY = 83
_SHORT_UNREADABLE_EVERY = 29
_SHORT_CUT_FROM_END = 350
_TRACE = "trace"
_BASE = "base.nor"
_TRACE_HEAD = 7  # bytes of an operation in the trace before its data
_REST = "run.json"
_POLL_S = 0.002
_STILL_S, _CATCH_UP_S = 0.3, 10.0
_CLOCK_MS = 1_764_000_000_000

GOES_ON = "watchdog"
"""The cause of a start after which a shoe goes on by itself, in the state that it had. After a loss
of power it is in the same state, and asks for the supervisor first (cut_checker.py)."""

Action = tuple[str, ...]
"""("power",): off and on; ("pull", card), ("blank",), ("press", button), ("switch", name, "0")."""


@dataclass(frozen=True, slots=True)
class RunStep:
    """An action, and the state once the shoe had nothing more to do."""

    action: Action
    operations: int
    """The number of operations on the chip since the beginning."""
    outputs: Outputs
    switches: int
    """Bit n is the n-th of `enums.SWITCHES`."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An event that the host received, and the number of operations until then."""

    record: bytes
    mac: bytes
    operations: int


@dataclass(frozen=True)
class RecordedRun:
    """A whole recorded run. `events` are those that the host received, from number `first` on.

    `base` is the content of the chip before the run, with the events before `first`.
    """

    seed: int
    first_key: bytes
    trace: bytes
    steps: list[RunStep]
    events: list[Taken]
    first: int = 1
    base: bytes = b""

    @cached_property
    def operations(self) -> list[FlashOperation]:
        """The operations on the chip."""
        return read_trace(self.trace)

    def save(self, folder: Path) -> None:
        """Save the run in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _TRACE).write_bytes(self.trace)
        (folder / _BASE).write_bytes(self.base)
        document = {
            "seed": self.seed,
            "first": self.first,
            "first_key": self.first_key.hex(),
            "steps": [
                {**asdict(step), "outputs": _as_json(step.outputs), "action": list(step.action)}
                for step in self.steps
            ],
            "events": [
                [taken.record.hex(), taken.mac.hex(), taken.operations] for taken in self.events
            ],
        }
        (folder / _REST).write_text(json.dumps(document) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "RecordedRun":
        """Load a run that `save` wrote."""
        document = json.loads((folder / _REST).read_text())
        steps = [
            RunStep(
                tuple(step["action"]),
                step["operations"],
                _outputs_of(step["outputs"]),
                step["switches"],
            )
            for step in document["steps"]
        ]
        events = [
            Taken(bytes.fromhex(record), bytes.fromhex(mac), operations)
            for record, mac, operations in document["events"]
        ]
        trace = (folder / _TRACE).read_bytes()
        base = (folder / _BASE).read_bytes()
        first_key = bytes.fromhex(document["first_key"])
        return cls(document["seed"], first_key, trace, steps, events, document["first"], base)


def _as_json(outputs: Outputs) -> dict[str, object]:
    return {**asdict(outputs), "lamps": sorted(outputs.lamps)}


def _outputs_of(fields: Mapping[str, Any]) -> Outputs:
    return Outputs(
        bool(fields["lock_released"]),
        frozenset(fields["lamps"]),
        tuple(fields["display"]),
        int(fields["beeps"]),
    )


def play(shoe: SimulatedShoe, action: Action) -> Outputs:
    """Do an action on a simulated shoe; return what it shows once it has nothing more to do."""
    what, *which = action
    if what == "power":
        shoe.power_off()
        shoe.power_on(GOES_ON)
    elif what == "pull":
        shoe.bench.play(pass_samples(cards.number_of(which[0]), 0))
    elif what == "blank":
        shoe.bench.play(blank_samples())
    elif what == "press":
        shoe.bench.press(which[0])
    else:
        shoe.bench.switch(which[0], which[1] == "1")
    return shoe.bench.settle()


class RecordingHost:
    """Takes events from a shoe and acknowledges them at once, in another thread."""

    def __init__(self, port: str, operations: Callable[[], int], first: int) -> None:
        self.taken: list[Taken] = []
        self._first = first
        self._port = port
        self._operations = operations
        self._turn = threading.Lock()
        self._client: Client | None = None
        self._open: Port | None = None
        self._over = False
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def attach(self) -> None:
        """Attach, and continue after the last event that was taken."""
        with self._turn:
            self._open = Port(self._port)
            self._client = Client(self._open)
            self._client.begin(self._first + len(self.taken))
            self._client.ask(SetClockCommand(_CLOCK_MS))

    def detach(self) -> None:
        """Close the session."""
        with self._turn:
            if self._open is not None:
                self._open.close()
            self._client = self._open = None

    def catch_up(self) -> None:
        """Wait until no event has come for a while."""
        wait_until_still(lambda: len(self.taken), _STILL_S, _CATCH_UP_S)

    def close(self) -> None:
        """Detach for good."""
        self._over = True
        self._thread.join()
        self.detach()

    def _listen(self) -> None:
        while not self._over:
            with self._turn:
                if self._client is not None:
                    self._take(self._client)
            time.sleep(_POLL_S)

    def _take(self, client: Client) -> None:
        records = client.receive(_POLL_S).records
        if records:
            operations = self._operations()
            self.taken += [Taken(record.data, record.mac, operations) for record in records]
            client.acknowledge()


class _ListeningBench:
    """The bench of a shoe under test; it records each action as a step."""

    def __init__(
        self, shoe: SimulatedShoe, host: RecordingHost, operations: Callable[[], int]
    ) -> None:
        self.steps: list[RunStep] = []
        self._shoe = shoe
        self._host = host
        self._operations = operations

    @property
    def outputs(self) -> Outputs:
        return self._shoe.bench.outputs

    def power(self) -> None:
        self._host.detach()
        self.do("power")
        self._host.attach()

    def pull(self, card: str) -> Outputs:
        return self.do("pull", card)

    def pull_unreadable(self) -> Outputs:
        return self.do("blank")

    def press(self, button: str) -> Outputs:
        return self.do("press", button)

    def switch(self, switch: str, on: bool) -> Outputs:
        return self.do("switch", switch, str(int(on)))

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        return self._shoe.bench.wait_for(wanted, what)

    def do(self, *action: str) -> Outputs:
        outputs = play(self._shoe, action)
        switches = self._shoe.bench.switch_bits()
        self.steps.append(RunStep(action, self._operations(), outputs, switches))
        return outputs


class _EventfulDealer(BenchDealer):
    """A dealer during whose rounds many incidents happen."""

    def __init__(self, bench: _ListeningBench, deck: list[str], unreadable_every: int) -> None:
        super().__init__(bench, deck, self._happens, unreadable_every=unreadable_every)
        self._on = bench

    def deal_shoe(self) -> None:
        self.load()
        while not self.ended:
            self.deal_round()
            if len(self.hands) == 4:
                self._void_a_round()
        self._end_the_next_shoe()

    def _happens(self, where: str) -> None:
        happening = {
            (2, "card 3"): self._open_the_lid,
            (3, "result"): self._call_a_misdeal,
            (5, "result"): self._burn_and_force_the_lock,
            (6, "card 2"): self._on.power,
            (7, "result"): self._on.power,
            (8, "card 4"): self._look_inside,
        }.get((len(self.hands), where))
        if happening is not None:
            happening()

    def _open_the_lid(self) -> None:
        self._on.switch("lid_open", True)
        self._on.press("next")
        self._on.switch("lid_open", False)
        self._on.press("void")
        self._turn_key()

    def _void_a_round(self) -> None:
        self._on.press("next")
        for _ in range(3):
            self._on.pull(next(self._cards))
        self._on.switch("key_on", True)
        self._on.press("void")
        self._on.switch("key_on", False)
        self._on.press("next")

    def _call_a_misdeal(self) -> None:
        """Void the round that has its result: the shoe asks first, also after a loss of power."""
        self._on.switch("key_on", True)
        self._on.press("void")
        self._on.switch("key_on", False)  # withdraws the question
        self._on.switch("key_on", True)
        self._on.press("void")
        self._on.power()
        self._on.press("void")
        self._on.switch("key_on", False)

    def _end_the_next_shoe(self) -> None:
        """Load other cards, and take them out again before they are burned."""
        self._on.switch("lid_open", True)
        self._on.switch("lid_open", False)
        self._on.pull("KS")
        self._on.switch("key_on", True)
        self._on.press("void")
        self._on.press("burn")
        self._on.switch("key_on", False)

    def _burn_and_force_the_lock(self) -> None:
        self._on.press("burn")
        self._on.pull(next(self._cards))
        self._on.pull(next(self._cards))
        self._turn_key()

    def _look_inside(self) -> None:
        """Use the service switch, and pull a card that does not belong to the shoe."""
        self._on.switch("service_on", True)
        self._on.switch("service_on", False)
        self._on.pull("TEST")
        self._turn_key()

    def _turn_key(self) -> None:
        self._on.switch("key_on", True)
        self._on.switch("key_on", False)


def record_run(
    seed: int,
    *,
    short: bool = False,
    aged: tuple[bytes, ChipImage, int] | None = None,
) -> RecordedRun:
    """Deal a shoe of cards with all incidents, and return the recording.

    The flash takes as long as a real one. In a `short` shoe the cut card comes early. `aged` is a
    first key, a chip that was used with it, and the number of the next event; without it the unit
    is new.
    """
    with tempfile.TemporaryDirectory(prefix="sabot-run-") as name:
        folder = Path(name)
        trace, state = folder / _TRACE, folder / "state"
        trace.touch()
        first = 1
        if aged is not None:
            first_key, image, first = aged
            state.mkdir()
            image.save(state / "journal.nor")
            write_key_files(state, UNIT, first_key)

        def written() -> int:
            return trace.stat().st_size

        with SimulatedShoe(UNIT, state=state, trace=trace) as shoe:
            base = (state / "journal.nor").read_bytes()
            host = RecordingHost(shoe.port, written, first)
            try:
                bench = _ListeningBench(shoe, host, written)
                bench.do("power")
                host.attach()
                deck = shuffled_shoe(seed, *([_SHORT_CUT_FROM_END] if short else []))
                every = _SHORT_UNREADABLE_EVERY if short else _UNREADABLE_EVERY
                _EventfulDealer(bench, deck, every).deal_shoe()
                bench.press("next")
                host.catch_up()
            finally:
                host.close()
            if aged is None:
                chain = cbor2.loads((state / "chain.cbor").read_bytes()[:-4])
                known = unit_keys.Keys.load(shoe.keys).first_key(UNIT, chain)
                assert known is not None, "the shoe's chain is not that of its first key"
                first_key = known
        ends = _ends(trace.read_bytes())
        steps = [
            replace(step, operations=bisect_right(ends, step.operations)) for step in bench.steps
        ]
        events = [
            replace(taken, operations=bisect_right(ends, taken.operations)) for taken in host.taken
        ]
        return RecordedRun(seed, first_key, trace.read_bytes(), steps, events, first, base)


def _ends(trace: bytes) -> list[int]:
    """Return the end of each operation in the trace."""
    sizes = [_TRACE_HEAD + len(operation.data) for operation in read_trace(trace)]
    return list(accumulate(sizes))
