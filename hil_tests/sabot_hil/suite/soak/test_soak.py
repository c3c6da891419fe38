"""Shoe after shoe of cards with card faults, power cuts and bad cables: nothing is lost, and
nothing drifts."""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from sabot.link.messages import StatusCommand
from sabot.log.rounds import rounds_of
from sabot.log.store import Filter, Store, open_store
from sabot.sim import pulls, waveform
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import faulty_pass
from sabot_firmware.journal.ring import HEADER_SIZE, MOST_ENTRY
from sabot_hil.capabilities import Bench, Measure, Target, Unable, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.cable import Cable
from sabot_hil.kit.flash_image import SECTOR
from sabot_hil.kit.logbook import Logbook, findings, received
from sabot_protocol import cards, enums

_SHORT = 370  # cards after the cut card: about seven rounds
_FAULTS = [fault for fault in enums.FAULTS if fault not in ("none", "power_lost")]
_FAULTY = 0.03  # share of all cards
_CUT_WITHIN = 0.01  # share of all cards except burned ones
_CUTS = 0.01  # share of a dealer's steps
_WITHIN_MM = (12.0, 40.0, 52.0)  # a card at these places can neither come out nor go back
_PULLS = 0.02  # share of a dealer's steps
_PLUGS = 0.2  # share of the steps with the cable out
_SPOILT = (0.0, 0.002, 0.02)  # share of a cable's bytes
_CABLE, _CUT_OFF, _LEFT_ALONE = (
    "cable",
    "cut off",
    "left alone",
)  # what a shoe of cards goes through
_QUIET = bytes(2000)  # 0.2 s with nothing at the head

_LET_GO_ROUNDS = 20  # by then the shoe has released all events that a host has taken
_SHOWN_EVERY_S = 60.0
_ROOM_OF_A_SECTOR = (SECTOR - HEADER_SIZE) // MOST_ENTRY  # as the shoe computes `journal_room`
_ENOUGH_EVENTS = 500  # for a meaningful share
_ENOUGH_SHOES = 4


@dataclass
class _Soak:
    """What was injected and what happened."""

    target: Target
    chance: random.Random
    injected: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(
        default_factory=lambda: Counter({"shoes of cards": 0, "rounds": 0, "events": 0})
    )
    heap: list[int] = field(default_factory=list)
    """Bytes in use after each shoe of cards."""
    card_ms: list[float] = field(default_factory=list)
    """For each shoe of cards, the median time from the start of a card until the shoe has acted."""
    start_ms: list[float] = field(default_factory=list)
    """For each start, the time from power on until the shoe has started."""
    journal: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """For each shoe of cards without a host, samples of the journal's room and last event."""

    def power_cut(self) -> None:
        self.target.power.off()
        began_us = self.target.clock.now_us()
        self.target.power.on()
        self.start_ms.append((self.target.clock.now_us() - began_us) / 1000)
        dealer.check_cards(self.target.bench)

    def cut_maybe(self) -> None:
        if self.chance.random() < _CUTS:
            self.power_cut()
            self.injected["loss of power between two movements"] += 1

    def look_at_journal(self, shoe: int) -> None:
        """Read the journal's room, without taking events, so that it only shrinks."""
        with session_with(self.target.shoe) as client:
            room = client.ask(StatusCommand()).journal_room
            self.journal.setdefault(shoe, []).append((room, client.welcome.last_held))

    def in_words(self) -> dict[str, str]:
        """Return what happened and what was injected, in words."""
        said = {f"Happened: {what}": f"{count:,}" for what, count in self.happened.items()}
        said |= {f"Injected: {what}": f"{count:,}" for what, count in sorted(self.injected.items())}
        for what, unit, values in (
            ("heap in use", "bytes", self.heap),
            ("time for a card", "ms", self.card_ms),
            ("time for a start", "ms", self.start_ms),
        ):
            if values:
                said[f"From first to last: {what}"] = (
                    f"{values[0]:,.0f} to {values[-1]:,.0f} {unit}"
                )
        return said


