"""The whole shoe on a scripted board: while a card passes, and on faults of the sensor head."""

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes.fake_flash import new_chip
from firmware.tests.support.passing import FAST_MM_S, E, X, pass_of
from firmware.tests.support.scripted import (
    BURN,
    KEY,
    KEY_TURNED,
    LID,
    NEXT,
    REVEAL,
    VOID,
    Over,
    ScriptedBoard,
    card_samples,
    each_recorded,
    kinds_of,
    loaded,
    parts_of,
    recorded,
    started,
    started_in_file,
)  # fmt: skip
from firmware.tests.test_store import Folder
from protocol.tests.helpers import raised
from sabot_firmware import (
    buffers,
    panel,
)
from sabot_firmware import shoe as shoe_module
from sabot_firmware.cards.health import LEAST_PERMILLE
from sabot_firmware.journal.contents import RESERVE_SECTORS
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.shoe import Shoe
from sabot_firmware.store import SettingsStore, StoreError
from sabot_firmware.table import inputs
from sabot_protocol import baccarat, cards, enums, events, games, messages


def test_the_lock_shuts_after_the_last_mark_and_nothing_is_recorded_before_the_card_has_left():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        assert shoe.dealing.lock_released()
        known, tail, rest = parts_of(card_samples("2H"), 380)  # the Player has 9: the round ends
        count = len(recorded(shoe))
        board.play(shoe, known)
        assert board.seen == ["samples", "shut"]
        assert len(recorded(shoe)) == count and not shoe.dealing.current_round.banker[1:]
        shoe.presenting.show()  # as every tick does
        assert board.seen == ["samples", "shut"], "nothing opens it again"
        board.play(shoe, tail, rest)
        assert board.seen == ["samples", "shut", "samples", "samples"]
        assert kinds_of(shoe)[-2:] == ["result", "lock"]


_UM_OF_BYTE = 2 * FAST_MM_S // 20


