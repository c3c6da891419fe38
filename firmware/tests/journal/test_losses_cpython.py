"""The whole shoe with a damaged or a full journal.

On CPython only: shoe and chip together are too large for the heap of the board.
"""

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes.fake_flash import RING, PowerCut
from firmware.tests.support.held import cut_off_before_newest_key, sector_of
from firmware.tests.support.ledger import STEPS_OF_A_SECTOR
from firmware.tests.support.scripted import (
    BURN,
    KEY_TURNED,
    LID,
    NEXT,
    again,
    card_samples,
    check_chain,
    events_from,
    loaded,
    recorded,
    started,
    started_in_file,
)
from firmware.tests.test_store import Folder
from protocol.tests.helpers import seed_random
from sabot_firmware.journal.contents import RESERVE_SECTORS
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import inputs
from sabot_protocol import enums, events


def test_events_that_are_lost_end_the_shoe_of_cards():
    seed_random()
    for count in (1, 3, 6):
        with Folder() as folder:
            board, shoe = loaded(folder, "9C", "2D")
            old = shoe.dealing.shoe, shoe.dealing.round
            due = cut_off_before_newest_key(shoe.journal, board.flash, count)
            board, after = again(folder, board)
            assert after.dealing.can_change_game()
            assert "LOAD CARDS" in board.text and board.seen == ["shut"]
            events_seen = events_from(after, due)
            assert [kind for kind, _ in events_seen] == ["boot", "gap", "shoe_ended"]
            gap = events_seen[1][1]
            assert gap[:3] == [due - count, due - 1, enums.GAP_REASONS.index("journal_damaged")]
            assert events_seen[2][1][0] == enums.END_REASONS.index("restart")
            board, after = again(folder, board)
            assert after.dealing.can_change_game() and after.dealing.shoe == old[0]
            assert [kind for kind, _ in events_from(after, due)][3:] == ["boot"], "recorded once"


def test_cuts_while_a_loss_is_recorded_leave_it_recorded_once():
    seed_random()
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D")
        due = cut_off_before_newest_key(shoe.journal, board.flash, 4)
        begun = board.flash.save()
        for cut_at in range(12):
            for cut in range(3):
                flash = board.flash
                flash.load(begun)
                flash.cut_at, flash.cut = flash.operations + cut_at, cut
                try:
                    started(folder, flash)
                except PowerCut:
                    pass
                board, after = again(folder, board)
                events_seen = events_from(after, due)
                kinds = [kind for kind, _ in events_seen]
                gaps = [values for kind, values in events_seen if kind == "gap"]
                assert after.dealing.can_change_game(), (cut_at, kinds)
                assert [gap[:2] for gap in gaps] == [[due - 4, due - 1]], (cut_at, kinds)
                assert kinds.count("shoe_ended") == 1, (cut_at, kinds)


def test_damage_after_the_last_state_ends_the_shoe_of_cards():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", ring=RING)
        journal = shoe.journal
        opened = journal._open
        while journal._open == opened:  # commands need no note and make no state
            shoe.recorder.record(events.IDENTIFIED, 0, 0, ())
            journal.drain()
        board.flash.flip(sector_of(journal, opened) * 4096 + 3000)
        board, after = again(folder, board)
        assert after.dealing.can_change_game() and "LOAD CARDS" in board.text
        reasons = [values[0] for kind, values in events_from(after, journal.durable + 1)
                   if kind == "shoe_ended"]  # fmt: skip
        assert reasons == [enums.END_REASONS.index("restart")]


def test_a_bad_sector_is_recorded_and_counted():
    with Folder() as folder:
        board, shoe = loaded(folder)
        bad = sector_of(shoe.journal, shoe.journal._open)
        board.flash.stuck_high.add(bad)
        board.play(shoe, card_samples("9C"))
        shoe.ticking.record_faults()
        fault = [values for kind, values in recorded(shoe) if kind == "journal_fault"]
        assert fault == [[enums.JOURNAL_FAULTS.index("program_failed"), bad, 0, 0]]
        assert shoe.journal.bad_sectors == 1
        board, after = again(folder, board)
        assert after.dealing.current_round.player == [8] and after.journal.bad_sectors == 0
        check_chain(after)


