"""A note has the same effect on the dealing as the input itself."""

from firmware.tests.support import table
from firmware.tests.support.table import SITUATIONS, Table, action_text, note_of
from sabot_firmware.table import input_log
from sabot_protocol import cbor, enums


def test_every_input_is_the_same_as_a_note_in_every_situation():
    for name in SITUATIONS:
        for text in table.INPUTS + tuple("?" + fault for fault in enums.FAULTS[1:]):
            direct, noted = Table(SITUATIONS[name][0]), Table(SITUATIONS[name][0])
            actions = input_log.carry_out(noted.shoe, note_of(text))
            assert [action_text(action) for action in actions] == direct.play(text), (
                name,
                text,
            )
            assert noted.snapshot() == direct.snapshot(), (name, text)


def test_a_note_is_the_same_when_it_was_written_and_read():
    for text in table.INPUTS:
        note = note_of(text)
        buf = bytearray(64)
        size = cbor.encode_array(buf, 0, note, len(note))
        assert cbor.decode(buf, 0, size) == note, text


def test_the_kinds_of_notes_keep_their_numbers():
    # They are stored in journals.
    assert tuple(range(8)) == (
        input_log.CARD, input_log.FAULT, input_log.PRESSED, input_log.SWITCHED,
        input_log.SENSOR_FAILED, input_log.SAMPLES_LOST, input_log.POWER_LOST,
        input_log.JOURNAL_FULL,
    )  # fmt: skip
