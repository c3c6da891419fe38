"""Receipts as they come to a site: which are kept, and what is wrong with the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from sabot.centre.alarms import BAD_RECEIPT, OTHER_BYTES, Alarm
from sabot.keys.signing import fingerprint
from sabot.receipts.receipt import Receipt, ReceiptUnusable


@dataclass(frozen=True, slots=True)
class Checked:
    """A receipt that came, or what is wrong with it."""

    receipt: Receipt | None
    alarm: Alarm | None


def checked(notaries: Sequence[bytes], unit: str, number: int, data: bytes) -> Checked:
    """Check a receipt that the centre gave for event `number` of `unit`. `notaries` are the public
    keys that may have signed it."""

    def bad(detail: str) -> Checked:
        return Checked(None, Alarm(unit, number, BAD_RECEIPT, detail))

    try:
        receipt = Receipt.parse(data)
    except ReceiptUnusable as error:
        return bad(str(error))
    if receipt.public_key not in notaries:
        return bad(f"signed by {fingerprint(receipt.public_key)}, which is not the notary's key")
    if (receipt.unit, receipt.number) != (unit, number):
        return bad("a receipt of another event or unit")
    return Checked(receipt, None)


def unlike(receipt: Receipt) -> Alarm:
    """The alarm of a good receipt whose event has another MAC at the site."""
    detail = "the centre signed for this event with another MAC than the site has"
    return Alarm(receipt.unit, receipt.number, OTHER_BYTES, detail)
