"""The host's commands on a shoe without a board: what they do, record and answer."""

from firmware.tests.fakes.fake_flash import RING
from firmware.tests.support.commanding import Shoe, document_with, done, load_game, refused, run
from firmware.tests.test_store import Folder
from sabot_firmware.link import commands
from sabot_firmware.table import input_log
from sabot_protocol import cbor, enums, events, messages

_NEW_YEAR_2025_MS = 1735689600000
_JULY_2026_MS = 1782864000000


def test_every_command_is_carried_out_by_a_function_of_its_name():
    for shape in messages.TO_DEVICE:
        if shape.by is not None:
            name = "on_" + shape.name
            assert hasattr(commands, name), "sabot_firmware/link/commands.py has no " + name
    names = [shape.name for shape in messages.TO_DEVICE if shape.by is not None]
    for name in dir(commands):
        assert name[:3] != "on_" or name[3:] in names, "no command is called " + name[3:]


def test_a_command_that_opens_files_gets_the_spare_piece_unless_the_lock_is_open():
    for shape, values, given in (
        (messages.SELF_TEST, (), True),
        (messages.CONFIRM, (), True),
        (messages.STATUS, (), False),
    ):
        with Folder() as folder:
            shoe = Shoe(folder)
            did = []
            shoe.heap.give_spare = lambda did=did: did.append("gives")
            shoe.heap.take_spare = lambda did=did: did.append("takes")
            try:
                commands.run(shoe, shape, [1] + list(values))
            except AttributeError:  # this shoe has no parts for a self-test
                pass
            assert ("gives" in did) == given, shape.name
            shoe.dealing.lock_released = lambda: True
            did.clear()
            try:
                commands.run(shoe, shape, [2] + list(values))
            except AttributeError:
                pass
            assert not did, shape.name


def test_set_clock_sets_the_time_of_day_and_is_recorded():
    with Folder() as folder:
        shoe = Shoe(folder)
        assert done(run(shoe, messages.SET_CLOCK, 9, _JULY_2026_MS))
        shoe.board.now_ms += 250
        assert shoe.recorder.unix_ms() == _JULY_2026_MS + 250
        ((kind, _, _, t_ms, unix_ms, shoe_number, _, before),) = shoe.recorded()
        assert (kind, before) == (events.CLOCK_SET.number, None)
        assert (t_ms, unix_ms, shoe_number) == (5000, _JULY_2026_MS, 41)


def test_an_old_time_is_refused_and_the_clock_stays():
    with Folder() as folder:
        shoe = Shoe(folder)
        for old in (0, 1, 1600000000000, _NEW_YEAR_2025_MS - 1):
            refused(run(shoe, messages.SET_CLOCK, 1, old))
        assert shoe.recorder.unix_ms() is None and shoe.recorded() == []
        assert done(run(shoe, messages.SET_CLOCK, 1, _NEW_YEAR_2025_MS))
        refused(run(shoe, messages.SET_CLOCK, 2, 1600000000000))
        assert shoe.recorder.unix_ms() == _NEW_YEAR_2025_MS


def test_no_time_stops_the_shoe_from_recording():
    for unix_ms in ((1 << 64) - 1, (1 << 63), 1 << 50):
        with Folder() as folder:
            shoe = Shoe(folder)
            commands.run(shoe, messages.SET_CLOCK, [1, unix_ms])
            shoe.board.now_ms += 60000
            shoe.recorder.record(events.LID, 1, 0, (True,))
            assert shoe.recorded()[-1][0] == events.LID.number


def test_the_note_of_a_hosts_ghost_hand_that_firmware_0_2_0_wrote_is_carried_out():
    with Folder() as folder:
        shoe = Shoe(folder)
        shoe.acting.carry_out([input_log.GHOST_HAND])
        shoe.load_cards()
        for card in (0, 14):  # an ace, and one to burn
            shoe.dealing.card_passed(card)
        for _ in range(3):
            shoe.acting.carry_out([input_log.GHOST_HAND])
            shoe.acting.carry_out([input_log.GHOST_HAND])
            for card in (8, 1, 12, 1):  # 9 and a king make a natural
                shoe.dealing.card_passed(card)
            shoe.dealing.pressed(enums.BUTTONS.index("next"))
        shoe.acting.carry_out([input_log.GHOST_HAND])
        marked = [each[7] for each in shoe.recorded() if each[0] == events.GHOST_HAND.number]
        assert marked == [1, 2, 3]


