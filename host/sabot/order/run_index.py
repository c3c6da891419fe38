"""Where runs of cards came among all shoes of a log: an index that grows on disk.

A run is RUN cards. Its key is made of their ranks, and is the same read backwards, so that one look
finds it in both directions, by rank and by card. Each place of a card is an entry of 8 bytes, the
key and the place; entries lie sorted in segments. New entries are kept in memory until they are
worth a segment, and two segments of a size become one of twice the size: a log of a million shoes
has eight. Beside them are the cards themselves, a byte each, and 36 bytes for each shoe.
"""

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sabot.files import replace_whole
from sabot.order.chances import PACK
from sabot.order.past import PastShoe

RUN = 8
"""By chance a run of so many cards of a shoe is among a million others once in 300 shoes."""
_RANKS = 13
_SEGMENT = 4096  # shoes whose entries are worth a segment
_BLOCK = 1 << 21  # entries that are merged at once
_STATE = "state.json"
_MOST_DECKS, _LARGEST = (1 << 16) - 1, (1 << 63) - 1
"""What a row holds: a forged event may say anything."""
_SHOE = np.dtype(
    [
        ("begin", "<u8"),
        ("shoe", "<u8"),
        ("unit", "<u4"),
        ("cards", "<u2"),
        ("decks", "<u2"),
        ("first_event", "<u8"),
        ("ended_unix_ms", "<i8"),
    ]
)

Entries = NDArray[np.uint64]


