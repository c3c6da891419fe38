"""Numbers and files from outside are read in one place each, which bounds them."""

import ast
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from host.tests.support.commands import run_here
from sabot.audit.checkpoints import load
from sabot.audit.checks.desk_checks import _decoded
from sabot.audit.tombstone import Tombstone, TombstoneUnusable
from sabot.desk.notes import Note, NoteUnusable
from sabot.errors import ImageUnusable, KeysUnusable
from sabot.files import TooLarge, read_bounded
from sabot.floor.wall import natural
from sabot.keys import chain_keys, key_lines, signing
from sabot.link import log_socket
from sabot.link.wire import WireError, parse_event
from sabot.listening import address_of
from sabot.numbers import LARGEST, fit, whole
from sabot.release.bootloader_drive import image_bytes

_HOST = Path(__file__).resolve().parents[1] / "sabot"
_WHOLE = ("read_bytes", "read_text")
DIGITS = "9" * 5000
"""More digits than Python makes an integer of: it raises a ValueError instead."""
HUGE = 1 << 40_000
"""More than Python writes in digits."""


@given(st.text(max_size=30) | st.integers(-(1 << 70), 1 << 70).map(str))
def test_a_number_is_read_from_digits_alone(text: str) -> None:
    right = set(text) <= set("0123456789") and text != ""
    assert whole(text) == (int(text) if right and int(text) <= LARGEST else None)