def test_identify_buzzes_and_is_recorded():
    with Folder() as folder:
        shoe = Shoe(folder)
        assert done(run(shoe, messages.IDENTIFY, 1))
        assert len(shoe.board.buzzed_ms) == 1 and shoe.board.buzzed_ms[0] > 500
        assert [event[0] for event in shoe.recorded()] == [events.IDENTIFIED.number]


def test_status_reports_the_state_of_the_shoe():
    with Folder() as folder:
        shoe = Shoe(folder)
        shoe.load_cards()
        for card in (0, 14, 3):  # an ace, one to burn, the Player's first
            shoe.dealing.card_passed(card)
        for _ in range(5):
            shoe.recorder.record(events.LID, 1, 0, (True,))
        shoe.journal.drain()
        shoe.outbox.acknowledge(3)
        answer = run(shoe, messages.STATUS, 12)
        fields = [name for name, _ in messages.STATUS_REPORT.fields]
        report = {fields[i]: answer[1 + i] for i in range(len(fields))}
        assert answer[0] == messages.STATUS_REPORT.number
        assert report == {
            "id": 12,
            "t_ms": 5000,
            "unix_ms": None,
            "phase": enums.PHASES.index("dealing"),
            "error": 0,
            "lock_released": True,
            "shoe": 42,
            "round": 1,
            "cards": 3,
            "heap_used": 1000,
            "heap_free": 2000,
            "queue_events": 2,
            "frames_dropped": 3,
            "journal_room": (RING - 1) * (4080 // 214),  # the largest entries into sectors
            "bad_sectors": 0,
        }


def test_read_events_goes_back_to_what_is_held_and_refuses_the_rest():
    with Folder() as folder:
        shoe = Shoe(folder)
        outbox = shoe.outbox
        for _ in range(1500):  # more than the chip holds
            shoe.recorder.record(events.LID, 1, 0, (True,))
            shoe.journal.drain()
            outbox.acknowledge(outbox.next_number - 1)
        assert 1 < outbox.first_held < 1200
        for number in (0, 1, outbox.first_held - 1, 1502, 1 << 63):
            reason = refused(run(shoe, messages.READ_EVENTS, 1, number))
            assert reason == ("not_held", str(number))
            assert outbox.take() is None
        for number in (1500, outbox.first_held, 1300):
            assert done(run(shoe, messages.READ_EVENTS, 1, number))
            record = outbox.take().record
            assert cbor.decode(record, 0, len(record))[1] == number


def test_a_journal_that_waits_for_a_host_records_no_commands():
    with Folder() as folder:
        shoe = Shoe(folder, ring=3)
        journal = shoe.journal
        while not journal.crowded():
            assert done(run(shoe, messages.IDENTIFY, 1))
            while journal.unwritten():
                journal.step()
        number, beeps = journal.number, len(shoe.board.buzzed_ms)
        full = ("full", "")
        assert full == refused(run(shoe, messages.IDENTIFY, 2))
        assert full == refused(run(shoe, messages.SET_CLOCK, 3, _JULY_2026_MS))
        assert full == refused(load_game(shoe, document_with(name="other")))
        assert journal.number == number and len(shoe.board.buzzed_ms) == beeps
        assert shoe.recorder.unix_ms() is None and shoe.dealing.game.name == "mini"
        assert shoe.store.load("game") is None
        assert done(run(shoe, messages.READ_EVENTS, 4, 1))
        journal.acknowledge(journal.durable)
        journal.drain()
        assert done(run(shoe, messages.IDENTIFY, 5)) and journal.number == number + 1