class RunIndex:
    """An index in a folder, which is made if it is not there. Thread-safe. One that is damaged is
    begun again: the caller that adds the shoes asks `last` what it has."""

    def __init__(self, folder: Path) -> None:
        """Open it. Raises OSError; BlockingIOError if another program has it open."""
        self._folder = folder
        self.begun = 0
        """How often it was begun again."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._one = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._lock = threading.RLock()
        self._cards = _Bytes(folder / "cards")
        self._shoes = _Bytes(folder / "shoes")
        self._units: list[str] = []
        self._last: dict[str, tuple[int, str]] = {}
        self._segments: list[tuple[int, Entries]] = []  # shoes, entries
        self._in_segments = 0  # shoes
        self._begins = np.zeros(0, dtype=np.uint64)
        self._of_unit = np.zeros(0, dtype=np.uint32)
        self._tail: Entries = np.zeros(0, dtype=np.uint64)
        try:
            self._open()
        except (OSError, ValueError, KeyError, TypeError):
            self.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Keep what was added, and close the files."""
        with self._lock:
            self.keep()
            for each in (self._cards, self._shoes):
                each.close()
            os.close(self._one)

    def __len__(self) -> int:
        """How many shoes it has."""
        return self._shoes.size // _SHOE.itemsize

    def last(self, unit: str) -> tuple[int, str]:
        """The last event of a unit up to which it has all shoes, and the mark with which it was
        added; 0 and none for a unit that it lacks."""
        with self._lock:
            return self._last.get(unit, (0, ""))

    def add(self, shoes: Sequence[PastShoe], unit: str, last: int, mark: str = "") -> None:
        """Add shoes of a unit, which ended up to its event `last`. After an error it has nothing
        any more. Raises OSError."""
        with self._lock:
            before = len(self)
            try:
                for shoe in shoes:
                    self._append(shoe)
                self._last[unit] = last, mark
                if len(self) > before:
                    self._read_rows(before)
                    self._tail = _merged(self._tail, self._entries(before, len(self)))
                    if len(self) - self._in_segments >= _SEGMENT:
                        self._store_tail()
            except OSError:
                self.clear()
                raise

    def keep(self) -> None:
        """Keep on disk what was added since."""
        with self._lock:
            for each in (self._cards, self._shoes):
                each.flush()
            state = {
                "version": 1,
                "cards": self._cards.size,
                "shoes": len(self),
                "segments": [shoes for shoes, _ in self._segments],
                "units": self._units,
                "last": self._last,
            }
            replace_whole(self._folder / _STATE, json.dumps(state).encode(), 0o600)

    def of_unit(self, unit: str, before: int, most: int) -> list[PastShoe]:
        """The last shoes of a unit that began before event `before`, the newest last."""
        with self._lock:
            if unit not in self._units:
                return []
            numbers = np.flatnonzero(self._of_unit == self._units.index(unit))
            shoes: list[PastShoe] = []
            for number in reversed(numbers.tolist()):
                shoe = self.shoe(number)
                if shoe.first_event < before:
                    shoes.append(shoe)
                if len(shoes) == most:
                    break
            return shoes[::-1]

    def shoe(self, number: int) -> PastShoe:
        """A shoe by its number in the index, from 0."""
        with self._lock:
            row = np.frombuffer(
                self._shoes.read(number * _SHOE.itemsize, _SHOE.itemsize), dtype=_SHOE
            )[0]
            cards = self._cards.read(int(row["begin"]), int(row["cards"]))
            ended = int(row["ended_unix_ms"])
            return PastShoe(
                self._units[int(row["unit"])],
                int(row["shoe"]),
                int(row["first_event"]),
                cards,
                int(row["decks"]),
                None if ended < 0 else ended,
            )

    def places(self, run: bytes, *, by_rank: bool = False) -> list[tuple[int, int, int]]:
        """Return where a run of RUN cards is: the number of the shoe, the place of the run's last
        card in it, and 1, or -1 if it is there backwards. `by_rank`: whatever the suits."""
        wanted = run.translate(_RANK_OF) if by_rank else run
        backwards = wanted[::-1]
        key = _key(run)
        bounds = np.array((key << 32, (key + 1) << 32), dtype=np.uint64)
        places = []
        with self._lock:
            found = [at for entries in self._all() for at in _with_key(entries, bounds)]
            for at in found:
                there = self._cards.read(at, RUN)
                if by_rank:
                    there = there.translate(_RANK_OF)
                if there not in (wanted, backwards):
                    continue
                number = int(self._begins.searchsorted(at, side="right")) - 1
                place = at - int(self._begins[number])
                if there == wanted:
                    places.append((number, place + RUN - 1, 1))
                if there == backwards:
                    places.append((number, place, -1))
        return places

    def _all(self) -> Iterator[Entries]:
        yield from (entries for _, entries in self._segments)
        yield self._tail

    def _open(self) -> None:
        state = json.loads((self._folder / _STATE).read_bytes())
        if state["version"] != 1:
            raise ValueError("an index of another version")
        shoes = int(state["shoes"])
        self._cards.cut(int(state["cards"]))
        self._shoes.cut(shoes * _SHOE.itemsize)
        self._units = [str(each) for each in state["units"]]
        self._last = {
            str(unit): (int(last), str(mark)) for unit, (last, mark) in state["last"].items()
        }
        self._read_rows(0)
        for size in map(int, state["segments"]):
            entries = _mapped(self._segment_path(self._in_segments, size))
            self._segments.append((size, entries))
            self._in_segments += size
        self._tail = self._entries(self._in_segments, shoes)

    def clear(self) -> None:
        """Begin again, with nothing."""
        with self._lock:
            self.begun += 1
            for path in (self._folder / _STATE, *self._folder.glob("runs-*")):
                path.unlink(missing_ok=True)
            for each in (self._cards, self._shoes):
                each.cut(0)
            self._units, self._last, self._segments, self._in_segments = [], {}, [], 0
            self._begins = self._tail = np.zeros(0, dtype=np.uint64)
            self._of_unit = np.zeros(0, dtype=np.uint32)

    def _append(self, shoe: PastShoe) -> None:
        if shoe.unit not in self._units:
            self._units.append(shoe.unit)
        ended = -1 if shoe.ended_unix_ms is None else min(shoe.ended_unix_ms, _LARGEST)
        row = np.array(
            (self._cards.size, shoe.shoe, self._units.index(shoe.unit), len(shoe.cards),
             min(shoe.decks, _MOST_DECKS),
             shoe.first_event, ended),
            dtype=_SHOE,
        )  # fmt: skip
        self._shoes.append(row.tobytes())
        self._cards.append(shoe.cards)

    def _read_rows(self, first: int) -> None:
        begin = first * _SHOE.itemsize
        rows = np.frombuffer(self._shoes.read(begin, self._shoes.size - begin), dtype=_SHOE)
        self._begins = np.concatenate((self._begins[:first], rows["begin"]))
        self._of_unit = np.concatenate((self._of_unit[:first], rows["unit"]))

    def _entries(self, first: int, end: int) -> Entries:
        """The entries of these shoes, sorted."""
        if first >= end:
            return np.zeros(0, dtype=np.uint64)
        begins = self._begins[first:end].astype(np.int64)
        start = int(begins[0])
        cards = np.frombuffer(self._cards.read(start, self._cards.size - start), dtype=np.uint8)
        if end < len(self._begins):
            cards = cards[: int(self._begins[end]) - start]
        return _entries_of(cards, begins - start, start)

    def _store_tail(self) -> None:
        size = len(self) - self._in_segments
        path = self._segment_path(self._in_segments, size)
        _write(path, [self._tail])
        self._segments.append((size, _mapped(path)))
        self._in_segments += size
        self._tail = np.zeros(0, dtype=np.uint64)
        old = []
        while len(self._segments) > 1 and self._segments[-2][0] <= self._segments[-1][0]:
            (before, first), (after, second) = self._segments[-2:]
            begin = self._in_segments - before - after
            both = self._segment_path(begin, before + after)
            _write(both, _in_order(first, second))
            old += [self._segment_path(begin, before), self._segment_path(begin + before, after)]
            self._segments[-2:] = [(before + after, _mapped(both))]
        self.keep()
        for path in old:
            path.unlink()

    def _segment_path(self, first: int, shoes: int) -> Path:
        return self._folder / f"runs-{first}-{shoes}"


