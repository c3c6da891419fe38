"""Checks the seams between the boards of a unit: who signed them, and whether both boards fit them.

A seam is signed, but anyone can make a key. The old board must end exactly with the event that the
seam names, the new one must be of the chain that it names, and every board but the first must have
a seam and a board before it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sabot.audit.context import kept_of_removed, mac_before
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import fingerprint
from sabot.link.events import BootEvent
from sabot.log import boards
from sabot.log.chains import chain_named
from sabot.log.seam import Seam, SeamUnusable
from sabot.log.store import SeamRow, Store

Found = tuple[int, str, str]
"""Event number, kind and detail of a finding."""


@dataclass(frozen=True, slots=True)
class Board:
    """What a log has of a board, as far as seams speak of it."""

    name: str
    last: int
    """Its newest event, also a pruned one; 0 for none."""
    chain: bytes | None
    """The id of the chain that its first start names; None if no start is left."""


def chain_of(store: Store, name: str) -> bytes | None:
    """Return the id of the chain that a start of a board names: a record, or one that a tombstone
    keeps. None without any."""
    found = chain_named(store, name)
    if found is None:
        for event in kept_of_removed(store, name):
            if isinstance(event, BootEvent):
                return event.chain
    return found


def wrong_in_log(
    store: Store, operator: bytes | None, keys: Keys | None
) -> Iterator[tuple[str, Found]]:
    """Yield what is wrong with the seams of a log, and with the boards that they bind: the name of
    the board, and what.

    `operator` is the public key that must have signed; None if it is not known, which is a finding.
    With `keys` each seam must name a chain of them, if they have any of the unit.
    """
    rows = {row.name: row for row in store.seam_rows()}
    names = store.units()
    if not rows and all(boards.before(name) is None for name in names):
        return
    chains = {name: chain_of(store, name) for name in names}
    for name in boards.in_order([*rows, *names]):
        key_chains = None if keys is None else keys.chains(boards.unit_of(name))
        here = {
            each: Board(each, store.last_number(each), chains[each])
            for each in boards.chosen(boards.unit_of(name), names)
        }
        used = _used(rows, chains, name)
        mac_of = _mac_reader(store, name)
        for found in wrong_with(name, rows, here, mac_of, used, operator, key_chains):
            yield name, found


def wrong_with(
    name: str,
    rows: Mapping[str, SeamRow],
    here: Mapping[str, Board],
    mac_of: Callable[[int], bytes],
    used: Mapping[bytes, str],
    operator: bytes | None,
    key_chains: Sequence[bytes] | None,
) -> Iterator[Found]:
    """As `wrong_in_log`, of the board `name`. `rows` are the seams, and `here` the boards of the
    unit that have records, by name; `mac_of` gives the MAC of an event of this board (empty if it
    is not there), and `used` the name of another board by its chain. `key_chains` are the chains of
    the unit's keys."""
    before, row = boards.before(name), rows.get(name)
    if before is not None:
        if row is None:
            yield 0, "seam", f"no seam says whose place this board has taken; {before} is before it"
        if before not in here:
            yield 0, "seam", f"the log has no board {before}, whose place this one has taken"
    if row is not None:
        seam, unreadable = _read(row)
        if seam is None:
            yield 0, "seam", unreadable
        else:
            for detail in _unlike(name, seam, row, here.get(name), used, key_chains):
                yield 0, "seam", detail
            if signer := _wrong_signer(seam, operator):
                yield 0, "operator", signer
    later = rows.get(boards.after(name))
    if later is not None and name in here:
        seam, _ = _read(later)
        if seam is not None and seam.old_name == name:
            yield from _wrong_end(here[name], seam, mac_of)


def _read(row: SeamRow) -> tuple[Seam | None, str]:
    try:
        return Seam.parse(row.seam), ""
    except SeamUnusable as error:
        return None, str(error)


def _unlike(
    name: str,
    seam: Seam,
    row: SeamRow,
    board: Board | None,
    used: Mapping[bytes, str],
    key_chains: Sequence[bytes] | None,
) -> Iterator[str]:
    """What a seam contradicts: its row, the board's records, the keys, other boards."""
    if seam.name != name:
        yield f"the seam in its row is of {seam.name}"
        return
    if row.last != seam.last:
        yield f"the table says that it is after event {row.last}, it says {seam.last}"
    if board is not None and board.chain is not None and board.chain != seam.chain:
        yield (
            f"its records are of the chain {board.chain.hex()}, its seam names {seam.chain.hex()}"
        )
    if seam.chain == seam.old_chain:
        yield f"its seam names the chain {seam.chain.hex()} for both boards"
    elif seam.chain in used:
        yield f"its seam names the chain {seam.chain.hex()}, which is that of {used[seam.chain]}"
    if key_chains and seam.chain not in key_chains:
        yield f"its seam names the chain {seam.chain.hex()}, of which the key file has no key"


def _wrong_signer(seam: Seam, operator: bytes | None) -> str | None:
    signer = f"its seam was signed by {fingerprint(seam.public_key)}"
    if operator is None:
        return f"{signer}, which was not checked; name the operator's key with --operator"
    return None if operator == seam.public_key else f"{signer}, not by the operator"


def _wrong_end(old: Board, seam: Seam, mac_of: Callable[[int], bytes]) -> Iterator[Found]:
    """What contradicts that a board ends exactly where the seam of the next one says."""
    if old.chain is not None and old.chain != seam.old_chain:
        detail = f"it is of the chain {old.chain.hex()}, the seam of {seam.name} says"
        yield 1, "seam", f"{detail} {seam.old_chain.hex()}"
    if old.last < seam.last:
        detail = f"the log ends with event {old.last}, before event {seam.last} after which"
        yield old.last + 1, "seam", f"{detail} {seam.name} has taken its place"
        return
    if old.last > seam.last:
        detail = f"the log goes on to event {old.last}, although {seam.name} has taken the place"
        yield seam.last + 1, "seam", f"{detail} of this board after event {seam.last}"
    mac = mac_of(seam.last)
    if mac != seam.mac:
        has = mac.hex() if mac else "not in the log"
        detail = f"its MAC is {has}, and {seam.mac.hex()} in the seam of {seam.name}"
        yield seam.last, "seam", f"{detail}: this event or earlier ones are others"


def _mac_reader(store: Store, name: str) -> Callable[[int], bytes]:
    def mac_of(number: int) -> bytes:
        mac: object = mac_before(store, name, number + 1)
        return mac if isinstance(mac, bytes) else b""

    return mac_of


def _used(
    rows: Mapping[str, SeamRow], chains: Mapping[str, bytes | None], name: str
) -> dict[bytes, str]:
    """The boards by their chains, without the board `name`."""
    found = {chain: other for other, chain in chains.items() if chain and other != name}
    for other, row in rows.items():
        seam, _ = _read(row)
        if seam is not None and seam.name == other != name:
            found.setdefault(seam.chain, other)
    return found
