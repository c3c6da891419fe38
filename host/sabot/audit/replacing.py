"""Binds a board that takes another's place to the unit of the other, with a seam in the log.

The seam names the last event of the old board that the log has. So it is made when the old board
will send no more: from then on, the log takes none of its later events.
"""

from collections.abc import Iterator

from sabot.audit.checks.seam_checks import chain_of
from sabot.audit.context import mac_before
from sabot.errors import DatabaseUnusable, SeamRefused
from sabot.keys.signing import PrivateKey, public_of
from sabot.log import boards, seam
from sabot.log.seam import Seam
from sabot.log.store import SeamRow, Store
from sabot.text import counted


def replace(
    store: Store, unit: str, chain: bytes, private: PrivateKey, *, by: str, now_unix_ms: int
) -> Seam:
    """Store that a board with the audit chain `chain` takes the place of the newest one of `unit`.
    The same thing twice is done once.

    Raises SeamRefused, which says why; DatabaseUnusable if the log does not have the unit.
    """
    known = _boards(store, unit)
    newest = known[-1]
    seams = {each.name: each for each in store.seams()}
    pending = seams.get(newest)
    if pending is not None and not store.last_number(newest):
        if pending.chain == chain and pending.public_key == public_of(private):
            return pending
        raise SeamRefused(
            f"{store.place}: {newest} is to be the board with the chain {pending.chain.hex()} "
            f"({pending.who_text()}), and no event of it has come yet; if that is wrong: "
            f"sabot replaced {unit} --undo"
        )
    for name, here in _chains(store):
        if here == chain:
            which = "the newest board" if name == newest else f"{name}, another board,"
            raise SeamRefused(
                f"{store.place}: {which} has the chain {chain.hex()}: name that of the board that "
                "takes its place; `sabot log` shows it"
            )
    old_chain = chain_of(store, newest)
    if old_chain is None:
        raise SeamRefused(
            f"{store.place}: no start of {newest} is left that names its chain; log the new board "
            "to another database and keep both"
        )
    if boards.board_of(newest) == boards.MOST_BOARDS:
        raise SeamRefused(f"{store.place}: {unit} has had too many boards; give it another id")
    last = store.last_number(newest)
    new = boards.after(newest)
    data = seam.make(
        private,
        unit=unit,
        board=boards.board_of(new),
        chain=chain,
        old_chain=old_chain,
        last=last,
        mac=mac_before(store, newest, last + 1),
        by=by,
        unix_ms=now_unix_ms,
    )
    store.keep_seam(SeamRow(new, last, data))
    return Seam.parse(data)


def undo(store: Store, unit: str) -> str:
    """Remove the seam of the newest board of `unit`, and return the board's name.

    Raises SeamRefused if the log has events of that board, or no seam.
    """
    newest = _boards(store, unit)[-1]
    events = store.last_number(newest)
    if boards.before(newest) is None:
        raise SeamRefused(
            f"{store.place}: no board of {unit} was replaced; nothing is to be undone"
        )
    if events:
        raise SeamRefused(
            f"{store.place}: has {counted(events, 'event')} of {newest}, so that its seam cannot "
            "be undone any more"
        )
    store.remove_seam(newest)
    return newest


def _boards(store: Store, unit: str) -> list[str]:
    known = store.boards(unit)
    if not known:
        store.check_unit(unit)
        raise DatabaseUnusable(f"{store.place}: has no unit {unit}")
    return known


def _chains(store: Store) -> Iterator[tuple[str, bytes | None]]:
    """Yield the chain of every board in the log."""
    for name in store.units():
        yield name, chain_of(store, name)
    for each in store.seams():
        yield each.name, each.chain
        yield each.old_name, each.old_chain
