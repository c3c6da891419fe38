"""The functions of an image, and the misses in each."""

from array import array

from sabot_hil.benchmarks.misses import functions_of, misses_by_function

NOP = b"\xc0\x46"


def test_functions_begin_where_the_image_calls_them() -> None:
    """The two instructions are from MicroPython v1.28's image, as a disassembler shows them: at
    2d1e0 `bl 0x1b170`, at 4de4 `bl 0x1b0b4`."""
    image = bytearray(NOP * 0x20000)
    image[0x2D1E0:0x2D1E4] = bytes.fromhex("edf7c6ff")
    image[0x4DE4:0x4DE8] = bytes.fromhex("16f066f9")
    assert functions_of(bytes(image)) == [0, 0x1B0B4, 0x1B170]


def test_a_miss_belongs_to_the_function_that_begins_at_or_before_its_word() -> None:
    counts = array("I", [5, 0, 1, 2, 4])
    assert misses_by_function(counts, [0, 8, 14]) == {0: 5, 8: 3, 14: 4}
