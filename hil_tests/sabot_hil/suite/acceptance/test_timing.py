"""How soon the shoe acts. Only on targets with the chip's own time; a simulator has none.

An emulated chip is no board, so 15 % of what a shoe may take are kept in hand here. On a real shoe
the bench board's record of the lock's pin has the times, and report/limits.py the limits."""

import random
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest

from sabot.games import families
from sabot.games.baccarat import catalogue
from sabot.link import wire
from sabot.link.client import Client
from sabot.link.events import Event
from sabot.link.messages import HealthCommand, LoadGameCommand, StatusCommand
from sabot.sim.waveform import SAMPLE_RATE_HZ, A, B, E, pass_samples, unpack
from sabot_hil.capabilities import (
    LOCK_DECIDED,
    Bench,
    Clock,
    Measure,
    ShoeLink,
    Target,
    Unable,
    session_with,
)
from sabot_hil.kit.dealer import end_shoe, load_cards
from sabot_hil.kit.logbook import received
from sabot_hil.sweeps.locking import judging
from sabot_protocol import VERSION, cards, enums, messages

_SAMPLE_US = 1_000_000 // SAMPLE_RATE_HZ
_LAST_CARD = "7S"
_QUESTIONS = 60
_SPEEDS_MM_S = (300.0, 1000.0, 3000.0) * 2
_OFFSETS_MS = (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
_SOON, _LATE = ["TC", "QC", "7D", "7H", "8H", "8S"], ["AC", "2C", "3C", "5D", "TD", "JD"]
"""Cards that the reader of a Pico judges soonest and latest, about 2 ms apart."""
_HANDS = 3
_SPEEDS_WITH_HOST_MM_S = (300.0, *(1000.0, 3000.0) * 4)
_DUE_SPEEDS_MM_S = (*(300.0, 300.0, 1000.0) * 2, 3000.0)
_GAPS_MS = (30.0, 330.0)
_AFTER_S = 0.15  # longer than the shoe works on a card


@pytest.fixture(autouse=True)
def _time_is_the_chips(clock: Clock) -> None:
    if not clock.measures_shoe:
        raise Unable("the simulator's times are those of this machine")


def _last_mark_us(samples: bytes) -> int:
    """Return when the last mark has left the head, in us from the first sample."""
    marked = np.flatnonzero((unpack(samples) & (A | B)) > 0)
    return int(marked[-1] + 1) * _SAMPLE_US


class _LastCards:
    """Pulls last cards of rounds, and keeps how soon the shoe acted on each of them. A last card is
    due too: the lock may not shut before its last mark."""

    def __init__(self, bench: Bench, measure: Measure, when: str) -> None:
        self._bench, self._measure = bench, measure
        self._when = when
        self._shut_ms: list[tuple[float, str]] = []
        self._found_shut: list[str] = []

    def pull(
        self, speed_mm_s: float, offset_ms: float, then: Callable[[], None] = lambda: None
    ) -> None:
        """Pull one; `then` is called after its last sample. The lock must shut once and stay shut.
        A failure names the card, its speed, and `offset_ms`: the time by which it was delayed.

        The report gets the time from its last mark to the decision of the shoe. The lock may have
        shut before that, because the card's samples had waited (boards/pico/lock.py).
        """
        card = f"card {len(self._shut_ms) + len(self._found_shut) + 1} at {speed_mm_s:.0f} mm/s"
        at = f"{_LAST_CARD}, {card}, offset {offset_ms:.3f} ms"
        samples = pass_samples(cards.number_of(_LAST_CARD), 0, speed_mm_s=speed_mm_s)
        self._bench.seen()
        released = self._bench.outputs.lock_released
        begun_us = self._bench.play(samples)
        last_us = begun_us + _last_mark_us(samples)
        then()
        self._bench.settle()
        seen = self._bench.seen()
        shut = [change for change in seen if change.what == "lock_released"]
        assert shut, f"the lock did not shut after {at}"
        assert [change.value for change in shut] == [False], f"it opened again after {at}"
        decided = [change for change in seen if change.what == LOCK_DECIDED] or shut
        assert [change.value for change in decided] == [False], at
        moves = [(change.t_us / 1000, bool(change.value)) for change in shut]
        edge_ms = (begun_us + _edge_us(samples)) / 1000
        found = judging.outcome(released, moves, edge_ms, last_us / 1000, last=True)
        if found.found_shut_ms is None:
            self._shut_ms.append((found.settled_ms or 0.0, at))
        else:
            self._found_shut.append(at)
        decided_ms = max(0.0, (decided[0].t_us - last_us) / 1000)
        self._measure(f"last mark to decision{self._when}, {card}", decided_ms, "ms")

    def check(self) -> None:
        """Put into the report how many cards found the lock shut before their last mark, after how
        many it shut late, and the longest time from a last mark to the lock. The test fails if one
        is beyond its limit."""
        found, late = self._found_shut, [ms for ms, _ in self._shut_ms if ms > judging.LIMIT_MS]
        self._measure(
            f"due cards that found the lock shut{self._when}",
            len(found),
            "cards",
            found[0] if found else "",
            at_most=0,
        )
        worst_ms, at = max(self._shut_ms)
        self._measure(f"late shuts{self._when}", len(late), "cards", at if late else "", at_most=0)
        self._measure(
            f"last mark to lock{self._when}", worst_ms, "ms", at, at_most=judging.LIMIT_MS
        )


def _edge_us(samples: bytes) -> int:
    """Return when the card comes to the first sensor, in us from the first sample."""
    return int(np.flatnonzero((unpack(samples) & E) > 0)[0]) * _SAMPLE_US


def _first_three(bench: Bench) -> None:
    """Deal a round except the card that ends it."""
    load_cards(bench, "AC", "2C", "9C", "TD", "KH")


def test_the_lock_shuts_after_the_last_card(
    bench: Bench, clock: Clock, seed: int, measure: Measure
) -> None:
    """At three speeds, and at random moments of the shoe's other work."""
    phase_ms = random.Random(seed)
    last_cards = _LastCards(bench, measure, "")
    _first_three(bench)
    for speed_mm_s in _SPEEDS_MM_S:
        offset_ms = phase_ms.uniform(0, 10)
        clock.pass_ms(offset_ms)
        last_cards.pull(speed_mm_s, offset_ms)
        _next_three(bench)
    last_cards.check()


def _next_three(bench: Bench) -> None:
    """Deal the next round except the card that ends it."""
    bench.press("next")
    for card in ("9D", "TS", "KC"):
        bench.pull(card)


def test_the_lock_shuts_after_a_last_card_that_comes_when_garbage_is_collected(
    bench: Bench, clock: Clock, measure: Measure
) -> None:
    """Its edge comes at the beginning of a collection, or up to 5 ms later, or 1 ms before."""
    last_cards = _LastCards(bench, measure, ", garbage is collected")
    _first_three(bench)
    for offset_ms in _OFFSETS_MS:
        first_us = _collection_us(clock)
        second_us = _collection_us(clock)
        third_us = second_us + (second_us - first_us)
        clock.pass_ms((third_us - clock.now_us()) / 1000 + offset_ms)
        last_cards.pull(3000.0, offset_ms)
        _next_three(bench)
    last_cards.check()


def _collection_us(clock: Clock) -> int:
    """Wait for the next garbage collection; return when it began. It is the only work of an idle
    shoe that keeps the processor busy for 20 ms."""
    begun_us, slept_us = clock.now_us(), clock.slept_us()
    while clock.now_us() - begun_us < 20_000:
        clock.pass_ms(0.5)
        if clock.slept_us() != slept_us:
            begun_us, slept_us = clock.now_us(), clock.slept_us()
    return begun_us


def test_the_lock_shuts_after_a_last_card_that_comes_when_a_host_asks(
    target: Target, measure: Measure
) -> None:
    """Its edge comes when the command arrives, or up to 5 ms later, or 1 ms before."""
    bench, clock = target.bench, target.clock
    last_cards = _LastCards(bench, measure, ", a host asks")
    _first_three(bench)
    for offset_ms in _OFFSETS_MS:
        line = target.shoe.line()
        line.write(wire.frame_of(messages.HELLO, VERSION, 1))
        clock.pass_ms(200)
        line.write(wire.frame_of(messages.STATUS, 1))
        clock.pass_ms(1 + offset_ms)
        last_cards.pull(3000.0, offset_ms, then=target.shoe.detach)
        _next_three(bench)
    last_cards.check()


def test_the_lock_shuts_in_time_whatever_a_host_asks(
    target: Target, seed: int, measure: Measure
) -> None:
    """Questions without a pause, each queued before the last one is answered. They make garbage all
    the time, so some cards come while it is collected.
    """
    when = ", with a host that asks without a pause"
    last_cards = _LastCards(target.bench, measure, when)
    phase_ms = random.Random(seed)
    for speed_mm_s in _SPEEDS_WITH_HOST_MM_S:
        _first_three(target.bench)
        line = target.shoe.line()
        line.write(wire.frame_of(messages.HELLO, VERSION, 1) + wire.frame_of(messages.ACK, 0))
        line.write(b"".join(wire.frame_of(messages.STATUS, 1 + n) for n in range(_QUESTIONS)))
        offset_ms = phase_ms.uniform(0, 40)
        target.clock.pass_ms(offset_ms)
        last_cards.pull(speed_mm_s, offset_ms, then=target.shoe.detach)
        end_shoe(target.bench)
    last_cards.check()


@pytest.mark.parametrize("flooded", [False, True], ids=["quiet", "flooded"])
def test_a_card_that_is_due_never_finds_the_lock_shut(
    target: Target, seed: int, measure: Measure, flooded: bool
) -> None:
    """The second card of the Player comes 30 to 330 ms after the Banker's first one, as a dealer
    pulls it; with a host that asks without a pause too."""
    bench, random_ = target.bench, random.Random(seed)
    found, longest_ms = list[str](), 0.0
    for speed_mm_s in _DUE_SPEEDS_MM_S:
        load_cards(bench, "AC", "2C", "9C")
        if flooded:
            line = target.shoe.line()
            line.write(wire.frame_of(messages.HELLO, VERSION, 1) + wire.frame_of(messages.ACK, 0))
            line.write(b"".join(wire.frame_of(messages.STATUS, 1 + n) for n in range(_QUESTIONS)))
            target.clock.pass_ms(random_.uniform(0, 40))
        gap_ms = random_.uniform(*_GAPS_MS)
        before, card = (
            pass_samples(cards.number_of(name), 0, speed_mm_s=speed_mm_s, rest_s=rest_s)
            for name, rest_s in (("TD", gap_ms / 1000), ("KH", _AFTER_S))
        )
        bench.seen()
        released = bench.outputs.lock_released
        begun_ms = (bench.play(before + card) + len(before) * 2 * _SAMPLE_US) / 1000
        target.shoe.detach()
        bench.settle()
        moves = [
            (change.t_us / 1000, bool(change.value))
            for change in bench.seen()
            if change.what == "lock_released"
        ]
        edge_ms, last_ms = (begun_ms + at(card) / 1000 for at in (_edge_us, _last_mark_us))
        outcome = judging.outcome(released, moves, edge_ms, last_ms, last=False)
        faults = outcome.faults(last=False)
        if faults:
            found.append(f"{speed_mm_s:.0f} mm/s, {gap_ms:.1f} ms after a card: {faults[0]}")
        longest_ms = max(longest_ms, outcome.settled_ms or 0.0)
        end_shoe(bench)
    when = ", with a host that asks without a pause" if flooded else ""
    measure(
        f"due cards that found the lock shut{when}, after another",
        len(found),
        "cards",
        "; ".join(found),
        at_most=0,
    )
    measure(f"last mark of a due card to the lock open for the next{when}", longest_ms, "ms")


def test_a_card_is_on_flash_and_at_the_host_soon(target: Target, measure: Measure) -> None:
    _first_three(target.bench)
    with session_with(target.shoe) as client:
        client.begin(1)
        _take_all(client)
        samples = pass_samples(cards.number_of(_LAST_CARD), 0)
        begun_us = target.bench.play(samples)
        left_us = begun_us + _left_us(samples)
        while not any(each.event.kind == "result" for each in client.receive(0.005).records):
            assert target.clock.now_us() < left_us + 5_000_000
        reported_ms = (target.clock.now_us() - left_us) / 1000
        target.bench.settle()
    measure("card out of the head to its result with the host", reported_ms, "ms", at_most=420.0)
    # Last: the bench board of a real shoe does not see the journal's chip.
    written_ms = (target.power.written_us() - left_us) / 1000
    measure("card out of the head to all of it on flash", written_ms, "ms", at_most=420.0)


def test_a_host_that_comes_later_gets_the_events_soon(target: Target, measure: Measure) -> None:
    """Also one that comes after it: nothing of the first one's waits in the line."""
    for _ in range(3):
        _first_three(target.bench)
        target.bench.pull(_LAST_CARD)
        end_shoe(target.bench)
    with session_with(target.shoe) as client:
        client.begin(1)
        begun_us = target.clock.now_us()
        taken = received(client, target.clock)
        each_ms = (target.clock.now_us() - begun_us) / 1000 / len(taken)
    begun_us = target.clock.now_us()
    with session_with(target.shoe):
        attached_ms = (target.clock.now_us() - begun_us) / 1000
    measure("an event with a host that comes later", each_ms, "ms", at_most=25.0)
    measure("a next host's hello to its answer", attached_ms, "ms", at_most=500.0)


def _take_all(client: Client) -> None:
    """Take and acknowledge what the shoe has: it sends again what a host does not acknowledge."""
    taken = 0
    while taken < client.welcome.last_held:
        records = client.receive(0.5).records
        if records:
            taken = records[-1].event.number
            client.acknowledge()


def _left_us(samples: bytes) -> int:
    """Return when the card has left the head, in us from the first sample."""
    covered = np.flatnonzero(unpack(samples) > 0)
    return int(covered[-1] + 1) * _SAMPLE_US


def test_the_processor_has_time_to_spare(target: Target, measure: Measure) -> None:
    measure("processor's share while idle", _share(target, _idle), "%", at_most=42.5)
    _first_three(target.bench)
    samples = pass_samples(cards.number_of(_LAST_CARD), 0)
    share = _share(target, lambda target: target.bench.play(samples))
    measure("processor's share while a card passes", share, "%", at_most=77.0)


def _idle(target: Target) -> None:
    target.clock.pass_ms(2000)


def _share(target: Target, what: Callable[[Target], object]) -> float:
    """Return the busy share of the processor's time, in percent, while `what` is done."""
    begun_us, slept_us = target.clock.now_us(), target.clock.slept_us()
    what(target)
    slept_us = target.clock.slept_us() - slept_us
    return 100 * (1 - slept_us / (target.clock.now_us() - begun_us))


def test_no_sample_is_lost_while_flash_is_erased(target: Target, measure: Measure) -> None:
    """A game is stored while a card passes: the shoe erases flash for it, and its processor stops
    meanwhile."""
    document = catalogue.document("pa-midi")
    client = target.shoe.attach()
    parts = [*range(0, len(document), messages.MAX_GAME_PART)]
    for offset in parts[:-1]:
        part = document[offset : offset + messages.MAX_GAME_PART]
        client.ask(LoadGameCommand(offset, len(document), part))
    client.send_signed(LoadGameCommand(parts[-1], len(document), document[parts[-1] :]))
    # So slowly that the game is stored within the pass: the host gets its turn 0.3 s later.
    target.bench.play(pass_samples(cards.number_of("4C"), 0, speed_mm_s=100.0))
    # With the flash's cost the game is stored for some time after the pass.
    target.bench.wait_for(lambda shown: "CARD NOT DUE" in shown.display, "CARD NOT DUE")
    with session_with(target.shoe) as client:
        assert client.welcome.game == "pa-midi"
        lost = client.ask(HealthCommand()).overruns
    measure("samples lost while flash is erased", lost, "times", at_most=0)


_SEALING = {
    "md-midi": ("next 9C TD KH", "reveal next"),
    "holdem": ("burn 2C 3C 4C", ""),  # the last card of two seats
    "holdem, closed": ("burn 2C 3C 4C", ""),
    "blackjack": ("TS AC 9S", ""),  # the hole card, with an ace up
}
"""By game: the buttons and cards before a card after which the lock shuts, and those after it."""


@pytest.mark.parametrize("game", _SEALING)
def test_a_shoe_that_seals_cards_is_as_quick_and_has_room(
    target: Target, clock: Clock, seed: int, measure: Measure, game: str
) -> None:
    """Sealing a card costs time after it has left the head, not before the lock."""
    bench = target.bench
    chosen: dict[str, object] = {} if game == "holdem" else {"burn": "none"}
    if game == "holdem, closed":
        chosen = {"hole_cards": "shown"}
    with session_with(target.shoe) as client:
        client.load_game(families.document(game.split(",")[0], chosen))
    target.power.off()
    bench.seen()
    begun_us = clock.now_us()
    target.power.on()
    ready_us = next(seen.t_us for seen in bench.seen() if seen.what == "display")
    measure(f"power to ready, {game}", (ready_us - begun_us) / 1000, "ms", at_most=1700.0)
    free_bytes = _heap_free(target.shoe)
    measure(f"heap free after the start, {game}", free_bytes, "bytes", at_least=20_000)
    before, after = _SEALING[game]
    phase_ms = random.Random(seed)
    last_cards = _LastCards(bench, measure, f", {game}")
    for speed_mm_s in _SPEEDS_MM_S[: 3 if after else 1]:
        if not after or bench.outputs.title != "BETTING OPEN":
            load_cards(bench)
        _do(bench, before)
        offset_ms = phase_ms.uniform(0, 10)
        clock.pass_ms(offset_ms)
        last_cards.pull(speed_mm_s, offset_ms)
        sealed_bytes = _heap_free(target.shoe)
        measure(f"heap free with sealed cards, {game}", sealed_bytes, "bytes", at_least=20_000)
        _do(bench, after)
    last_cards.check()


def test_the_time_of_a_sealed_card_does_not_tell_it(
    target: Target, clock: Clock, seed: int, measure: Measure
) -> None:
    """The reader judges some cards up to 3 ms sooner than others. Who sees the cards come out may
    not find that in the times of their events."""
    bench, rng = target.bench, random.Random(seed)
    with session_with(target.shoe) as client:
        client.load_game(families.document("holdem", {"seats": 6}))
    target.power.off()
    target.power.on()
    late_ms: dict[str, float] = {}
    taken: dict[str, list[float]] = {name: [] for name in _SOON + _LATE}
    with session_with(target.shoe) as client:
        client.begin(1)
        for _ in range(_HANDS):
            load_cards(bench)
            order = rng.sample(_SOON + _LATE, 12)
            sealed: list[int] = []
            for name in order:
                clock.pass_ms(rng.uniform(30, 60))
                samples = pass_samples(cards.number_of(name), 0, speed_mm_s=1000.0)
                late_ms[name] = -(bench.play(samples) + _left_us(samples)) / 1000
                bench.settle()
                sealed += [each.t_ms for each in _rest(client) if each.kind == "sealed_card"]
            bench.press("reveal")
            bench.settle()
            _rest(client)
            # The first card of a hand begins it, which takes longer.
            for name, t_ms in list(zip(order, sealed, strict=True))[1:]:
                taken[name].append(late_ms[name] + t_ms)
    soon, late = (median([ms for name in names for ms in taken[name]]) for names in (_SOON, _LATE))
    measure("a card that is judged late, after one judged soon", late - soon, "ms", at_most=1.5)


def _rest(client: Client) -> list[Event]:
    """Take and acknowledge all events that the shoe still has."""
    found: list[Event] = []
    while records := client.receive(0.1).records:
        found += [each.event for each in records]
        client.acknowledge()
    return found


def _do(bench: Bench, steps: str) -> None:
    """Press the buttons and pull the cards of `steps`."""
    for step in steps.split():
        if step in enums.BUTTONS:
            bench.press(step)
        else:
            bench.pull(step)


def test_the_heap_has_room(shoe: ShoeLink, bench: Bench, measure: Measure) -> None:
    measure("heap free after the start", _heap_free(shoe), "bytes", at_least=20_000)
    _first_three(bench)
    measure("heap free within a round", _heap_free(shoe), "bytes", at_least=20_000)


def _heap_free(shoe: ShoeLink) -> float:
    with session_with(shoe) as client:
        return float(client.ask(StatusCommand()).heap_free)
