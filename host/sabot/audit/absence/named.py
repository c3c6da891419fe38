"""The one rule for absence: what is named must be there.

A name is anything that says of a unit, a chain, a desk or a game document that the log has it: the
key file, the notes of the desk, what the log notes of itself, the rounds. A name does not prove
that the thing was there. But a person who takes something away has to take all of its names
too, and several departments keep them. The person who verifies may say that something is known to
be elsewhere.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sabot.audit.absence.elsewhere import Elsewhere, named
from sabot.audit.checks.findings import Finding, Note
from sabot.desk.notes import UNIT as DESK
from sabot.log import boards
from sabot.text import counted

ABSENT, KNOWN_ELSEWHERE = "absent", "known_elsewhere"
"""The kinds of a finding, and of a note."""

_DIGITS = 16  # of a hash that are shown


@dataclass(frozen=True, slots=True)
class Named:
    """A unit, one of its boards, or the desk, which is named `by` something, for people."""

    unit: str
    by: str
    event: int = 0
    """The last event that is named; 0 for none."""
    shoe: int = 0
    round: int = 0
    """The last shoe of cards that is named, and the last round of it; 0 for none."""


@dataclass(frozen=True, slots=True)
class Here:
    """What a log has."""

    last: Mapping[str, int]
    """By the name of a board: its last event, also a removed one."""
    chain_of: Callable[[str], bytes | None]
    """Returns the chain that the records of a board name; None if no start of it is left."""
    had_round: Callable[[str, int, int], bool]
    """Whether the log has, or had and removed, a shoe of cards and a round of a board."""
    desk: bool


def missing(
    names: Iterable[Named],
    chains: Mapping[str, Sequence[bytes]],
    here: Here,
    elsewhere: Elsewhere,
) -> Iterator[Finding | Note]:
    """Yield what is named and is not there. `chains` are those of the key file, by unit."""
    of_unit: dict[str, list[str]] = defaultdict(list)
    for name in here.last:
        of_unit[boards.unit_of(name)].append(name)
    absent: dict[str, dict[str, None]] = defaultdict(dict)
    ends: dict[tuple[str, str], Named] = {}
    for each in names:
        if each.unit == DESK:
            there = here.desk
        else:
            there = each.unit in here.last or each.unit in of_unit
        if not there:
            absent[each.unit][each.by] = None
        elif each.event or each.shoe:
            before = ends.get((each.unit, each.by), each)
            ends[each.unit, each.by] = _further(before, each)
    yield from _units(absent, elsewhere)
    for unit, of_keys in chains.items():
        if unit in of_unit:
            yield from _chains(unit, of_keys, of_unit[unit], here, elsewhere)
    for each in ends.values():
        names_of = [each.unit] if each.unit in here.last else of_unit[each.unit]
        yield from _beyond(each, names_of, here)


def game(unit: str, event: int, sha256: bytes, what: str, elsewhere: Elsewhere) -> Finding | Note:
    """A game document by which rounds were dealt, from `event` on, and that is missing or cannot be
    used: `what` says which."""
    digits = sha256.hex()[:_DIGITS]
    detail = f"the game document {digits} {what}"
    if elsewhere.has_hash(sha256):
        return Note(unit, event, KNOWN_ELSEWHERE, detail)
    detail += "; what its rounds paid cannot be checked"
    hint = f"if the log never had it, or another one has it: --elsewhere {digits}"
    return Finding(unit, event, "game", f"{detail}; {hint}")


def _units(
    absent: Mapping[str, Mapping[str, None]], elsewhere: Elsewhere
) -> Iterator[Finding | Note]:
    """Yield the units that are not there: as one, those that the same things name."""
    groups: dict[tuple[bool, bool, tuple[str, ...]], list[str]] = defaultdict(list)
    for name, by_what in absent.items():
        groups[name == DESK, elsewhere.has_unit(name), tuple(by_what)].append(name)
    for (is_desk, known, namers), units in groups.items():
        by = " and ".join(namers)
        unit = units[0] if len(units) == 1 else ""
        if is_desk:
            detail = f"the log has no desk, and {by} of one"
            hint = f"if that is the desk of another log: --elsewhere {DESK}"
        elif unit:
            detail = f"the log has no event of it, and {by} of it"
            hint = f"if it is known to be in another log: --elsewhere {unit}"
        else:
            detail = f"{by} of {counted(len(units), 'unit')} that the log lacks: {named(units)}"
            hint = "name those that are known to be in other logs with --elsewhere, as here"
        if known:
            yield Note(unit, 0, KNOWN_ELSEWHERE, detail)
        else:
            yield Finding(unit, 0, ABSENT, f"{detail}; {hint}")


def _chains(
    unit: str,
    of_keys: Sequence[bytes],
    names: Sequence[str],
    here: Here,
    elsewhere: Elsewhere,
) -> Iterator[Finding | Note]:
    """Yield the chains of a unit that the key file has, and of which the log has no record."""
    found = {here.chain_of(name) for name in names}
    if len(of_keys) < 2 or None in found:  # one of another chain is the finding `wrong_key`
        return
    for chain in of_keys:
        if chain in found:
            continue
        digits = chain.hex()
        detail = f"the key file has a key of its chain {digits}, and the log has no event of that"
        others = [boards.name_of(unit, at) for at in range(1, len(of_keys) + 1)]
        known = any(map(elsewhere.has_unit, {*others} - {*names}))
        if elsewhere.has_hash(chain) or known:
            yield Note(unit, 0, KNOWN_ELSEWHERE, detail)
        else:
            hint = f"if another log has them, or there never were any: --elsewhere {digits}"
            yield Finding(unit, 0, ABSENT, f"{detail} chain; {hint}")


def _beyond(named: Named, names: Sequence[str], here: Here) -> Iterator[Finding]:
    """Yield what is named of a unit that the log has, and that is after the end of the log."""
    last = max(here.last[name] for name in names)
    if named.event > last:
        detail = f"{named.by} of event {named.event}, the log ends before it"
        yield Finding(names[-1], last + 1, "truncated", detail)
    elif named.shoe and not any(here.had_round(name, named.shoe, named.round) for name in names):
        place = f"shoe {named.shoe}" + (f" round {named.round}" if named.round else "")
        detail = f"{named.by} of {place}, the log has no event of it"
        yield Finding(names[-1], last + 1, ABSENT, detail)


def _further(one: Named, other: Named) -> Named:
    shoe, round_ = max((one.shoe, one.round), (other.shoe, other.round))
    return Named(one.unit, one.by, max(one.event, other.event), shoe, round_)
