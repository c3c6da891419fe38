"""What a site's log notes of its centre: that it is forwarded, and how far receipts cover it.

A centre that was restored from a backup has lost what it had signed for. Until it signs again, the
receipts of before do not count: `sabot prune` would else remove the only copy.
"""

import json
from collections.abc import Sequence
from contextlib import suppress

from sabot.log.found import numbers_by_unit
from sabot.log.store import Store
from sabot.receipts.receipt import Receipt, ReceiptUnusable

_FORWARDED_TO = "forwarded_to"
"""The fact that a log was ever forwarded: to which centre, the last time."""
SET_BACK = "set_back"
"""The fact, as JSON, by unit: the number up to which a centre that was set back has it again."""


def forwarded_to(store: Store) -> str | None:
    """The centre to which a log was forwarded last; None if it never was."""
    return store.fact(_FORWARDED_TO)


def note_forwarding(store: Store, centre: str) -> None:
    """Note that a log is forwarded: from now on nothing is pruned before it is receipted."""
    store.change_fact(_FORWARDED_TO, lambda before: centre)


def covered(store: Store, unit: str) -> int | None:
    """The number up to which the centre has signed for `unit`; 0 without a receipt that fits the
    log. None if the log was never forwarded: then nothing waits for a receipt."""
    if forwarded_to(store) is None:
        return None
    receipt = last_receipt(store, unit)
    if receipt is None or any(
        mac != receipt.mac for _, _, mac in store.raw(unit, receipt.number, receipt.number)
    ):
        return 0
    return min(receipt.number, set_back(store).get(unit, receipt.number))


def last_receipt(store: Store, unit: str) -> Receipt | None:
    """The receipt of `unit` that goes furthest; None if there is none, or if it is damaged."""
    kept = store.last_receipt(unit)
    if kept is None:
        return None
    with suppress(ReceiptUnusable):
        receipt = Receipt.parse(kept[1])
        if (receipt.unit, receipt.number) == (unit, kept[0]):
            return receipt
    return None


def set_back(store: Store) -> dict[str, int]:
    """The units of which the centre has lost what it had signed for, and has not signed for all of
    it again: the number up to which it has."""
    return numbers_by_unit(store.fact(SET_BACK))


def note_set_back(store: Store, unit: str, number: int) -> None:
    """Note that the centre has `unit` only up to `number`, although it signed for more."""

    def change(before: str | None) -> str:
        known = numbers_by_unit(before)
        return json.dumps(known | {unit: min(number, known.get(unit, number))})

    store.change_fact(SET_BACK, change)


def keep(store: Store, unit: str, receipts: Sequence[tuple[int, bytes]]) -> None:
    """Keep receipts, which the caller has checked, in the order of their numbers."""
    before, last = last_receipt(store, unit), receipts[-1][0]
    store.keep_receipts(unit, receipts)
    if unit not in set_back(store):
        return

    def change(text: str | None) -> str:
        known = numbers_by_unit(text)
        known[unit] = last
        if before is None or last >= before.number:
            del known[unit]
        return json.dumps(known)

    store.change_fact(SET_BACK, change)
