import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sabot.sim.process import FIRMWARE, environment, interpreter
from sabot_firmware.boards import nor
from sabot_firmware.boards.sim import flash
from sabot_firmware.boards.sim.flash import SimFlash
from sabot_hil.kit import flash_image
from sabot_hil.kit.flash_image import PAGE, SECTOR, ChipImage, FlashOperation, read_trace

_SMALL = 4
_CUTS = [("program", how) for how in flash_image.PROGRAM_CUTS]
_CUTS += [("erase", how) for how in flash_image.ERASE_CUTS]


def _programmed(rng: random.Random) -> ChipImage:
    """A small chip with random bytes in it, and the end of each page still erased."""
    image = ChipImage(sectors=_SMALL)
    for page in range(_SMALL * SECTOR // PAGE):
        image.apply(FlashOperation("program", page * PAGE, rng.randbytes(200)))
    return image


def _random_operation(rng: random.Random, image: ChipImage) -> FlashOperation:
    """Return an operation that flash can do: it only turns bits to zeros, or erases."""
    if rng.random() < 0.1:
        return FlashOperation("erase", rng.randrange(image.sectors) * SECTOR)
    size = rng.randint(1, 60)
    page = rng.randrange(image.sectors * SECTOR // PAGE)
    address = page * PAGE + rng.randint(0, PAGE - size)
    pairs = zip(image.read(address, size), rng.randbytes(size), strict=True)
    return FlashOperation("program", address, bytes(old & new for old, new in pairs))


def _ones(data: bytes) -> int:
    return int.from_bytes(data, "big").bit_count()


def _cut(kind: str, how: str, seed: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield, for many cuts, the content before, the content if complete, and the result."""
    rng = random.Random(seed)
    image = _programmed(rng)
    generator = np.random.default_rng(seed)
    for _ in range(40):
        operation = _random_operation(rng, image)
        while operation.kind != kind:
            operation = _random_operation(rng, image)
        done, torn = image.copy(), image.copy()
        done.apply(operation)
        torn.cut(operation, how, generator)
        size = SECTOR if kind == "erase" else len(operation.data)
        place = (operation.address, size)
        yield image.read(*place), done.read(*place), torn.read(*place)
        for other in (0, operation.address), (operation.address + size, _SMALL * SECTOR):
            rest = (other[0], other[1] - other[0])
            assert torn.read(*rest) == image.read(*rest), "something changed outside the operation"


def test_sizes_are_those_of_the_firmware() -> None:
    assert (nor.SECTOR, nor.PAGE, flash.SECTORS) == (SECTOR, PAGE, flash_image.SECTORS)


# Image and file


def test_a_new_image_is_erased_and_an_empty_file(tmp_path: Path) -> None:
    image = ChipImage()
    assert image.read(flash_image.SECTORS * SECTOR - 5, 5) == b"\xff" * 5
    image.apply(FlashOperation("erase", 7 * SECTOR))
    image.save(tmp_path / "flash")
    assert (tmp_path / "flash").read_bytes() == b""
    assert ChipImage.load(tmp_path / "flash") == image


def test_images_with_equal_content_are_equal() -> None:
    image = ChipImage(b"\x00" + b"\xff" * 100)
    assert (
        image == ChipImage(b"\x00") and image != ChipImage(b"\x00\x00") and image != ChipImage(b"")
    )
    assert image != ChipImage(b"\x00", sectors=9)
    copy = image.copy()
    copy.apply(FlashOperation("program", 1, b"\x7f"))
    assert copy != image and copy.read(0, 3) == b"\x00\x7f\xff"


def test_an_operation_that_flash_cannot_do_is_refused() -> None:
    image = ChipImage(b"\xf0")
    with pytest.raises(ValueError, match="cannot make a zero a one"):
        image.apply(FlashOperation("program", 0, b"\xf1"))
    with pytest.raises(ValueError, match="cannot make a zero a one"):
        image.cut(FlashOperation("program", 0, b"\xf1"), "some bits", np.random.default_rng(0))
    for address in (-1, flash_image.SECTORS * SECTOR):
        with pytest.raises(ValueError, match="beyond the chip"):
            image.apply(FlashOperation("program", address, b"\x00"))
    with pytest.raises(ValueError, match="not a way to cut"):
        image.cut(FlashOperation("program", 0, b"\x00"), "all zeros", np.random.default_rng(0))
    with pytest.raises(ValueError, match="more than 1 sectors"):
        ChipImage(bytes(SECTOR + 1), sectors=1)
    assert image == ChipImage(b"\xf0")


def test_damage_that_flash_cannot_do_can_be_written() -> None:
    image = ChipImage(b"\x00\x00\x00")
    image.write(1, b"\xff")
    image.write(SECTOR, b"\x12")
    assert image.read(0, 4) == b"\x00\xff\x00\xff" and image.read(SECTOR - 1, 2) == b"\xff\x12"


# Trace


def test_a_trace_gives_back_every_state_that_the_simulated_chip_was_in(
    tmp_path: Path, seed: int
) -> None:
    """The chip is the firmware's own, under CPython; its file is read after each operation."""
    rng = random.Random(seed)
    path, trace = tmp_path / "flash", tmp_path / "trace"
    flash = SimFlash(str(path), speed=0, trace=str(trace), sectors=_SMALL)
    model = ChipImage(sectors=_SMALL)
    states = []
    for _ in range(200):
        operation = _random_operation(rng, model)
        model.apply(operation)
        if operation.kind == "erase":
            flash.erase(operation.address // SECTOR)
        else:
            flash.program(operation.address, operation.data)
        states.append(ChipImage.load(path, sectors=_SMALL))
    image = ChipImage(sectors=_SMALL)
    operations = read_trace(trace.read_bytes())
    assert len(operations) == len(states)
    for operation, state in zip(operations, states, strict=True):
        image.apply(operation)
        assert image == state
    again = ChipImage(sectors=_SMALL)
    again.apply_all(operations)
    assert again == image == model


_SCRIPT = """
import sys
from sabot_firmware.boards.sim.flash import SimFlash
flash = SimFlash(sys.argv[1], speed=0, trace=sys.argv[2])
assert flash.sectors == 4096
buf = bytearray(10)
flash.read(0, buf)
assert bytes(buf[:6]) == b"before"
for i in range(20):
    flash.program(4096 + 16 * i, b"record %d" % i)
flash.erase(0)
sys.stdout.write("done")
while True:
    pass
"""


def test_a_killed_micropython_leaves_all_it_did_in_file_and_trace(tmp_path: Path) -> None:
    path, trace = tmp_path / "flash", tmp_path / "trace"
    image = ChipImage(b"before")
    image.save(path)
    (tmp_path / "script.py").write_text(_SCRIPT)
    command = [*interpreter(), str(tmp_path / "script.py"), str(path), str(trace)]
    process = subprocess.Popen(
        command, cwd=FIRMWARE, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        assert process.stdout is not None
        said = process.stdout.read(4)
    finally:
        process.kill()
        process.wait(10)
    assert said == b"done", said + process.stdout.read()
    operations = read_trace(trace.read_bytes())
    assert [operation.kind for operation in operations] == ["program"] * 20 + ["erase"]
    image.apply_all(operations)
    assert ChipImage.load(path) == image
    assert image.read(0, 6) == b"\xff" * 6 and image.read(4096, 8) == b"record 0"


def test_an_incomplete_last_record_is_left_out() -> None:
    whole = b"P\x00\x01\x00\x00\x03\x00abc" + b"E\x00\x10\x00\x00\x00\x00"
    operations = [FlashOperation("program", 256, b"abc"), FlashOperation("erase", SECTOR)]
    for size in range(len(whole) + 1):
        assert read_trace(whole[:size]) == operations[: (size >= 10) + (size >= 17)]


@pytest.mark.parametrize(
    "trace",
    [
        b"X\x00\x00\x00\x00\x00\x00",
        b"E\x00\x00\x00\x00\x01\x00a",
        b"E\x01\x00\x00\x00\x00\x00",
        b"P\x00\x00\x00\x00\x00\x00",
        b"P\xff\x00\x00\x00\x02\x00ab",
        b"P\x00\x00\x00\x00\x01\x01" + bytes(257),
    ],
)
def test_a_file_that_is_not_a_trace_is_refused(trace: bytes) -> None:
    with pytest.raises(ValueError, match="record 1 at byte 0"):
        read_trace(trace)


# Power cuts


@pytest.mark.parametrize(("kind", "how"), _CUTS)
def test_the_same_seed_cuts_in_the_same_way(kind: str, how: str, seed: int) -> None:
    assert list(_cut(kind, how, seed)) == list(_cut(kind, how, seed))


@pytest.mark.parametrize("how", flash_image.PROGRAM_CUTS)
def test_a_cut_program_has_turned_some_of_its_ones_into_zeros_and_no_others(
    how: str, seed: int
) -> None:
    for before, after, torn in _cut("program", how, seed):
        for i in range(len(before)):
            assert torn[i] & ~before[i] == 0 and after[i] & ~torn[i] == 0
        if how == "nothing":
            assert torn == before
        if how == "all":
            assert torn == after
        if how == "all but a bit":
            assert _ones(torn) - _ones(after) == (before != after)
        if how == "first bytes":
            different = [i for i in range(len(after)) if torn[i] != after[i]]
            first = min(different, default=len(after))
            assert torn[first + 1 :] == before[first + 1 :]


@pytest.mark.parametrize("how", flash_image.ERASE_CUTS)
def test_a_cut_erase_is_on_its_way_to_zeros_or_from_them_to_ones(how: str, seed: int) -> None:
    for before, _, torn in _cut("erase", how, seed):
        if how in ("zeros first", "all zeros"):
            assert all(new & ~old == 0 for old, new in zip(before, torn, strict=True))
        else:
            assert all(old & ~new == 0 for old, new in zip(before, torn, strict=True))
        zeros = 8 * SECTOR - _ones(torn)
        if how == "nothing":
            assert torn == before
        if how == "all zeros":
            assert zeros == 8 * SECTOR
        if how == "all":
            assert zeros == 0
        if how == "all but a bit":
            assert zeros == min(1, 8 * SECTOR - _ones(before))
        if how == "nearly":
            assert zeros < SECTOR // 8


@pytest.mark.parametrize(("kind", "how"), [("program", "some bits"), ("erase", "some bits")])
def test_how_much_was_done_of_a_cut_operation_differs_from_nearly_none_to_nearly_all(
    kind: str, how: str, seed: int
) -> None:
    shares = []
    for before, after, torn in _cut(kind, how, seed):
        to_change = abs(_ones(after) - _ones(before))
        if to_change > 50:
            shares.append(abs(_ones(torn) - _ones(before)) / to_change)
    assert len(shares) > 5 and max(shares) - min(shares) > 0.3