class _Dealer(dealer.BenchDealer):
    """A dealer some of whose cards cannot be read, or pass during a power cut; the supervisor
    resolves the stops."""

    _bench: Bench

    def __init__(
        self, soak: _Soak, cards: list[str], cut_within: float, between: Callable[[], None]
    ) -> None:
        super().__init__(soak.target.bench, cards, lambda where: between())
        self._soak = soak
        self._cut_within = cut_within
        self._noise = soak.chance.choice(("clean", "nominal"))
        self.card_ms: list[float] = []

    def _pull(self, where: str) -> str:
        self._between_steps(where)
        self._wait_for_lock(where)
        card = next(self._cards)
        chance, injected = self._soak.chance, self._soak.injected
        what = chance.random()
        if what < _FAULTY:
            fault = chance.choice(_FAULTS)
            injected[f"card fault, {fault.replace('_', ' ')}"] += 1
            self._play(faulty_pass(self._random(), NOISE["clean"], fault, 0, self._kind()))
            assert dealer.asks_for_a_card(self._bench.outputs), (fault, self._bench.outputs)
        elif what < _FAULTY + self._cut_within and where.startswith("card"):
            injected["loss of power while a card passes"] += 1
            self._bench.pull_part(card, chance.choice(_WITHIN_MM))
            self._soak.power_cut()
            assert dealer.asks_for_a_card(self._bench.outputs), self._bench.outputs
        elif self._noise == "clean":
            began_us = self._soak.target.clock.now_us()
            self._bench.pull(card)
            self.card_ms.append((self._soak.target.clock.now_us() - began_us) / 1000)
        else:
            injected["worn card, pulled unevenly through a dirty head"] += 1
            number = cards.number_of(card)
            self._play(noisy_pass(self._random(), NOISE[self._noise], number, 0, self._kind()))
        if dealer.asks_for_a_card(self._bench.outputs):
            self._soak.happened["stops that the supervisor resolved"] += 1
            if dealer.resolve_stop(self._bench, card):
                self._bench.pull(card)
        return card

    def _random(self) -> np.random.Generator:
        return np.random.default_rng(self._soak.chance.randrange(2**32))

    def _kind(self) -> str:
        return self._soak.chance.choice(pulls.KINDS)

    def _play(self, levels: waveform.Levels) -> None:
        self._bench.play(waveform.pack(levels) + _QUIET)
        self._bench.settle()


def test_shoe_after_shoe_is_recorded_as_it_was_dealt(
    target: Target,
    tmp_path: Path,
    seed: int,
    minutes: float,
    measure: Measure,
    summary: dict[str, str],
    progress: Callable[[str], None],
) -> None:
    soak = _Soak(target, random.Random(seed))
    began_s = shown_s = time.monotonic()

    def passed_minutes() -> float:
        return (time.monotonic() - began_s) / 60

    def show() -> None:
        nonlocal shown_s
        if time.monotonic() - shown_s >= _SHOWN_EVERY_S:
            shown_s = time.monotonic()
            done = ", ".join(
                f"{soak.happened[what]} {what}" for what in ("shoes of cards", "rounds")
            )
            injected = sum(soak.injected.values())
            progress(f"{passed_minutes():.0f} of {minutes:g} minutes: {done}, {injected} faults")

    def after_step(step: Callable[[], None]) -> Callable[[], None]:
        def happens() -> None:
            step()
            show()

        return happens

    summary["Seed"] = str(seed)
    no_cable = _why_no_cable(target)
    ways = [_CUT_OFF, _LEFT_ALONE] if no_cable else [_CUT_OFF, _LEFT_ALONE, _CABLE]
    if no_cable:
        summary["Cable"] = f"left out: {no_cable}"
    if not target.clock.emulated:
        summary["Times"] = "real ones: shown, but without a limit"
    last = 0
    try:
        while not soak.happened["shoes of cards"] or passed_minutes() < minutes:
            order = dealer.shuffled_shoe(
                soak.chance.randrange(2**32), cut_from_end=16 if minutes else _SHORT
            )
            way = soak.chance.choice(ways)
            with _way(soak, way, tmp_path) as step:
                cut_within = _CUT_WITHIN if way == _CUT_OFF else 0.0
                dealing = _Dealer(soak, order, cut_within, after_step(step))
                dealing.load()
                while not dealing.ended and (not minutes or passed_minutes() < minutes):
                    dealing.deal_round()
                    soak.happened["rounds"] += 1
                    if way == _LEFT_ALONE and len(dealing.hands) % _LET_GO_ROUNDS == 0:
                        soak.look_at_journal(soak.happened["shoes of cards"])
            soak.happened["shoes of cards"] += 1
            with (
                open_store(tmp_path / "log.sqlite", create=True) as store,
                session_with(target.shoe) as client,
            ):
                before = store.last_number(target.shoe.unit) or 0
                client.begin(before + 1)
                store.append(target.shoe.unit, received(client, target.clock, before))
                status = client.ask(StatusCommand())
                last = store.last_number(target.shoe.unit) or 0
                soak.heap.append(status.heap_used)
                soak.happened["events"] = last
                if dealing.card_ms:
                    soak.card_ms.append(median(dealing.card_ms))
                assert status.bad_sectors == 0
                _check(store, target.shoe.unit, soak.happened["shoes of cards"], dealing)
    finally:
        summary.update(soak.in_words())
    with open_store(tmp_path / "log.sqlite") as store:
        assert [number for number, _, _ in store.raw(target.shoe.unit)] == [*range(1, last + 1)]
        left = [found for found in findings(store, tmp_path) if found.kind != "incomplete"]
        assert left == []
    _measure_drift(soak, measure)