class _Bytes:
    """A file that grows, and is read at any place."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self.size = os.fstat(self._file).st_size

    def append(self, data: bytes) -> None:
        os.pwrite(self._file, data, self.size)
        self.size += len(data)

    def read(self, begin: int, size: int) -> bytes:
        return os.pread(self._file, size, begin)

    def cut(self, size: int) -> None:
        if self.size < size:
            raise ValueError("the file is shorter than it was")
        os.ftruncate(self._file, size)
        self.size = size

    def flush(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


_RANK_OF = bytes(card % _RANKS if card < PACK else 0 for card in range(256))


def _key(run: bytes) -> int:
    ranks = run.translate(_RANK_OF)
    forwards = backwards = 0
    for rank in ranks:
        forwards = _RANKS * forwards + rank
    for rank in reversed(ranks):
        backwards = _RANKS * backwards + rank
    return min(forwards, backwards)


def _entries_of(cards: NDArray[np.uint8], begins: NDArray[np.int64], start: int) -> Entries:
    """The entries of shoes that lie one after the other and begin at these places; the first card
    is number `start` of all."""
    places = max(0, len(cards) - RUN + 1)
    ranks = (cards % _RANKS).astype(np.uint64)
    forwards = np.zeros(places, dtype=np.uint64)
    backwards = np.zeros(places, dtype=np.uint64)
    for at in range(RUN):
        forwards = forwards * np.uint64(_RANKS) + ranks[at : at + places]
        last = RUN - 1 - at
        backwards = backwards * np.uint64(_RANKS) + ranks[last : last + places]
    within = np.ones(places, dtype=bool)
    for before in range(1, RUN):  # a run that begins here goes on into the next shoe
        ends = begins[1:] - before
        within[ends[(ends >= 0) & (ends < places)]] = False
    whole = np.flatnonzero(within)
    keys = np.minimum(forwards, backwards)[whole]
    entries: Entries = (keys << np.uint64(32)) | (whole + start).astype(np.uint64)
    entries.sort()
    return entries


def _with_key(entries: Entries, bounds: Entries) -> list[int]:
    """The places of the cards whose entries are within these bounds."""
    first, end = entries.searchsorted(bounds)
    return [] if first == end else [int(each) & 0xFFFFFFFF for each in entries[first:end]]


def _merged(first: Entries, second: Entries) -> Entries:
    if not len(first):
        return second
    return np.insert(first, first.searchsorted(second), second)


def _in_order(first: Entries, second: Entries) -> Iterator[Entries]:
    """The entries of both, a block at a time."""
    done = 0
    for begin in count(0, _BLOCK):
        block = first[begin : begin + _BLOCK]
        if not len(block):
            yield second[done:]
            return
        more = begin + _BLOCK < len(first)
        end = int(second.searchsorted(block[-1])) if more else len(second)
        yield _merged(np.array(block), np.array(second[done:end]))
        done = end


def _write(path: Path, parts: Sequence[Entries] | Iterator[Entries]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).data)
        file.flush()
        os.fsync(file.fileno())


def _mapped(path: Path) -> Entries:
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.uint64)
    return np.memmap(path, dtype=np.uint64, mode="r").view(np.ndarray)
