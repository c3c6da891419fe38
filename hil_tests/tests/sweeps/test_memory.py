"""The sweep of the heap: its reading of made tables of MicroPython, its verdict, and a sample of a
walk on the emulated Pico."""

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sabot_hil.emulation.bare import BarePico
from sabot_hil.emulation.heap import SIZES, Heap, Room
from sabot_hil.sweeps.memory import worst
from sabot_hil.sweeps.memory.units import TABLES
from sabot_hil.sweeps.memory.walk import Note, walk

_RAM = 0x20000000
_TABLE_BYTES = 1024
_TABLE, _BEGIN = _RAM + 0x1000, _RAM + 0x2000


def _pico(table: bytes, copies: int = 1) -> BarePico:
    """A Pico whose memory has a heap with this table, which is padded with objects of one block."""
    memory = bytearray(0x42000)
    blocks_end = _BEGIN + _TABLE_BYTES * 64
    words = struct.pack("<5I", _TABLE, _TABLE_BYTES, _TABLE + _TABLE_BYTES, _BEGIN, blocks_end)
    for copy in range(copies):
        memory[0x200 + 64 * copy :][: len(words)] = words
        memory[0x200 + 64 * copy : 0x200 + 64 * copy + len(words)] = words
    memory[_TABLE - _RAM : _TABLE - _RAM + _TABLE_BYTES] = table.ljust(_TABLE_BYTES, b"\x55")
    made: Any = SimpleNamespace(
        ram=lambda address, size: bytes(memory[address - _RAM : address - _RAM + size])
    )
    return cast(BarePico, made)


def test_the_room_is_read_from_the_table_of_blocks() -> None:
    # From the lowest bits of a byte: object of 1 + 2 blocks, a free one; 3 free, an object.
    heap = Heap(_pico(bytes((0b00_10_10_01, 0b01_00_00_00))))
    assert heap.begin == _BEGIN and not heap.collects()
    assert heap.room() == Room(4 * 16, 4 * 16)
    objects = heap.objects()
    assert list(objects[:3]) == [0 * SIZES + 3, 7 * SIZES + 1, 8 * SIZES + 1]
    assert len(objects) == 2 + 4 * (_TABLE_BYTES - 2)


def test_a_collection_is_seen_by_its_marks() -> None:
    assert Heap(_pico(bytes((0b00_00_00_11,)))).collects()


@pytest.mark.parametrize("copies", [0, 2])
def test_a_heap_that_is_not_found_for_sure_is_not_read(copies: int) -> None:
    with pytest.raises(ValueError, match=f"{copies} places"):
        Heap(_pico(b"", copies))


def _note(table: str, doing: str, free: int, largest: int, trouble: str = "") -> Note:
    return Note(table, "new", 1, "STOP", doing, "card", Room(free, largest), 272, trouble)


def test_the_verdict_names_what_is_too_little_and_each_trouble() -> None:
    least, piece = worst.FREE_BYTES, worst.PIECE_BYTES
    good = _note("baccarat", "flood", least, piece)
    few = _note("baccarat", "self-test", least - 16, piece)
    split = _note("baccarat", "card", least, piece - 16)
    ended = _note("baccarat", "card", least, piece, "restarted 1 times")
    assert not worst.faults([good])
    assert [line.rpartition(": ")[2] for line in worst.faults([good, few, split, ended])] == [
        f"{least - 16} bytes free",
        f"{piece - 16} bytes in one piece",
        "restarted 1 times",
    ]
    assert worst.worst([good, few, split, ended], "free")[0] == few


@pytest.mark.slow
def test_a_sample_of_a_walk_on_the_emulated_pico(image_file: Path, tmp_path: Path) -> None:
    """A whole run is `make memory`."""
    (table,) = [each for each in TABLES if each.name == "blackjack"]
    works = ("flood", "self-test", "game sent again")
    notes = walk(table, "new", 1, 1, tmp_path, image_file, works)
    assert {"start", *works} < {note.doing for note in notes}
    assert not worst.faults(notes)
    assert all(note.room.free < 100_000 for note in notes), "garbage was collected in each step"
