"""What the journal does to its chip over a shoe of cards: operations counted, wear, room."""

import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe
from sabot_firmware.journal import keyring
from sabot_hil.kit import dealer, flash_image
from sabot_hil.targets.sim import SimBench

_SEED = 1
_ROUNDS_A_DAY = 4000
_DAYS_A_YEAR = 365
_ERASES_A_SECTOR = 100_000  # board specification
_PROGRAM_MS = (0.4, 3.0)  # typical and longest, the same
_LONGEST_ERASE_MS = 400
_RING_SECTORS = flash_image.SECTORS - keyring.SECTORS


@dataclass(frozen=True, slots=True)
class Work:
    """What one shoe of cards has cost."""

    events: int
    rounds: int
    programmed_bytes: int
    ring_bytes: int
    """Of them what the records and the shoe's states take, keys left out."""
    ring_erases: int
    key_erases: int
    most_programs: int
    """That anything between two moments of rest took: from an event to its being on flash."""
    erases_on_the_way: int
    """While cards of a round were out."""

    @property
    def erases_per_event(self) -> float:
        """The ring counted as it fills: a blank chip's first lap erases as any other does."""
        sectors = self.ring_bytes / flash_image.SECTOR
        return (sectors + self.key_erases) / self.events

    @property
    def bytes_per_event(self) -> float:
        """Programmed, keys and the zeros over old ones counted."""
        return self.programmed_bytes / self.events

    @property
    def shoes_kept(self) -> float:
        """Shoes of cards that the ring has room for."""
        return _RING_SECTORS * flash_image.SECTOR / self.ring_bytes

    def years(self, sectors: int, erases: float) -> float:
        """How long so many sectors last that share so many erases a shoe of cards."""
        a_day = erases * _ROUNDS_A_DAY / self.rounds / sectors
        return _ERASES_A_SECTOR / a_day / _DAYS_A_YEAR

    @property
    def ring_years(self) -> float:
        """Until the ring's sectors are worn, at 4,000 rounds a day."""
        return self.years(_RING_SECTORS, self.ring_bytes / flash_image.SECTOR)

    @property
    def key_years(self) -> float:
        """The same of the sectors for the keys."""
        slots = self.events / 4
        return self.years(keyring.SECTORS, slots * keyring.SLOT_SIZE / flash_image.SECTOR)

    def durable_ms(self) -> tuple[float, float]:
        """From the last event of an input to all its events on flash: chip time, typical and
        longest."""
        typical_ms, longest_ms = _PROGRAM_MS
        return self.most_programs * typical_ms, self.most_programs * longest_ms


def deal_and_count() -> Work:
    """Deal a shoe of cards on the simulated board and count what is done to its chip."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        state = Path(folder) / "state"
        with SimulatedShoe("BENCH", state=state, trace=trace) as shoe:
            shoe.power_on()
            marks: list[tuple[str, int]] = []
            hands = dealer.BenchDealer(
                SimBench(shoe),
                dealer.shuffled_shoe(_SEED),
                lambda where: marks.append((where, trace.stat().st_size)),
            )
            hands.deal_shoe()
            marks.append(("end", trace.stat().st_size))
            with Port(shoe.port) as port:
                events = Client(port).welcome.last_held
            return _work_of(trace.read_bytes(), marks, events, len(hands.hands))


def _work_of(trace: bytes, marks: "list[tuple[str, int]]", events: int, rounds: int) -> Work:
    operations = flash_image.read_trace(trace)
    keys_end = keyring.SECTORS * flash_image.SECTOR
    most = on_the_way = 0
    for (where, begin), (then, end) in itertools.pairwise(marks):
        step = flash_image.read_trace(trace[begin:end])
        most = max(most, sum(operation.kind == "program" for operation in step))
        if where.startswith("card") and then.startswith("card"):  # another one is due
            on_the_way += sum(operation.kind == "erase" for operation in step)
    programs = [operation for operation in operations if operation.kind == "program"]
    erases = [operation for operation in operations if operation.kind == "erase"]
    return Work(
        events=events,
        rounds=rounds,
        programmed_bytes=sum(len(each.data) for each in programs),
        ring_bytes=sum(len(each.data) for each in programs if each.address >= keys_end),
        ring_erases=sum(each.address >= keys_end for each in erases),
        key_erases=sum(each.address < keys_end for each in erases),
        most_programs=most,
        erases_on_the_way=on_the_way,
    )