def _longer(samples, um):
    """Return the same pass with its end later by `um`: another card is hidden under its end."""
    covered = bytes([E | X | (E | X) << 4])  # and no mark: the last is after the last mark
    at = bytes(samples).rfind(covered)
    return samples[:at] + covered * (um // _UM_OF_BYTE) + samples[at:]


def test_a_long_pass_comes_after_all_events_of_its_card_and_changes_nothing_at_a_restart():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        board.play(shoe, _longer(card_samples("2H"), 2600))
        kinds = kinds_of(shoe)
        assert kinds[-3:] == ["result", "lock", "long_pass"], kinds
        card, longer_um = recorded(shoe)[-1][1]
        assert card == cards.number_of("2H") and 2300 < longer_um < 2900, longer_um
        state = state_of(shoe.dealing)
        shoe = Shoe(board)
        assert state_of(shoe.dealing) == state
        assert kinds_of(shoe)[len(kinds) :] == ["boot"]


def test_a_long_pass_within_a_round_is_no_event_of_the_dealing_after_a_loss_of_power():
    with Folder() as folder:
        board, shoe = loaded(folder)
        board.play(shoe, _longer(card_samples("9C"), 2600))
        kinds = kinds_of(shoe)
        assert kinds[-2:] == ["card", "long_pass"], kinds
        shoe = Shoe(board)
        assert kinds_of(shoe)[len(kinds) :] == ["boot"], "its card's events are all there"
        assert shoe.dealing.current_round.player == [8]


def test_a_pass_that_is_a_little_longer_than_one_card_is_not_recorded():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        board.play(shoe, _longer(card_samples("2H"), 1000))
        assert kinds_of(shoe)[-2:] == ["result", "lock"]
        assert 800 < shoe.reader.passed.longer_um < 1200


def test_a_long_pass_of_the_cut_card_names_it():
    with Folder() as folder:
        board, shoe = loaded(folder)
        board.play(shoe, _longer(card_samples("CUT"), 2600))
        kind, values = recorded(shoe)[-1]
        assert kind == "long_pass" and values[0] == cards.CUT_CARD
        assert "card" not in kinds_of(shoe)[kinds_of(shoe).index("cut_card") :]


def test_a_long_pass_of_a_card_that_waits_for_the_supervisor_names_it():
    with Folder() as folder:
        board, shoe = loaded(folder)
        shoe.dealing.inventory.counts[cards.number_of("9C")] = 8
        board.play(shoe, _longer(card_samples("9C"), 2600))
        stop, after = recorded(shoe)[-3], recorded(shoe)[-1]
        assert stop[0] == "error" and enums.ERRORS[stop[1][0]] == "surplus_copy", recorded(shoe)
        assert after[0] == "long_pass" and after[1][0] == stop[1][1] == cards.number_of("9C")


class _Turns:
    """Stands in for asyncio: `heard` gets "others" when other tasks may run between frames."""

    def __init__(self, heard) -> None:
        self.heard = heard

    async def sleep_ms(self, ms):
        self.heard.append("others")


def test_frames_in_one_piece_are_taken_one_a_turn_and_surplus_zeros_are_not_frames():
    with Folder() as folder:
        board, shoe = started(folder)
        heard = []
        pieces = [b"\x03ab\0\x02c\0\0\0\x02", b"d\0", b"\0\0\0"]

        async def read_link():
            if not pieces:
                raise Over
            return pieces.pop(0)

        board.read_link = read_link
        shoe.link.feed = lambda data, now_ms: heard.append(data)
        real, shoe_module.asyncio = shoe_module.asyncio, _Turns(heard)
        try:
            raised(Over, shoe._listen().send, None)
        finally:
            shoe_module.asyncio = real
        frames = [b"\x03ab\0", b"\x02c\0", b"\x02", b"d\0", b"\0"]
        assert heard[::2] == frames and heard[1::2] == ["others"] * len(frames)


def test_the_lock_stays_open_where_the_next_card_is_due():
    with Folder() as folder:
        board, shoe = loaded(folder)
        board.play(shoe, *parts_of(card_samples("9C"), 380))
        assert board.seen == ["samples"] * 3 and shoe.dealing.current_round.player == [8]


def test_a_card_that_was_known_and_is_pushed_back_was_never_dealt():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        known, _, _ = parts_of(card_samples("2H"), 380)
        back = bytearray(len(known))
        for i in range(len(known)):
            back[-1 - i] = known[i] >> 4 | (known[i] & 15) << 4
        board.play(shoe, known, back, bytes(300))
        found = recorded(shoe)
        assert not [kind for kind, _ in found if kind == "result"]
        faults = [values for kind, values in found if kind == "unreadable"]
        assert [enums.FAULTS[values[0]] for values in faults] == ["pushed_back"]
        assert board.seen[:2] == ["samples", "shut"] and "open" not in board.seen
        assert [len(shoe.dealing.current_round.player), len(shoe.dealing.current_round.banker)] == [
            2,
            1,
        ]


def test_a_button_pressed_while_the_tail_of_a_card_passes_counts_after_that_card():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        known, tail, rest = parts_of(card_samples("2H"), 380)
        board.play(shoe, known, inputs.pressed(0), inputs.pressed(0), tail, rest)
        kinds = kinds_of(shoe)
        first = kinds.index("button")
        assert kinds[first - 2 : first] == ["result", "lock"], kinds
        assert kinds[first:] == ["button", "betting_open", "lock", "button", "betting_closed"]


def test_a_jam_after_the_last_mark_stops_play_and_lets_the_inputs_through():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        known, _, _ = parts_of(card_samples("2H"), 380)
        standing = bytes([E | X | (E | X) << 4]) * 1000
        board.play(shoe, known, inputs.pressed(0), *[standing] * 29)
        assert "button" not in kinds_of(shoe), "not yet 3 s"
        board.play(shoe, standing)
        kinds = kinds_of(shoe)
        assert kinds.index("unreadable") < kinds.index("button"), kinds
        assert "JAM" in board.text and not shoe.dealing.lock_released()


def test_samples_that_come_as_fast_as_they_are_read_do_not_keep_the_rest_waiting():
    with Folder() as folder:
        board, shoe = loaded(folder)
        reads = []

        def read_samples(buf):
            assert len(reads) < 50, "it reads without end"
            reads.append(1)
            buf[:4] = bytes(4)
            return 4

        board.read_samples = read_samples
        shoe.sensing.read()
        assert len(reads) <= 2


def test_a_card_held_before_its_last_mark_keeps_the_journal_waiting_for_a_while_only():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        known, _, _ = parts_of(card_samples("2H"), 380)
        begun_ms = board.ticks_ms()
        board.play(shoe, known[:-20])  # until its note is on flash
        assert 800 <= board.ticks_ms() - begun_ms < 850
        assert not shoe.journal.unwritten() and shoe.reader.scanner.in_pass


def test_the_note_of_a_passing_fast_card_is_on_flash_before_its_last_marks():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D", "KC")
        begun_ms = board.ticks_ms()
        board.play(shoe, card_samples("2H")[:125])  # 250 samples: 12 ms, a third of a fast card
        assert board.ticks_ms() - begun_ms < 50
        assert shoe.sensing.passing_marked and not shoe.journal.unwritten()


def test_lost_samples_stop_play_and_the_card_that_was_passing_is_not_read():
    with Folder() as folder:
        board, shoe = loaded(folder)
        whole = card_samples("9C")
        board.play(shoe, whole[:100], ("overrun",), whole[100:])
        assert enums.ERRORS[shoe.dealing.error] == "samples_lost" and "shut" in board.seen
        assert shoe.dealing.current_round.player == []
        board.play(shoe, *KEY_TURNED, whole)
        assert shoe.dealing.current_round.player == [8]


def test_samples_after_lost_ones_are_not_joined_with_those_before():
    with Folder() as folder:
        board, shoe = loaded(folder)
        whole = bytes(card_samples("9C"))
        board.play(shoe, whole[:100], ("overrun", whole[100:]))  # none were lost: the worst case
        assert (
            enums.ERRORS[shoe.dealing.error] == "samples_lost"
            and shoe.dealing.current_round.player == []
        )


def test_a_blocked_head_keeps_stopping_play_until_it_is_clear():
    with Folder() as folder:
        board, shoe = loaded(folder)
        stuck = b"\x22" * 1000  # track A on, no card
        board.play(shoe, *[stuck] * 31)
        assert enums.ERRORS[shoe.dealing.error] == "sensor_fault"
        assert shoe.dealing.current_round.player == [] and "unreadable" not in kinds_of(shoe)
        board.play(shoe, *KEY_TURNED)
        assert enums.ERRORS[shoe.dealing.error] == "sensor_fault", "it is still blocked"
        board.play(shoe, bytes(100), *KEY_TURNED, card_samples("9C"))
        assert not shoe.dealing.error and shoe.dealing.current_round.player == [8]


def test_the_test_card_calibrates_between_shoes_of_cards():
    with Folder() as folder:
        board, shoe = started(folder)
        assert shoe.calibration == [None] * 5
        board.play(shoe, card_samples("TEST"))
        kind, values = recorded(shoe)[-1]
        assert kind == "calibrated" and not shoe.dealing.error
        for permille in values[:4]:
            assert abs(permille - 1000) < 80, values
        assert shoe.calibration == values[:4] + [None]
        shoe = Shoe(board)
        assert shoe.calibration == values[:4] + [None], "it is kept over a restart"


def test_the_test_card_stops_play_within_a_shoe_of_cards():
    with Folder() as folder:
        board, shoe = loaded(folder)
        board.play(shoe, card_samples("TEST"))
        assert enums.ERRORS[shoe.dealing.error] == "test_card"


def test_a_fading_sensor_is_reported_once_and_shown_between_errors():
    with Folder() as folder:
        board, shoe = loaded(folder)
        for n in range(120):
            board.play(shoe, card_samples(cards.name_of(n % 52), 1300), inputs.pressed(0))
            assert not shoe.dealing.error
            if "CLEAN SENSOR" in board.text:
                break
        found = [values for kind, values in each_recorded(shoe) if kind == "clean_sensor"]
        assert [enums.CHANNELS[values[0]] for values in found] in (["a"], ["b"])
        assert 700 < found[0][1] < LEAST_PERMILLE


def test_every_pass_is_kept_with_its_verdict():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C")
        board.play(shoe, pass_of([]))
        kept = [shoe.passes.get(number) for number in range(1, 5)]
        assert [each.card for each in kept] == [0, 1, 8, None]
        assert enums.FAULTS[kept[3].fault] == "no_code"
        assert all([each.size > 8 and not each.cut for each in kept])
        assert shoe.passes.get(5) is None
        assert len(buffers.recent) >= 2 * len(shoe.reader.scanner.runs)


def test_the_notice_names_the_first_dirty_channel():
    with Folder() as folder:
        _, shoe = started(folder)
        assert shoe.presenting.notice() == ""
        shoe.health.dirty = 0b0110
        assert (
            shoe.presenting.notice() == "CLEAN SENSOR A"
            and len(shoe.presenting.notice()) <= panel.COLUMNS
        )


_MIDI = dict(baccarat.MINI, name="midi", shown="after_reveal", burn="none", wagers=["dragon_7"])


def _shown_in_midi(deal):
    """Return the outputs of the shoe in a midi round: at the first card, until `reveal`, at it."""
    with Folder() as folder:
        SettingsStore(folder.path).save("game", games.encode(_MIDI))
        board, shoe = started(folder)
        lid = [inputs.switched(LID, True), inputs.switched(LID, False)]
        names = deal.split()
        board.play(shoe, *lid, NEXT)
        shown = []
        for script in ([names[0]], names[1:], []):
            board.outputs = []
            for name in script:
                for part in parts_of(card_samples(name), 380):
                    board.play(shoe, part)
                    shoe.presenting.show()  # as every tick does
            board.play(shoe, *[NEXT, REVEAL] if not script else [NEXT])
            shown.append(board.outputs)
        assert shoe.dealing.current_round.revealed and shoe.dealing.current_round.winner >= 0, deal
        return shown


def test_in_midi_nothing_is_lit_shown_or_sounded_between_first_card_and_reveal():
    firsts = []
    for deal in (
        "9C 2D KC 2H", "2D 4C 2H 4D", "9C 9D KC KD", "7C 6D KC KD", "6C 5D KC KD 7H",
        "KC 7D KD KH 8C", "KC KH QD QS JC 7C", "AC 5D AD KH 4C TC",
    ):  # fmt: skip
        first, between, revealed = _shown_in_midi(deal)
        firsts.append(first)
        assert between == [] and "beep" not in first + revealed, (deal, between)
        assert len(revealed) == 2, "lamps and display"
    assert firsts == [firsts[0]] * len(firsts)


def test_a_game_that_is_kept_and_damaged_or_unknown_puts_the_shoe_out_of_service():
    document = games.encode(_MIDI)
    for kept in (document[:-1], b"", document.replace(b"midi", b"\xff\xff\xff\xff"), b"\xa0"):
        with Folder() as folder:
            SettingsStore(folder.path).save("game", kept)
            assert raised(games.GameError, Shoe, ScriptedBoard(folder, new_chip())), kept
            assert SettingsStore(folder.path).load("game") == kept, "it stays for an investigation"
    with Folder() as folder:
        SettingsStore(folder.path).save("game", document)
        data = folder.read("game.cbor")
        folder.write("game.cbor", data[:50] + b"x" + data[51:])
        assert raised(StoreError, Shoe, ScriptedBoard(folder, new_chip()))
        folder.write("game.cbor", data)
        assert started(folder)[1].dealing.game.document == document


def test_a_new_host_sends_a_game_document_from_its_start():
    with Folder() as folder:
        _, shoe = started(folder)
        document = games.encode(_MIDI)
        part = [1, 0, len(document), document[:400]]
        assert shoe.command(messages.LOAD_GAME, part)[2] == 0 and shoe.game_parts is not None
        shoe.welcome(1)
        assert shoe.game_parts is None


def test_a_full_journal_stops_dealing_until_a_host_has_taken_events():
    with Folder() as folder:
        board, shoe = started_in_file(folder, RESERVE_SECTORS + 2)
        journal = shoe.journal
        while not journal.full():
            shoe.recorder.record(events.IDENTIFIED, 0, 0, ())
            journal.drain()
        board.play(shoe, inputs.switched(LID, True), inputs.switched(LID, False))
        assert shoe.dealing.error == enums.ERRORS.index("journal_full")
        assert "JOURNAL FULL" in board.text and not shoe.dealing.lock_released()
        board.play(shoe, *KEY_TURNED)
        assert shoe.dealing.error == enums.ERRORS.index("journal_full"), "it is still full"
        journal.drain()
        assert shoe.outbox.acknowledge(journal.durable)
        board.play(shoe, *KEY_TURNED)
        for _ in range(3):  # the journal lets go a few sectors at a time
            board.play(shoe, *KEY_TURNED)
        assert shoe.dealing.error == 0


def test_a_checkpoint_follows_each_composition_with_the_mac_before_it():
    with Folder() as folder:
        board, shoe = loaded(folder)
        board.play(shoe, NEXT, inputs.switched(KEY, True), VOID, VOID, BURN)
        found = recorded(shoe)
        place = [kind for kind, _ in found].index("checkpoint")
        assert found[place - 1][0] in ("composition", "lock")
        cursor = Cursor(shoe.journal)
        assert cursor.seek(place) and cursor.next()
        assert found[place][1] == [place, bytes(cursor.mac)]
