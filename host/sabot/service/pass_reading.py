"""What the samples of one pass say: its marks as symbols, where the card was, and what is wrong.

For people who look for a cause. It names the code that a faulty one is nearest to; a shoe never
corrects a code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from sabot.service.pass_marks import Mark, Marks, cleaned, intervals, marks_in, span, went_back
from sabot.sim.waveform import (
    CARD_MM,
    EXIT_MM,
    FIRST_MARK_MM,
    MARK_MM,
    PITCH_MM,
    SAMPLE_RATE_HZ,
    UV_MM,
    A,
    B,
    E,
    Levels,
    X,
)
from sabot_protocol import cards

UNKNOWN = "?"

_CHECK_DIGITS = slice(1 + cards.DIGIT_COUNT, cards.MARK_COUNT - 1)

_ON_SHARE, _OFF_SHARE = 0.4, 0.2
"""Of a mark, how much of it a track is on at least, or off at most, to be called on or off."""
_SYMBOLS = {(True, False): "0", (False, True): "1", (True, True): "2"}

_MOST_UNKNOWN = 3
"""The nearest code is named if one mark differs from it, or if at most this many are unknown. With
two that differ, four in ten wrong codes would be near to some card by chance."""

_NO_CARD_SAMPLES = SAMPLE_RATE_HZ // 500
_STANDSTILL_S = 3.0
_FEWEST_MARKS = 3  # on one track, before the other is called dead


@dataclass(frozen=True, slots=True)
class Track:
    """Where the card was: places in mm from its leading edge to the UV sensors, at some samples."""

    samples: list[int]
    places_mm: list[float]

    def mm(self, samples: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The places at these samples; NaN where they are not known."""
        if len(self.samples) < 2:
            return np.full(np.shape(samples), np.nan)
        return np.interp(
            np.asarray(samples, np.float64), self.samples, self.places_mm, left=np.nan, right=np.nan
        )

    def samples_at(self, places_mm: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The samples at which these places are under the UV sensors; NaN where not known."""
        if len(self.samples) < 2:
            return np.full(np.shape(places_mm), np.nan)
        return np.interp(
            np.asarray(places_mm, np.float64),
            self.places_mm,
            self.samples,
            left=np.nan,
            right=np.nan,
        )


@dataclass(frozen=True, slots=True)
class Check:
    """What the check of 14 symbols says, such as "valid: 7H of set 3"."""

    good: bool
    text: str
    wrong: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """One pass, for people. `symbols` has "0", "1", "2" or "?" for each mark that was found."""

    clean: Levels
    marks: Marks
    symbols: list[str]
    track: Track
    findings: list[str]
    good: bool
    """Whether the marks are a code and nothing is wrong with the pass."""
    wrong: frozenset[int]
    """The places of marks that differ from the nearest code."""


def reading_of(levels: Levels) -> Reading:
    """Read the samples of one pass; any samples will do."""
    clean = cleaned(levels)
    marks = marks_in(clean)
    track = _track(clean, marks)
    symbols = [_symbol(clean, mark, track) for mark in marks.found]
    check = Check(False, "")
    if marks.clear:
        in_place = [UNKNOWN] * cards.MARK_COUNT
        for mark, symbol in zip(marks.found, symbols, strict=True):
            if mark.place is not None:
                in_place[mark.place] = symbol
        check = check_of(in_place)
        if check.good and not marks.whole:  # there are added marks
            check = Check(False, check.text.replace("valid: ", "the other marks are those of "))
    of_sensors = _of_sensors(clean)
    findings = [*of_sensors, _of_marks(marks), *([check.text] if check.text else [])]
    good = check.good and not of_sensors
    return Reading(clean, marks, symbols, track, findings, good, check.wrong)


def printed_mm(place: int) -> tuple[float, float]:
    """Where the mark at this place begins and ends on a card, in mm from its leading edge."""
    begin_mm = FIRST_MARK_MM + PITCH_MM * place
    return begin_mm, begin_mm + MARK_MM


def check_of(symbols: Sequence[str]) -> Check:
    """Check 14 symbols, of which some may be unknown."""
    symbols = list(symbols)
    if UNKNOWN not in symbols:
        message = cards.decode_marks([int(symbol) for symbol in symbols])
        if message >= 0:
            return Check(True, f"valid: {_name(message)}")
        if message == cards.REVERSED:
            ends = frozenset((0, cards.MARK_COUNT - 1))
            return Check(False, "start is 0 and stop is 2: the card came stop first", ends)
    said = []
    if symbols[0] not in ("2", UNKNOWN):
        said.append(f"start is {symbols[0]}, must be 2")
    if symbols[-1] not in ("0", UNKNOWN):
        said.append(f"stop is {symbols[-1]}, must be 0")
    if UNKNOWN not in symbols:
        message = int("".join(symbols[1 : 1 + cards.DIGIT_COUNT]), 3)
        if symbols[_CHECK_DIGITS] != _code(message)[_CHECK_DIGITS]:
            said.append("check digits differ")
        elif message >= cards.CARD_COUNT * cards.SET_COUNT:
            said.append(f"message {message} is not used: no card has it")
    nearest = _nearest(symbols)
    if nearest is None:
        return Check(False, "; ".join(said or ["not every mark can be read"]))
    for i, (symbol, right) in enumerate(zip(symbols, _code(nearest), strict=True)):
        if symbol not in (right, UNKNOWN):
            said.append(f"mark {i} is {symbol}, but {right} on {_name(nearest)}")
            return Check(False, "; ".join(said), frozenset((i,)))
    return Check(False, f"the other marks are those of {_name(nearest)}")


def _nearest(symbols: Sequence[str]) -> int | None:
    """The message of the only code that these symbols may be, with one wrong or some unknown."""
    unknown = symbols.count(UNKNOWN)
    if unknown > _MOST_UNKNOWN:
        return None
    for message in range(cards.CARD_COUNT * cards.SET_COUNT):
        differ = sum(a != b for a, b in zip(symbols, _code(message), strict=True))
        if differ <= (unknown or 1):
            return message
    return None


def _code(message: int) -> list[str]:
    card_set, card = divmod(message, cards.CARD_COUNT)
    return [str(symbol) for symbol in cards.marks_of(card, card_set)]


def _name(message: int) -> str:
    card_set, card = divmod(message, cards.CARD_COUNT)
    return f"{cards.name_of(card)} of set {card_set}"


def _symbol(clean: Levels, mark: Mark, track: Track) -> str:
    """The symbol of a mark, by how much of it each track is on. A stop of the card in the mark
    counts at most as much as the rest of the mark. What is much wider than a mark has none."""
    begin_mm, end_mm = track.mm([mark.begin, mark.end])
    if not end_mm - begin_mm <= PITCH_MM:
        return UNKNOWN
    tracks = clean[mark.begin : mark.end] & (A | B)
    runs = [(int(level), sum(1 for _ in run)) for level, run in groupby(tracks)]
    whole = sum(length for _, length in runs)
    longest = max(length for _, length in runs)
    if len(runs) > 1:
        cap = whole - longest
        runs = [(level, min(length, cap)) for level, length in runs]
        whole = sum(length for _, length in runs)
    on = []
    for channel in (A, B):
        share = sum(length for level, length in runs if level & channel) / whole
        if _OFF_SHARE < share < _ON_SHARE:
            return UNKNOWN
        on.append(share >= _ON_SHARE)
    return _SYMBOLS.get((on[0], on[1]), UNKNOWN)


def _of_marks(marks: Marks) -> str:
    count = len(marks.found)
    if not count:
        return "no marks"
    if not marks.clear:
        pieces = f"{count} piece{'s' if count > 1 else ''}"
        return f"{pieces} on the tracks, which are not {cards.MARK_COUNT} marks"
    if marks.whole:
        return f"{cards.MARK_COUNT} marks"
    parts = [f"{count} marks instead of {cards.MARK_COUNT}"]
    if marks.missing:
        *others, last = [str(place) for place in marks.missing]
        are = f"marks {', '.join(others)} and {last} are" if others else f"mark {last} is"
        parts.append(f"{are} missing")
    added = [i for i, mark in enumerate(marks.found) if mark.place is None]
    for where, group in groupby(_where(marks.found, i) for i in added):
        extra = len(list(group))
        parts.append(f"{extra} added {where}")
    return ", ".join(parts)


def _where(found: list[Mark], at: int) -> str:
    before = [mark.place for mark in found[:at] if mark.place is not None]
    after = [mark.place for mark in found[at:] if mark.place is not None]
    if not before:
        return f"before mark {after[0]}"
    return f"between marks {before[-1]} and {after[0]}" if after else f"after mark {before[-1]}"


def _of_sensors(clean: Levels) -> list[str]:
    """What is wrong with the pass as a whole, before any mark is looked at."""
    found = []
    exit_, entry = span(clean, X), span(clean, E)
    if entry and not exit_:
        found.append("the exit was never covered: the card went back, or X is dead")
    elif entry and exit_ and entry[1] == exit_[1]:
        found.append("the end of the pass was not kept")
    elif went_back(clean):
        found.append("the exit was free before the entry: the card went back")
    counts = {}
    for channel, name in ((A, "A"), (B, "B")):
        on = intervals((clean & channel) > 0)
        counts[name] = len(on)
        without_card = intervals(((clean & channel) > 0) & ((clean & (E | X)) == 0))
        if any(end - begin >= _NO_CARD_SAMPLES for begin, end in without_card):
            found.append(f"{name} is on without a card: stuck, or stray light")
    for dead, alive in (("A", "B"), ("B", "A")):
        if not counts[dead] and counts[alive] >= _FEWEST_MARKS:
            found.append(f"{dead} was never on: its UV sensor or lamp is dead")
    still_s = _longest_standstill(clean) / SAMPLE_RATE_HZ
    if still_s >= _STANDSTILL_S:
        found.append(f"nothing moved for {still_s:.1f} s")
    return found


def _longest_standstill(clean: Levels) -> int:
    """The longest time without a change while a card was over the head, in samples."""
    changes = [0, *(np.flatnonzero(np.diff(clean)) + 1).tolist(), len(clean)]
    covered = [end - begin for begin, end in pairwise(changes) if end > begin and clean[begin]]
    return max(covered, default=0)


def _track(clean: Levels, marks: Marks) -> Track:
    """Where the card was, from the edges whose places are known."""
    known: dict[int, float] = {}
    if marks.clear:
        for mark in marks.found:
            if mark.place is not None:
                known[mark.begin], known[mark.end] = printed_mm(mark.place)
    entry, exit_ = span(clean, E), span(clean, X)
    edges = []
    if entry and exit_ and entry[0] < exit_[0] < entry[1] <= exit_[1]:
        edges = [(entry[0], 0.0), (exit_[0], EXIT_MM)]
        if entry[1] < exit_[1]:  # otherwise the end of the pass was not kept
            edges += [(entry[1], CARD_MM), (exit_[1], CARD_MM + EXIT_MM)]
    elif entry and known:
        edges = [(entry[0], 0.0), (entry[1], CARD_MM)]
    samples: list[int] = []
    places_mm: list[float] = []
    for at, edge_mm in edges:
        if at not in known:
            known[at] = edge_mm - UV_MM
    for at in sorted(known):
        if not samples or known[at] > places_mm[-1]:
            samples.append(at)
            places_mm.append(known[at])
    return Track(samples, places_mm)