@pytest.mark.parametrize("text", [DIGITS, "0" * 5000 + "7", "", "-1", "+1", "1_0", "٣", "²", " 1"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert whole(text) == (7 if text.endswith("7") else None)
    assert whole("7", 6) is None and whole("6", 6) == 6


def test_integers_at_any_depth_of_a_value_are_bounded() -> None:
    nested: Any = HUGE
    for _ in range(5000):
        nested = [nested]
    for value in (HUGE, -HUGE, [1, (2, HUGE)], {"a": {HUGE: 1}}, {"a": [{"b": HUGE}]}, nested):
        assert not fit(value)
    assert fit({"a": [1, (1 << 64) - 1, -(1 << 63), True, None, "9" * 9000, 1.5]})


@pytest.mark.parametrize("field", ["unit", "version", "first", "last", "shoes", "keep_days"])
def test_a_sealed_document_with_a_huge_number_is_none(field: str) -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    document = {"format": "sabot-tombstone", "version": 1, "unit": "U", field: HUGE}
    data = signing.seal(private, document)
    with pytest.raises(signing.NotSealed, match="over 64 bits"):
        signing.open_sealed(data)
    with pytest.raises(TombstoneUnusable):
        Tombstone.parse(data)


@pytest.mark.parametrize("place", range(5))
def test_a_note_with_a_huge_number_cannot_be_read(place: int) -> None:
    values: list[Any] = [1, 2, "ada", "exported", {"a": 1}]
    values[place] = {"a": 1 << 9000} if place == 4 else 1 << 9000
    data = cbor2.dumps(values, canonical=True)
    with pytest.raises(NoteUnusable):
        Note.parse(data)
    with pytest.raises(ValueError, match=r"64 bits"):
        _decoded(data)


def test_a_message_of_a_program_with_a_huge_number_is_none() -> None:
    assert log_socket.unpacked(log_socket.packed("shoes", 5)) == ["shoes", 5]
    assert log_socket.unpacked(log_socket.packed("shoes", HUGE)) == []


@pytest.mark.parametrize("kind", [0x5B, 0x7B, 0x9B, 0xBB], ids=["bytes", "text", "list", "map"])
@pytest.mark.parametrize("size", [1 << 30, 1 << 40, 1 << 62])
def test_nothing_is_set_aside_for_a_length_that_only_is_claimed(kind: int, size: int) -> None:
    data = bytes([kind]) + size.to_bytes(8, "big") + b"\1" * 20
    tracemalloc.start()
    try:
        for read, error in (
            (signing.open_sealed, signing.NotSealed),
            (parse_event, WireError),
            (Note.parse, NoteUnusable),
        ):
            with pytest.raises(error):
                read(data)
        assert log_socket.unpacked(data) == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_names_of_tables_sort_whatever_digits_they_have() -> None:
    names = [f"table {DIGITS}", "table 10", "table 2", "table ٣", "10", "table 0", ""]
    assert sorted(names, key=natural) == [
        "", "10", "table 0", "table 2", "table 10", f"table {DIGITS}", "table ٣"
    ]  # fmt: skip


@pytest.mark.parametrize("text", [f":{DIGITS}", "host:٣", "host:65536", "host:-1"])
def test_a_port_of_thousands_of_digits_is_wrong_usage(text: str) -> None:
    with pytest.raises(ValueError, match="not a port"):
        address_of(text, 1)


@pytest.mark.parametrize(
    "words",
    [
        ["odds", "--choose", f"tie_pays={DIGITS}"],
        ["games", "show", "mini", "--choose", f"tie_pays={DIGITS}"],
        ["settle", "--hand", DIGITS, "wagers"],
        ["rounds", "--last", DIGITS],
        ["rounds", "--shoe", DIGITS],
        ["serve", "--listen", f":{DIGITS}"],
        ["demo", "--seed", DIGITS],
    ],
    ids=lambda words: " ".join(words)[:20],
)
def test_thousands_of_digits_in_an_option_are_no_fault(tmp_path: Path, words: list[str]) -> None:
    out, problems, code = run_here(tmp_path, *words)
    assert code in (2, 8, 17, 18) and "Traceback" not in problems + out


@pytest.mark.parametrize("name", ["wagers.json", "hand.json"])
def test_thousands_of_digits_in_a_file_are_no_fault(tmp_path: Path, name: str) -> None:
    for text in (DIGITS, f'{{"seats": {DIGITS}}}', f'{{"decks": -{DIGITS}}}', '{"a": 1e999}'):
        (tmp_path / name).write_text(text)
        _, problems, code = run_here(tmp_path, "settle", name)
        assert code == 20, problems


class TestFiles:
    def test_of_a_file_no_more_is_read_than_it_may_have(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"x" * 100)
        assert read_bounded(path, 100) == b"x" * 100
        with pytest.raises(TooLarge, match="over 99 bytes"):
            read_bounded(path, 99)
        with pytest.raises(TooLarge):  # which has no end
            read_bounded(Path("/dev/zero"), 1000)

    def test_a_file_that_is_too_large_is_not_taken_for_its_first_part(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The keys or checkpoints after that would be missing, and no one would ask."""
        chain_keys.add(tmp_path / "keys", "U1", bytes(32))
        monkeypatch.setattr(key_lines, "_MOST_BYTES", 100)
        with pytest.raises(KeysUnusable, match="over 100 bytes"):
            chain_keys.Keys.load(tmp_path / "keys")
        kept = tmp_path / "kept"
        line = {"unit": "U1", "records": 5, "mac": "00" * 16}
        kept.write_text(2 * (json.dumps(line) + "\n"))
        assert len(load(kept)) == 2
        monkeypatch.setattr("sabot.audit.checkpoints._MAX_BYTES", 80)
        with pytest.raises(OSError, match="over 80 bytes"):
            load(kept)

    def test_an_image_of_gigabytes_is_refused_unread(self, tmp_path: Path) -> None:
        image = tmp_path / "huge.uf2"
        image.touch()
        os.truncate(image, 1 << 33)
        with pytest.raises(ImageUnusable, match="over 16,777,216 bytes"):
            image_bytes(image, "1.28.0")

    def test_files_of_users_are_not_read_whole_elsewhere(self) -> None:
        own = {  # what Sabot itself has made, or is made of
            "web/files.py", "release/compiling/modules.py", "sim/process.py",
            "log/postgres/migrations/__init__.py", "log/postgres/checks/catalog.py",
            "log/postgres/checks/rights.py", "release/bootloader_drive.py", "order/run_index.py",
        }  # fmt: skip
        found = set()
        for path in _HOST.rglob("*.py"):
            source = path.read_bytes()
            if not any(name.encode() in source for name in _WHOLE):
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Attribute) and node.attr in _WHOLE:
                    found.add(path.relative_to(_HOST).as_posix())
        assert found == own