def _way(
    soak: _Soak, way: str, folder: Path
) -> contextlib.AbstractContextManager[Callable[[], None]]:
    """Return the faults that may happen at each step of a dealer."""
    if way == _CABLE:
        return _cable(soak, folder)
    return contextlib.nullcontext(soak.cut_maybe if way == _CUT_OFF else lambda: None)


def _why_no_cable(target: Target) -> str:
    """Return why there is no port for a cable; empty if there is one."""
    try:
        return "" if target.shoe.port else "no port"
    except Unable as why:
        return str(why)


@contextlib.contextmanager
def _cable(soak: _Soak, folder: Path) -> Iterator[Callable[[], None]]:
    """Run a log at the far end of a bad cable; yields what may happen to it at each step."""
    spoilt = soak.chance.choice(_SPOILT)
    seed = soak.chance.randrange(2**32)
    with (
        Cable(soak.target.shoe.port, folder, noise=spoilt, seed=seed) as cable,
        Logbook(folder, [cable.port], soak.target.clock) as book,
    ):
        kind = f"cable that spoils {spoilt:.1%} of all bytes" if spoilt else "cable without noise"
        soak.injected[f"{kind}, for a shoe of cards"] += 1
        plugged = True

        def step() -> None:
            nonlocal plugged
            chance = soak.chance.random()
            if plugged and chance < _PULLS:
                cable.pull()
                soak.injected["cable pulled"] += 1
                plugged = False
            elif not plugged and chance < _PLUGS:
                cable.plug()
                plugged = True

        yield step
        if not plugged:
            cable.plug()
        assert not book.logger.failures, book.logger.failures
        soak.happened["sessions with a host over a cable"] += len(book.attachments)


def _check(store: Store, unit: str, shoe: int, dealing: dealer.BenchDealer) -> None:
    rows = store.rows(Filter(unit=unit, shoe=shoe))
    logged = [each for each in rounds_of(unit, (row.event() for row in rows)) if each.winner]
    assert [dealer.logged(each) for each in logged] == [hand.as_logged() for hand in dealing.hands]


def _measure_drift(soak: _Soak, measure: Measure) -> None:
    """Measure the drift. Real times have no limit: a simulator's are those of this machine."""
    measure(
        "heap in use at the end against the first shoe",
        soak.heap[-1] / soak.heap[0],
        "",
        at_most=1.1,
    )
    in_time = 1.05 if soak.target.clock.emulated else None
    for what, values in (("a card", soak.card_ms), ("a start", soak.start_ms)):
        if len(values) >= _ENOUGH_SHOES:
            half = len(values) // 2
            drift = median(values[half:]) / median(values[:half])
            measure(f"time for {what}, second half against the first", drift, "", at_most=in_time)
    taken = [looks[0][0] - looks[-1][0] for looks in soak.journal.values()]
    events = sum(looks[-1][1] - looks[0][1] for looks in soak.journal.values())
    if events >= _ENOUGH_EVENTS:
        sectors = sum(taken) / _ROOM_OF_A_SECTOR
        measure("journal sectors used up for each event", sectors / events, "", at_most=0.03)