def test_damage_is_recorded_by_its_events_and_as_a_gap_once_a_host_reaches_it():
    with Folder() as folder:
        board, shoe = started_in_file(folder)
        journal = shoe.journal
        while journal._open < 3:
            shoe.recorder.record(events.IDENTIFIED, 0, 0, ())
            journal.drain()
        board, shoe = again(folder, board)  # this writes a state after all that
        journal = shoe.journal
        board.flash.flip(sector_of(journal, 1) * 4096 + 20)
        first, last = journal._first_of(1), journal._first_of(2) - 1
        sector = 0
        for _ in range(6 * STEPS_OF_A_SECTOR):
            sector = journal.scrub(sector)
        shoe.ticking.record_faults()
        shoe.outbox.serve_from(0)
        for _ in range(400):
            shoe.outbox.take()
        shoe.ticking.record_faults()
        shoe.ticking.record_faults()
        events_seen = events_from(shoe, journal._first_of(3) or 1)
        faults = [values for kind, values in events_seen if kind == "journal_fault"]
        place = sector_of(journal, 1)
        assert faults == [[enums.JOURNAL_FAULTS.index("damaged"), place, first, last]]
        gaps = [values for kind, values in events_seen if kind == "gap"]
        assert gaps == [[first, last, enums.GAP_REASONS.index("journal_damaged"), b""]]


# A full journal


def test_a_house_may_have_the_oldest_events_overwritten():
    with Folder() as folder:
        SettingsStore(folder.path).save("settings", {"when_full": "go_on"})
        board, shoe = started_in_file(folder, 6)
        journal = shoe.journal
        while journal.first_held == 1:
            shoe.recorder.record(events.IDENTIFIED, 0, 0, ())
            journal.drain()
        lid = [inputs.switched(LID, True), inputs.switched(LID, False)]
        board.play(shoe, *lid, card_samples("AC"))
        assert not shoe.dealing.error and shoe.dealing.card_due()
        board, shoe = again(folder, board)  # the loss is not recorded yet
        journal = shoe.journal
        lost = 1, journal.first_held - 1
        assert (journal.lost_first, journal.lost_last) == lost
        shoe.outbox.serve_from(0)
        while shoe.outbox.unacked():
            shoe.outbox.acknowledge(journal.durable)
            shoe.acknowledged()
            shoe.acknowledged()
            journal.drain()
        assert journal.lost_first == 0
        gaps = [values for kind, values in events_from(shoe, journal.durable - 1) if kind == "gap"]
        assert gaps == [[lost[0], lost[1], enums.GAP_REASONS.index("queue_full"), b""]]
        board, shoe = again(folder, board)
        assert shoe.journal.lost_first == 0, "events_seen once"


def test_a_round_that_is_open_when_the_journal_gets_full_is_dealt_to_its_end():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", ring=RESERVE_SECTORS + 2)
        journal = shoe.journal
        while not journal.full():
            shoe.recorder.record(events.IDENTIFIED, 0, 0, ())
            journal.drain()
        board.play(shoe, *[card_samples(name) for name in ("2D", "KC")])
        assert not shoe.dealing.error and shoe.dealing.lock_released()
        board.play(shoe, card_samples("2H"))
        assert (
            enums.ERRORS[shoe.dealing.error] == "journal_full"
            and shoe.dealing.current_round.winner >= 0
        )
        board, shoe = again(folder, board)
        assert enums.ERRORS[shoe.dealing.error] == "journal_full", "the journal is still full"
        board.play(shoe, *KEY_TURNED, NEXT, BURN)
        assert enums.ERRORS[shoe.dealing.error] == "journal_full"
        assert enums.PHASES[shoe.dealing.phase] == "between"
