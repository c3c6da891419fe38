"""The kept state of a dealing: what is recovered of it, and that the largest one has room."""

from firmware.tests.support import table
from firmware.tests.support.recovering import MAC, Unit, game_with, recovered, seen
from protocol.tests.helpers import raised
from sabot_firmware.journal.journal import JournalError
from sabot_firmware.table import input_log, pending
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import cbor, enums, events


def test_the_boot_number_and_the_acknowledged_events_are_recovered():
    unit = Unit(game_with({}))
    unit.boot = 41
    unit.number = 5000
    unit.keep()
    resumed, _ = recovered(unit, unit.game)
    assert (resumed.boot, resumed.acknowledged) == (41, 4991)
    unit.boot = 42
    unit.record(events.BOOT, 7, 1, (0, "1.0", bytes(32), "sim", "mini", MAC))
    assert recovered(unit, unit.game)[0].boot == 42


def test_a_state_of_another_firmware_is_refused():
    unit = Unit(game_with({}))
    kind, payload = unit.entries[-1]
    unit.entries.append((kind, payload[:1] + b"\x03" + payload[2:]))
    assert payload[1] == 1
    assert raised(JournalError, recovered, unit, unit.game)


def test_the_largest_state_fits_an_entry():
    _check_largest(Unit(game_with({})))


def test_the_largest_state_with_sealed_cards_fits_an_entry():
    unit = Unit(game_with({"name": "midi", "shown": "after_reveal"}))
    unit.seals.resume(0xFFFFFFFF, 255)
    _check_largest(unit, True, bytes(40))


def _check_largest(unit, sealed=False, sealed_cards=b""):
    dealing = Dealing(unit.game, table.SET, 0xFFFFFFFF)
    dealing.sealed, dealing.sealed_cards = sealed, sealed_cards
    dealing.round = dealing.rounds = 400
    dealing.current_round.player = dealing.current_round.banker = [51, 51, 51]
    dealing.current_round.begun = True
    dealing.current_round.hits = 0x3FF
    dealing.error = len(enums.ERRORS) - 1
    dealing.fault = len(enums.FAULTS) - 1
    dealing.lid_open = dealing.key_on = dealing.service_on = True
    dealing.burn_left = 10
    dealing.rounds_left = 2
    dealing.after_cut = 416
    dealing.inventory.load(8)
    for card in range(52):
        for _ in range(255):
            dealing.inventory.count(card)
    dealing.inventory.unread = 999
    largest = (100000, 100000, 100000, 100000)
    dealing.pending.seed = bytes(4)
    dealing.pending.begin("surplus_copy", 5, pending.COUNTS, sealed)
    dealing.pending.keep_read(51, largest, True)
    for _ in range(5):
        dealing.pending.step()
    dealing.pending.step_suit()
    unit.dealing = dealing
    unit.boot, unit.number = 0xFFFFFFFF, 0xFFFFFFFF
    unit.keep()  # raises if the buffer is too small
    resumed, again = recovered(unit, unit.game)
    assert seen(again) == seen(dealing) and resumed.boot == 0xFFFFFFFF


def test_the_largest_note_fits_its_buffer():
    buf = bytearray(64)
    for note in ([input_log.FAULT, 9] + [0xFFFFFFFF] * 4, [input_log.CARD, 53] + [0xFFFFFFFF] * 4):
        assert cbor.encode_array(buf, 0, note, len(note)) < len(buf)
