"""Words that a board does not need: what runs without them makes the same events and messages."""

import re

import pytest

from sabot.release.compiling.board_words import without_unneeded_words
from sabot.release.compiling.modules import sources
from sabot_protocol import enums, events, messages

_EVENTS, _MESSAGES = "sabot_protocol/events.py", "sabot_protocol/messages.py"


def _run(path: str) -> dict[str, object]:
    """Return the names of a module of the protocol, as a board has them."""
    found: dict[str, object] = {}
    exec(compile(without_unneeded_words(sources())[path], path, "exec"), found)
    return found


@pytest.mark.slow
def test_a_board_has_every_kind_of_event_with_its_number_and_its_maker() -> None:
    kinds = _run(_EVENTS)["KINDS"]
    assert isinstance(kinds, tuple)
    assert [(kind.number, kind.by) for kind in kinds] == [
        (kind.number, kind.by) for kind in events.KINDS
    ]
    assert {kind.name for kind in kinds} == {""} and {kind.fields for kind in kinds} == {()}


@pytest.mark.slow
def test_the_header_of_events_and_the_messages_to_a_device_are_whole() -> None:
    assert _run(_EVENTS)["HEADER"] == events.HEADER
    found = _run(_MESSAGES)
    whole = [(shape.number, shape.name, shape.fields) for shape in messages.TO_DEVICE]
    made = found["TO_DEVICE"]
    assert isinstance(made, tuple)
    assert [(shape.number, shape.name, shape.fields) for shape in made] == whole
    assert [shape.answer and shape.answer.number for shape in made] == [
        shape.answer and shape.answer.number for shape in messages.TO_DEVICE
    ]


def test_a_place_given_as_a_word_is_a_number_and_other_calls_stay() -> None:
    source = b"""\
from sabot_protocol import enums
A = 1 << enums.FAULTS.index("jam")
B = enums.FAULTS.index(given)
C = other.FAULTS.index("jam")
D = enums.FAULTS[2]
"""
    (made,) = without_unneeded_words({"a.py": source}).values()
    jam = enums.FAULTS.index("jam")
    assert made.decode().splitlines()[1:] == [
        f"A = 1 << {jam}",
        "B = enums.FAULTS.index(given)",
        "C = other.FAULTS.index('jam')",
        "D = enums.FAULTS[2]",
    ]


@pytest.mark.parametrize("source", [b"A = (", b'A = enums.FAULTS.index("no such fault")'])
def test_a_source_that_cannot_be_right_is_refused(source: bytes) -> None:
    with pytest.raises(ValueError):
        without_unneeded_words({"a.py": source})


def test_no_module_of_a_board_reads_the_names_or_fields_of_what_it_makes() -> None:
    """Except where a command is found by its name, and the check of what a device is sent."""
    reads = re.compile(rb"\.fields\b|\bshape\.name\b|\bkind\.name\b")
    found = {
        (path, line.strip())
        for path, source in sources().items()
        if path.startswith(("sabot_firmware/", "sabot_protocol/")) and "/sim/" not in path
        for line in source.splitlines()
        if reads.search(line) and not line.strip().startswith((b"#", b'"'))
    }
    assert {path for path, _ in found} <= {
        "sabot_firmware/link/commands.py",
        "sabot_protocol/events.py",
        "sabot_protocol/schema.py",
    }, found
