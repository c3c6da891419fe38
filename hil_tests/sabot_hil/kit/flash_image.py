"""The simulated journal chip seen from the host: its image, its trace, and the effect of a power
cut in the middle of an operation.

The formats of both files are those of sabot_firmware/boards/sim/flash.py. Only `load` and `save`
access files.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

SECTOR = 4096
PAGE = 256
SECTORS = 4096

_HEAD = struct.Struct("<cIH")

PROGRAM_CUTS = ("nothing", "some bits", "first bytes", "all but a bit", "all")
"""The ways to cut a program, see `ChipImage.cut`."""

ERASE_CUTS = ("nothing", "zeros first", "all zeros", "some bits", "nearly", "all but a bit", "all")
"""The ways to cut an erase. A chip programs the sector to zeros before it erases it."""


@dataclass(frozen=True, slots=True)
class FlashOperation:
    """A program of `data` at `address`, or the erase of the sector that begins there."""

    kind: Literal["program", "erase"]
    address: int
    data: bytes = b""

    @property
    def cuts(self) -> tuple[str, ...]:
        """The ways to cut this operation."""
        return PROGRAM_CUTS if self.kind == "program" else ERASE_CUTS


def read_trace(trace: bytes) -> list[FlashOperation]:
    """Return the operations of a trace, in order.

    An incomplete last record is left out: its writer was killed before the operation was done.
    Raises ValueError if this is not a trace.
    """
    operations = []
    at = 0
    while at + _HEAD.size <= len(trace):
        kind, address, size = _HEAD.unpack_from(trace, at)
        data = trace[at + _HEAD.size : at + _HEAD.size + size]
        if kind == b"P" and 1 <= size <= PAGE and address % PAGE + size <= PAGE:
            if len(data) < size:
                break
            operations.append(FlashOperation("program", address, data))
        elif kind == b"E" and not size and address % SECTOR == 0:
            operations.append(FlashOperation("erase", address))
        else:
            raise ValueError(f"not a trace: record {len(operations) + 1} at byte {at}")
        at += _HEAD.size + size
    return operations


class ChipImage:
    """The content of a chip of `sectors` sectors. A new one is erased.

    Only the part up to the last byte that was ever programmed takes memory, so an image early in a
    chip's life is copied and saved fast.
    """

    def __init__(self, content: bytes | bytearray = b"", *, sectors: int = SECTORS) -> None:
        if len(content) > sectors * SECTOR:
            raise ValueError(f"{len(content)} bytes are more than {sectors} sectors")
        self.sectors = sectors
        self._content = bytearray(content)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChipImage) or self.sectors != other.sectors:
            return False
        size = max(len(self._content), len(other._content))
        return self.read(0, size) == other.read(0, size)

    @classmethod
    def load(cls, path: Path, *, sectors: int = SECTORS) -> "ChipImage":
        """Return the image in a file of the simulated board."""
        return cls(path.read_bytes(), sectors=sectors)

    def save(self, path: Path) -> None:
        """Write the image to `path`, for a simulated board to start on."""
        path.write_bytes(self._content)

    @property
    def content(self) -> bytes:
        """The bytes up to the last one that was ever programmed."""
        return bytes(self._content)

    def copy(self) -> "ChipImage":
        """Return an independent copy."""
        return ChipImage(self._content, sectors=self.sectors)

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes from `address` on. Raises ValueError beyond the chip."""
        if address < 0 or size < 0 or address + size > self.sectors * SECTOR:
            raise ValueError(f"{size} bytes at {address} are beyond the chip")
        found = bytes(self._content[address : address + size])
        return found + b"\xff" * (size - len(found))

    def write(self, address: int, data: bytes) -> None:
        """Write `data` even if flash could not do that: for damage of every kind."""
        self.read(address, len(data))
        if address < len(self._content) or data.strip(b"\xff"):
            self._content += b"\xff" * (address - len(self._content))
            self._content[address : address + len(data)] = data

    def apply(self, operation: FlashOperation) -> None:
        """Do the operation. Raises ValueError if flash could not do it."""
        before = self.read(operation.address, _size_of_operation(operation))
        self.write(operation.address, _after(before, operation))

    def apply_all(self, operations: Iterable[FlashOperation]) -> None:
        """Do the operations, in order."""
        for operation in operations:
            self.apply(operation)

    def cut(self, operation: FlashOperation, how: str, rng: np.random.Generator) -> None:
        """Begin the operation and lose the power in the middle, in the way `how`.

        After a cut program (`PROGRAM_CUTS`), of the bits that were to become zeros these have
        changed: none; a random part; all in the first bytes and a random part of the next byte; all
        but one; or all. After a cut erase (`ERASE_CUTS`): nothing has changed; a random part of the
        ones, or all of them, are zeros; a random part of the zeros, all but one in a thousand, or
        all but one bit have become ones; or all is done. The size of a random part is random too.
        Raises ValueError if flash could not do the operation, or if it cannot be cut in this way.
        """
        if how not in operation.cuts:
            raise ValueError(f"not a way to cut a {operation.kind}: {how}")
        data = self.read(operation.address, _size_of_operation(operation))
        before = np.frombuffer(data, np.uint8)
        after = np.frombuffer(_after(data, operation), np.uint8)
        if how == "zeros first":
            after = before & ~_bits(rng, len(before), rng.random())
        elif how == "all zeros":
            after = np.zeros_like(before)
        else:
            after = before ^ ((before ^ after) & _changed_bits(how, before ^ after, rng))
        self.write(operation.address, after.tobytes())


def _size_of_operation(operation: FlashOperation) -> int:
    return len(operation.data) if operation.kind == "program" else SECTOR


def _after(before: bytes, operation: FlashOperation) -> bytes:
    if operation.kind == "erase":
        return b"\xff" * SECTOR
    for i, (old, new) in enumerate(zip(before, operation.data, strict=True)):
        if new & ~old:
            raise ValueError(f"a program cannot make a zero a one, at {operation.address + i}")
    return operation.data


def _changed_bits(how: str, changing: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of the bits that have changed, of those that are to change."""
    size = len(changing)
    if how == "nothing":
        return np.zeros(size, np.uint8)
    if how == "some bits":
        return _bits(rng, size, rng.random())
    if how == "nearly":
        return _bits(rng, size, 0.999)
    done = np.full(size, 0xFF, np.uint8)
    if how == "first bytes":
        whole = int(rng.integers(size))
        done[whole + 1 :] = 0
        done[whole] = rng.integers(256)
    elif how == "all but a bit":
        bits = np.flatnonzero(np.unpackbits(changing))
        if len(bits):
            spared = int(rng.choice(bits))
            done[spared // 8] ^= 0x80 >> spared % 8
    return done


def _bits(rng: np.random.Generator, size: int, share: float) -> np.ndarray:
    """Return `size` bytes in which each bit is set with the probability `share`."""
    return np.packbits(rng.random(8 * size) < share)
