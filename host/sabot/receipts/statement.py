"""Files of receipts and of the sites' checkpoints, for those who compare logs elsewhere.

JSON lines, one object each, as `sabot receipts --json` prints them. Of a receipt only the field
`receipt` counts, which has the sealed bytes as hex digits; the others are for people.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabot.errors import ReceiptsUnusable
from sabot.files import open_to_read
from sabot.keys.signing import fingerprint
from sabot.log import boards
from sabot.receipts.receipt import MOST_BYTES, Receipt, ReceiptUnusable
from sabot.text import utc_time
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import MAX_PAYLOAD

RECEIPT, CHECKPOINT = "receipt", "checkpoint"

_MOST_BYTES = 1 << 32  # of a file: those of a thousand units in ten days, one a minute
_LONGEST_LINE = 1 << 14
_LONGEST_SITE = 63  # of a role of PostgreSQL, in bytes
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SiteCheckpoint:
    """What the site `site` said to the centre at `unix_ms`, by the centre's clock: its log of
    `unit` has `records` events up to `number`, which has this MAC. Not signed."""

    unit: str
    number: int
    mac: bytes
    records: int
    site: str
    unix_ms: int

    def as_json(self) -> dict[str, Any]:
        """The checkpoint as `sabot receipts --json` prints it."""
        return {
            "what": CHECKPOINT,
            "unit": boards.unit_of(self.unit),
            "event": self.number,
            "mac": self.mac.hex(),
            "records": self.records,
            "site": self.site,
            "time": utc_time(self.unix_ms),
            "unix_ms": self.unix_ms,
            "board_number": boards.board_of(self.unit),
        }


def receipt_as_json(data: bytes) -> dict[str, Any]:
    """A receipt as `sabot receipts --json` prints it. One that cannot be read has nulls."""
    try:
        receipt = Receipt.parse(data)
    except ReceiptUnusable as error:
        known_unit = error.unit
        known: dict[str, Any] = {
            "unit": boards.unit_of(error.unit) or None,
            "event": error.number or None,
        }
        known |= dict.fromkeys(("mac", "records", "checked", "signer", "time"))
    else:
        known_unit = receipt.unit
        known = {
            "unit": boards.unit_of(receipt.unit),
            "event": receipt.number,
            "mac": receipt.mac.hex(),
            "records": receipt.records,
            "checked": receipt.checked,
            "signer": fingerprint(receipt.public_key),
            "time": utc_time(receipt.unix_ms),
        }
    known |= {"receipt": data.hex(), "board_number": boards.board_of(known_unit)}
    return {"what": RECEIPT, **known}


def read(path: Path) -> Iterator[bytes | SiteCheckpoint]:
    """Yield what a file has: receipts as sealed bytes, and checkpoints of sites.

    Raises ReceiptsUnusable if it cannot be read, has another line, or has no line.
    """
    read_bytes = lines = 0
    try:
        with open_to_read(path) as file:
            while line := file.readline(_LONGEST_LINE + 1):
                read_bytes += len(line)
                if len(line) > _LONGEST_LINE or read_bytes > _MOST_BYTES:
                    raise ReceiptsUnusable(f"{path}: too long for a file of receipts; check it")
                if line.strip():
                    lines += 1
                    yield _read_line(path, lines, line)
    except OSError as error:
        raise ReceiptsUnusable(
            f"{path}: cannot be read ({error.strerror}); name a log, or a file that "
            "`sabot receipts -o` made"
        ) from None
    if not lines:
        raise ReceiptsUnusable(f"{path}: has no receipt; make it again with `sabot receipts -o`")


def _read_line(path: Path, at: int, line: bytes) -> bytes | SiteCheckpoint:
    wrong = ReceiptsUnusable(
        f"{path}, line {at}: neither a receipt nor a checkpoint as `sabot receipts -o` writes it; "
        "make the file again"
    )
    try:
        entry = json.loads(line)
        if entry["what"] == RECEIPT:
            data = bytes.fromhex(entry["receipt"])
            if len(data) > MOST_BYTES:
                raise wrong
            return data
        if entry["what"] != CHECKPOINT:
            raise wrong
        names = ("unit", "event", "mac", "records", "site", "unix_ms")
        unit, number, mac, records, site, unix_ms = (entry[name] for name in names)
        mac = bytes.fromhex(mac)
        board = entry.get("board_number", 1)  # an older Sabot knew one
    except (ValueError, KeyError, TypeError, RecursionError):
        raise wrong from None
    texts = type(unit) is type(site) is str and len(unit) <= MAX_PAYLOAD
    numbers = [type(each) for each in (number, records, unix_ms, board)] == [int] * 4
    if not (texts and numbers and len(site) <= _LONGEST_SITE and len(mac) == MAC_SIZE):
        raise wrong
    right = 1 <= records <= number <= _LARGEST and 0 <= unix_ms <= _LARGEST
    if not (right and 1 <= board <= boards.MOST_BOARDS):
        raise wrong
    return SiteCheckpoint(boards.name_of(unit, board), number, mac, records, site, unix_ms)
