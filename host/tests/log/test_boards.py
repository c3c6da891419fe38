"""Names of boards, and seams as documents."""

import random

import cbor2
import pytest

from host.tests.support.boards import MALLORY, OPERATOR, WHEN, sealed
from sabot.keys import signing
from sabot.log import boards
from sabot.log.seam import Seam, SeamUnusable, usable
from sabot_protocol.provisioning import is_unit


@pytest.mark.parametrize(
    ("name", "unit", "board"),
    [
        ("SHOE-7", "SHOE-7", 1), ("SHOE-7~2", "SHOE-7", 2), ("SHOE-7~10", "SHOE-7", 10),
        ("SHOE-7~9999", "SHOE-7", 9999),
        # No log makes these: they are what they are.
        ("SHOE-7~1", "SHOE-7~1", 1), ("SHOE-7~02", "SHOE-7~02", 1), ("SHOE-7~", "SHOE-7~", 1),
        ("~2", "~2", 1), ("SHOE-7~x", "SHOE-7~x", 1), ("A~2~3", "A~2~3", 1),
        ("SHOE-7~10000", "SHOE-7~10000", 1), ("SHOE-7~٣", "SHOE-7~٣", 1), ("A~2\n", "A~2\n", 1),
    ],
)  # fmt: skip
def test_a_name_has_a_unit_and_the_number_of_a_board(name: str, unit: str, board: int) -> None:
    assert (boards.unit_of(name), boards.board_of(name)) == (unit, board)
    assert boards.name_of(unit, board) == name
    assert boards.before(boards.after(name)) == name or "~" in unit or board == 9999
    assert (boards.before(name) is None) == (board == 1)


def test_no_name_of_a_later_board_can_be_the_id_of_a_shoe() -> None:
    assert is_unit("SHOE-7") and not is_unit("SHOE-7~2")


def test_names_are_ordered_by_unit_and_then_by_the_number_of_the_board(rng: random.Random) -> None:
    names = ["A", "A~2", "A~3", "A~10", "A-1", "A-1~2", "AB", "B~2"]
    shuffled = rng.sample(names, len(names))
    assert boards.in_order(shuffled) == ["A", "A~2", "A~3", "A~10", "A-1", "A-1~2", "AB", "B~2"]
    assert boards.units_of(shuffled) == ["A", "A-1", "AB", "B"]


def test_a_unit_is_all_its_boards_and_a_name_is_one() -> None:
    names = ["A~10", "A", "A~2", "AB", "A~x"]
    assert boards.chosen("A", names) == ["A", "A~2", "A~10"]
    assert boards.chosen("A~2", names) == ["A~2"]
    assert boards.chosen("A~1", names) == ["A"]
    assert boards.chosen("A~x", names) == ["A~x"]
    assert boards.chosen("A~3", names) == boards.chosen("C", names) == []


def test_a_seam_is_read_as_it_was_made() -> None:
    seam = Seam.parse(sealed())
    assert (seam.unit, seam.board, seam.name, seam.old_name) == ("U1", 2, "U1~2", "U1")
    assert (seam.chain, seam.old_chain, seam.last) == (b"\2" * 16, b"\1" * 16, 10)
    assert (seam.by, seam.unix_ms) == ("ada", WHEN)
    assert seam.public_key == signing.public_of(OPERATOR)
    assert seam.who_text().startswith("by ada, on ") and "key " in seam.who_text()
    assert seam.as_json()["signer"] == signing.fingerprint(seam.public_key)


def _document(data: bytes) -> dict[str, object]:
    fields: dict[str, object] = cbor2.loads(cbor2.loads(data)[0])
    return fields


CHANGES: list[dict[str, object]] = [
    {"board": 1}, {"board": 10_000}, {"unit": "U1~2"}, {"unit": ""}, {"chain": b"\2" * 15},
    {"old_chain": b""}, {"mac": b"\2" * 17}, {"last": 0}, {"last": 1 << 63}, {"unix_ms": -1},
    {"by": "a" * 101}, {"by": b"ada"}, {"last": "10"}, {"more": 1}, {"version": 2},
    {"format": "sabot-tombstone"},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_document_that_is_signed_and_is_no_seam_is_refused(change: dict[str, object]) -> None:
    fields = _document(sealed()) | change
    del fields["public_key"]
    with pytest.raises(SeamUnusable):
        Seam.parse(signing.seal(OPERATOR, fields))


def test_a_changed_seam_is_refused_and_one_of_another_signer_names_that_one() -> None:
    good = sealed()
    for at in range(0, len(good), 7):
        changed = bytearray(good)
        changed[at] ^= 1
        with pytest.raises(SeamUnusable):
            Seam.parse(bytes(changed))
    document = cbor2.dumps(_document(good) | {"last": 9}, canonical=True)
    with pytest.raises(SeamUnusable, match="changed since it was signed"):
        Seam.parse(cbor2.dumps([document, cbor2.loads(good)[1]], canonical=True))
    assert Seam.parse(sealed(key=MALLORY)).public_key == signing.public_of(MALLORY)
    assert [each.last for each in usable([b"", good, b"x" * 5000])] == [10]
