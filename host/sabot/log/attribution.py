"""Which board of a unit an attached shoe is, so that its records get the name of that board.

A log that knows no board of the unit takes the first one as it comes. Otherwise the shoe is asked
for its first events, and acknowledges nothing: a start names the audit chain, and a record that the
log has too is compared byte for byte. What decides is in `attributed`, which asks no one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sabot.errors import HistoryDiffers
from sabot.link.client import Client
from sabot.link.events import BootEvent
from sabot.link.session import Record
from sabot.link.wire import WireError
from sabot.log import boards
from sabot.log.chains import chain_named
from sabot.log.place import Place
from sabot.log.seam import Seam
from sabot.log.store import Filter, Store
from sabot.text import counted
from sabot_protocol.events import MAC_SIZE

_LOOK_S = 5.0
_WAIT_S = 0.25
_WINDOW = 48  # events that a shoe sends ahead of the last acknowledged one


@dataclass(frozen=True, slots=True)
class Known:
    """A board in the log."""

    name: str
    last: int
    """Its newest event; 0 if it has only a seam."""
    chain: bytes | None
    """The id of its audit chain; None if the log does not name it any more."""
    seam: Seam | None
    """The seam by which it has taken the place of the board before it."""
    place: tuple[int, int] = (0, 0)
    """The number of the start, and the time in it, of its newest event."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a shoe holds, as far as it was looked at."""

    first_held: int
    last_held: int
    records: Sequence[Record] = ()
    """The first ones that it holds, in order."""

    @property
    def chain(self) -> bytes | None:
        """The id of its audit chain, which its first start here names; None without a start."""
        for record in self.records:
            if isinstance(record.event, BootEvent) and len(record.event.chain) == MAC_SIZE:
                return record.event.chain
        return None


@dataclass(frozen=True, slots=True)
class Attributed:
    """The board that a shoe is."""

    name: str
    last: int = 0
    """Its newest event in the log; 0 for none."""
    chain: bytes | None = None
    """The id of its chain; None if neither the log nor the shoe has named it."""
    certain: bool = False
    """Whether the shoe has shown that its chain is that of the board in the log."""


