"""The journal's use of its chip over a shoe of cards: operations, wear, room."""

import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe
from sabot_firmware.journal import keyring
from sabot_hil.kit import dealer, flash_image
from sabot_hil.targets.sim import SimulatedBench

_SEED = 1
_ROUNDS_A_DAY = 4000
_DAYS_A_YEAR = 365
_ERASES_A_SECTOR = 100_000  # board specification
_PROGRAM_MS = (0.4, 3.0)  # typical and longest; board specification
_LONGEST_ERASE_MS = 400
_RING_SECTORS = flash_image.SECTORS - keyring.SECTORS


@dataclass(frozen=True, slots=True)
class ChipUse:
    """The operations on the chip for one shoe of cards."""

    events: int
    rounds: int
    programmed_bytes: int
    ring_bytes: int
    """The bytes among them for records and the shoe's states, without the keys."""
    ring_erases: int
    key_erases: int
    most_programs: int
    """The most programs between two rests: from an event until it is on flash."""
    erases_while_due: int
    """Erases while cards of a round were due."""

    @property
    def erases_per_event(self) -> float:
        """Erases per event. Each sector of the ring that is filled counts as an erase, also on a
        blank chip's first lap."""
        sectors = self.ring_bytes / flash_image.SECTOR
        return (sectors + self.key_erases) / self.events

    @property
    def bytes_per_event(self) -> float:
        """Bytes programmed per event, with the keys and the zeros over old keys."""
        return self.programmed_bytes / self.events

    @property
    def shoes_kept(self) -> float:
        """How many shoes of cards the ring has room for."""
        return _RING_SECTORS * flash_image.SECTOR / self.ring_bytes

    def years(self, sectors: int, erases: float) -> float:
        """The years that `sectors` sectors last if they share `erases` erases per shoe of cards."""
        a_day = erases * _ROUNDS_A_DAY / self.rounds / sectors
        return _ERASES_A_SECTOR / a_day / _DAYS_A_YEAR

    @property
    def ring_years(self) -> float:
        """The years until the ring's sectors are worn, at 4,000 rounds a day."""
        return self.years(_RING_SECTORS, self.ring_bytes / flash_image.SECTOR)

    @property
    def key_years(self) -> float:
        """The years until the sectors for the keys are worn, at 4,000 rounds a day."""
        slots = self.events / 4
        return self.years(keyring.SECTORS, slots * keyring.SLOT_SIZE / flash_image.SECTOR)

    def durable_ms(self) -> tuple[float, float]:
        """The chip's time from the last event of an input until all its events are on flash,
        typical and longest."""
        typical_ms, longest_ms = _PROGRAM_MS
        return self.most_programs * typical_ms, self.most_programs * longest_ms


def deal_and_count() -> ChipUse:
    """Deal a shoe of cards on the simulated board and count the operations on its chip."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        state = Path(folder) / "state"
        with SimulatedShoe("BENCH", state=state, trace=trace) as shoe:
            shoe.power_on()
            marks: list[tuple[str, int]] = []
            hands = dealer.BenchDealer(
                SimulatedBench(shoe),
                dealer.shuffled_shoe(_SEED),
                lambda where: marks.append((where, trace.stat().st_size)),
            )
            hands.deal_shoe()
            marks.append(("end", trace.stat().st_size))
            with Port(shoe.port) as port:
                events = Client(port).welcome.last_held
            return _chip_use(trace.read_bytes(), marks, events, len(hands.hands))


def _chip_use(trace: bytes, marks: "list[tuple[str, int]]", events: int, rounds: int) -> ChipUse:
    operations = flash_image.read_trace(trace)
    keys_end = keyring.SECTORS * flash_image.SECTOR
    most = while_due = 0
    for (where, begin), (then, end) in itertools.pairwise(marks):
        step = flash_image.read_trace(trace[begin:end])
        most = max(most, sum(operation.kind == "program" for operation in step))
        if where.startswith("card") and then.startswith("card"):  # another card is due
            while_due += sum(operation.kind == "erase" for operation in step)
    programs = [operation for operation in operations if operation.kind == "program"]
    erases = [operation for operation in operations if operation.kind == "erase"]
    return ChipUse(
        events=events,
        rounds=rounds,
        programmed_bytes=sum(len(each.data) for each in programs),
        ring_bytes=sum(len(each.data) for each in programs if each.address >= keys_end),
        ring_erases=sum(each.address >= keys_end for each in erases),
        key_erases=sum(each.address < keys_end for each in erases),
        most_programs=most,
        erases_while_due=while_due,
    )
