"""The list of names that our sources and MicroPython both have, against MicroPython's binaries.

MicroPython has its names in a table of pointers to strings. So a string that a pointer in its data
leads to may be a name, and any other string is not.
"""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import micropython_run
import pytest
from elftools.elf.elffile import ELFFile

from sabot.release import uf2
from sabot.release.compiling.micropython_names import MICROPYTHON_NAMES
from sabot.release.compiling.modules import sources
from sabot.release.compiling.short_names import defined_names

_NAME = re.compile(rb"([A-Za-z]\w*)\0")
_FLASH = 0x10000000
_WORD = struct.Struct("<I")


def _ours() -> set[str]:
    return {name for name in defined_names(sources()) if not name.startswith("_")}


def _names_at(data: bytes | bytearray, places: Iterator[int]) -> set[str]:
    found = (_NAME.match(data, at) for at in places)
    return {match[1].decode() for match in found if match}


@pytest.mark.slow
def test_every_name_that_micropython_for_unix_has_stays() -> None:
    with Path(micropython_run.__file__).open("rb") as file:
        elf = ELFFile(file)
        memory = bytearray()
        for segment in elf.iter_segments("PT_LOAD"):
            memory.extend(bytes(segment["p_vaddr"] - len(memory)) + segment.data())
        pointers = elf.get_section_by_name(".rela.dyn").iter_relocations()
        names = _names_at(memory, (pointer["r_addend"] for pointer in pointers))
    assert {"readinto", "ioctl", "sleep_ms"} <= names
    assert names & _ours() <= MICROPYTHON_NAMES


@pytest.mark.skipif("SABOT_UF2" not in os.environ, reason="no image of MicroPython for the Pico")
def test_every_name_that_micropython_for_the_pico_has_stays() -> None:
    flash = uf2.read(Path(os.environ["SABOT_UF2"]), "").content
    places = (word - _FLASH for (word,) in _WORD.iter_unpack(flash[: len(flash) // 4 * 4]))
    names = _names_at(flash, (at for at in places if 0 <= at < len(flash)))
    assert {"readinto", "ioctl", "sleep_ms", "WDT"} <= names
    assert names & _ours() <= MICROPYTHON_NAMES


@pytest.mark.slow
def test_the_list_has_only_names_of_the_sources() -> None:
    assert _ours() >= MICROPYTHON_NAMES
