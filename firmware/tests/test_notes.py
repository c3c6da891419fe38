"""A note does to the dealing what the input itself does."""

from firmware import notes
from firmware.tests import table
from firmware.tests.table import SITUATIONS, Table, note_of, told_of
from protocol import cbor, words


def test_every_input_is_the_same_as_a_note_in_every_situation():
    for name in SITUATIONS:
        for text in table.INPUTS + tuple("?" + fault for fault in words.FAULTS[1:]):
            direct, noted = Table(SITUATIONS[name][0]), Table(SITUATIONS[name][0])
            actions = notes.carry_out(noted.shoe, note_of(text))
            assert [told_of(action) for action in actions] == direct.play(text), (name, text)
            assert noted.snapshot() == direct.snapshot(), (name, text)


def test_a_note_is_the_same_when_it_was_written_and_read():
    for text in table.INPUTS:
        note = note_of(text)
        buf = bytearray(64)
        size = cbor.encode_array(buf, 0, note, len(note))
        assert cbor.decode(buf, 0, size) == note, text


def test_the_kinds_of_notes_keep_their_numbers():
    # They lie in journals.
    assert tuple(range(8)) == (
        notes.CARD, notes.FAULT, notes.PRESSED, notes.SWITCHED,
        notes.SENSOR_FAILED, notes.SAMPLES_LOST, notes.POWER_LOST, notes.JOURNAL_FULL,
    )  # fmt: skip