class Attribution:
    """Says for each shoe that attaches to one log which board it is. Thread-safe."""

    def __init__(self, store: Store, now_s: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now_s = now_s
        self._names: dict[bytes, str] = {}
        """By command key, which belongs to one chain, the board that was seen to have it."""

    def of(self, port: str, client: Client) -> Attributed:
        """Return which board has proved itself. Raises HistoryDiffers if none of its records may be
        stored."""
        store, unit = self._store, client.unit
        with store.at_one_moment():
            known = _known(store, store.boards(unit))
        if not known:
            return Attributed(unit)
        newest, key = known[-1], client.believe()
        look = Look(client.welcome.first_held, client.welcome.last_held)
        if self._names.get(key) == newest.name:
            if newest.last > look.last_held:
                raise HistoryDiffers(_set_back(port, store.place, unit, newest, look, True))
            return Attributed(newest.name, newest.last, newest.chain, certain=True)
        if newest.last or look.first_held == 1:
            look = replace(look, records=look_at(client, self._now_s))
        first = self._first(look, [each.name for each in known])
        attributed(port, store.place, unit, known, look, first)
        certain = first.get(newest.name) == "" or look.chain is not None
        return Attributed(newest.name, newest.last, newest.chain or look.chain, certain)

    def seen(self, client: Client, name: str) -> None:
        """Note that the log has compared the newest event of this board with that of the shoe."""
        self._names[client.believe()] = name

    def _first(self, look: Look, names: Sequence[str]) -> Mapping[str, str]:
        """By board, what differs between the first record that the shoe holds and that of the log:
        "contents", "MAC" or nothing. Without a board of which the log does not have that record."""
        found: dict[str, str] = {}
        for record in look.records[:1]:
            number = record.event.number
            for name in names:
                for _, data, mac in self._store.raw(name, number, number):
                    same = mac == record.mac
                    found[name] = "contents" if data != record.data else "" if same else "MAC"
        return found


def look_at(client: Client, now_s: Callable[[], float]) -> list[Record]:
    """Return the first events that a shoe holds, up to a start of it, and acknowledge none."""
    first, last = client.welcome.first_held, client.welcome.last_held
    found: list[Record] = []
    if last < first:
        return found
    client.begin(1)
    deadline_s = now_s() + _LOOK_S
    wanted = min(last - first + 1, _WINDOW)
    while len(found) < wanted and now_s() < deadline_s:
        for record in client.receive(_WAIT_S).records:
            found.append(record)
            if isinstance(record.event, BootEvent):
                return found
    return found


def attributed(
    port: str,
    place: Place,
    unit: str,
    known: Sequence[Known],
    look: Look,
    first: Mapping[str, str],
) -> None:
    """Raise HistoryDiffers unless the shoe is the newest of the `known` boards, as far as can be
    seen before its newest event in the log is compared. `first` says, by board, what differs in the
    first record that the shoe holds."""
    newest, chain = known[-1], look.chain
    if not newest.last and look.first_held > 1:
        raise HistoryDiffers(
            f"{port}: the first events of this board of {unit} are gone: it holds those from "
            f"{look.first_held} on, and {place} has none of {newest.name}; log it to another "
            "database and keep both"
        )
    for older, later in pairwise(known):
        if first.get(older.name) == "" or (chain is not None and chain == older.chain):
            raise HistoryDiffers(_is_back(port, place, unit, older, later, newest))
    differs = first.get(newest.name)
    if chain is not None and newest.chain is not None and chain != newest.chain:
        raise HistoryDiffers(_another(port, place, unit, newest, chain))
    same_chain = chain is not None and chain == newest.chain
    if newest.last > look.last_held or (differs and same_chain):
        shown = same_chain or differs == ""
        raise HistoryDiffers(_set_back(port, place, unit, newest, look, shown))
    if differs:
        raise HistoryDiffers(
            f"{port}: event {look.records[0].event.number} of {newest.name} is in {place} with "
            f"other {differs}; log this shoe to another database and keep both"
        )
    if not newest.last and not same_chain:
        raise HistoryDiffers(
            f"{port}: this board of {unit} does not say what its chain is, so that it cannot be "
            f"told whether it is {newest.name}; log it to another database and keep both"
        )
    if look.first_held > newest.last > 0 and not same_chain and look.records:
        event = look.records[0].event
        if (event.boot, event.t_ms) < newest.place:
            raise HistoryDiffers(
                f"{port}: it holds none of the events of {newest.name} that {place} has, and those "
                "that it holds are of an earlier start: it is another board; log it to another "
                "database and keep both"
            )


def _known(store: Store, names: Sequence[str]) -> list[Known]:
    seams = {seam.name: seam for seam in store.seams()}
    found = []
    for name in names:
        seam, later = seams.get(name), seams.get(boards.after(name))
        chain = chain_named(store, name)
        if chain is None and (seam is not None or later is not None):
            chain = seam.chain if seam is not None else later.old_chain if later else None
        last = store.last_number(name)
        found.append(Known(name, last, chain, seam, _place(store, name, last)))
    return found


def _place(store: Store, name: str, last: int) -> tuple[int, int]:
    for row in store.rows(Filter(unit=name, first=last, last=last)):
        try:
            event = row.event()
        except WireError:
            continue
        return event.boot, event.t_ms
    return 0, 0


def _another(port: str, place: Place, unit: str, newest: Known, chain: bytes) -> str:
    command = f"sabot replaced {unit} --chain {chain.hex()} --key operator.pem --db {place}"
    has = newest.chain.hex() if newest.chain else "an unknown one"
    if not newest.last:
        return (
            f"{port}: another board of {unit}: its chain is {chain.hex()}, and the seam of "
            f"{newest.name} in {place} names {has}; if that is wrong, `sabot replaced {unit} "
            f"--undo --db {place}`, then `{command}`"
        )
    return (
        f"{port}: another board of {unit}: its chain is {chain.hex()}, and that of {newest.name} "
        f"in {place} is {has}; if the house has replaced the board, `{command}`"
    )


def _is_back(port: str, place: Place, unit: str, older: Known, later: Known, newest: Known) -> str:
    seam = "" if later.seam is None else f" ({later.seam.who_text()})"
    undo = (
        f"; if it was replaced by mistake, `sabot replaced {unit} --undo --db {place}`"
        if later is newest and not newest.last
        else ""
    )
    return (
        f"{port}: this board of {unit} was replaced after event {older.last}: {later.name} has "
        f"taken its place{seam}; take it off its table, none of its later events is stored{undo}"
    )


COPIED = "its chain is the same, so its memory was copied or set back"
"""Why a shoe has other events than its log, although its chain is that of the log."""


def _set_back(
    port: str, place: Place, unit: str, newest: Known, look: Look, same_chain: bool
) -> str:
    why, held = COPIED if same_chain else "its memory was replaced", look.last_held
    if held >= newest.last:
        return (
            f"{port}: {unit} has other events than {newest.name} in {place}: {why}; log it to "
            "another database and keep both"
        )
    return (
        f"{port}: {unit} has recorded {counted(held, 'event')}, {place} has {newest.last} of it: "
        f"{why}; log it to another database and keep both"
    )
