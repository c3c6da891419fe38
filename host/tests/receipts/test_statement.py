"""Files of receipts: what `sabot receipts -o` writes is read again, anything else is refused."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot.errors import ReceiptsUnusable
from sabot.receipts import statement
from sabot.receipts.receipt import NUMBERS, make
from sabot.receipts.statement import SiteCheckpoint

_NOTARY = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)
_CHECKPOINT = SiteCheckpoint("SHOE-7", 900, bytes(16), 880, "lisboa", 1_795_000_000_000)
_RECEIPT = make(
    _NOTARY,
    unit="SHOE-7",
    number=900,
    mac=bytes(16),
    records=880,
    unix_ms=1_795_000_000_000,
    checked=NUMBERS,
)


def _file(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "receipts.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_receipts_and_checkpoints_are_read_as_they_were_written(tmp_path: Path) -> None:
    lines = (statement.receipt_as_json(_RECEIPT), _CHECKPOINT.as_json())
    assert list(statement.read(_file(tmp_path, *lines))) == [_RECEIPT, _CHECKPOINT]


def test_a_receipt_is_shown_in_fields_for_people() -> None:
    shown = statement.receipt_as_json(_RECEIPT)
    assert (shown["unit"], shown["event"], shown["records"]) == ("SHOE-7", 900, 880)
    assert shown["time"] == "2026-11-18T11:06:40.000Z"
    assert bytes.fromhex(shown["receipt"]) == _RECEIPT


def test_one_that_cannot_be_read_is_shown_all_the_same() -> None:
    shown = statement.receipt_as_json(b"\xffno receipt")
    assert shown["unit"] is None and bytes.fromhex(shown["receipt"]) == b"\xffno receipt"
    assert shown.keys() == statement.receipt_as_json(_RECEIPT).keys()


_GOOD = _CHECKPOINT.as_json()


@pytest.mark.parametrize(
    "line",
    [
        "text",
        None,
        7,
        [],
        {},
        {"what": "receipt"},
        {"what": "receipt", "receipt": "no hex digits"},
        {"what": "receipt", "receipt": 7},
        {"what": "receipt", "receipt": "00" * 5000},
        {"what": "note"},
        _GOOD | {"event": 0},
        _GOOD | {"event": "900"},
        _GOOD | {"event": True},
        _GOOD | {"records": 901},
        _GOOD | {"mac": "00"},
        _GOOD | {"site": 7},
        _GOOD | {"site": "x" * 64},
        _GOOD | {"unix_ms": None},
        {name: value for name, value in _GOOD.items() if name != "unit"},
    ],
)
def test_another_line_is_refused_with_its_number(tmp_path: Path, line: object) -> None:
    with pytest.raises(ReceiptsUnusable, match="line 2"):
        list(statement.read(_file(tmp_path, _GOOD, line)))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReceiptsUnusable, match="no receipt"):
        list(statement.read(_file(tmp_path)))
    with pytest.raises(ReceiptsUnusable, match="cannot be read"):
        list(statement.read(tmp_path / "missing"))
    with pytest.raises(ReceiptsUnusable, match="cannot be read"):
        list(statement.read(tmp_path))
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)) * 400)
    with pytest.raises(ReceiptsUnusable):
        list(statement.read(binary))
