"""Acting alone, between simple stand-ins: notes, events, states, buttons."""

from firmware.tests.support.parts import Parts
from firmware.tests.support.table import DEALT
from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.journal.ring import NOTE, STATE
from sabot_firmware.table import input_log, inputs
from sabot_protocol import cards, enums, events


def test_an_input_is_noted_before_its_events_are_recorded_and_shown():
    parts = Parts()
    order = []
    parts.journal.put = lambda kind, payload, size: order.append("note")
    parts.recorder.record = lambda *event: order.append(event[0].name)
    parts.board.set_lock = lambda released: order.append("lock set")
    parts.board.show = lambda text: order.append("shown")
    parts.acting.carry_out([input_log.SAMPLES_LOST])
    assert order == ["note", "lock set", "error", "lock", "shown"]


def test_the_state_is_kept_when_a_round_ends_and_after_many_notes_but_never_within_a_pass():
    parts = Parts(DEALT + " 9C 2D KC")
    parts.acting.carry_out([input_log.CARD, cards.number_of("2H"), 1, 1, 1, 1])
    assert parts.journal.kinds == [NOTE, STATE]
    for n in range(1, 80):
        parts.reader.scanner.in_pass = n < 50
        parts.acting.carry_out([input_log.SWITCHED, 2, n % 2 == 1])
        states = parts.journal.kinds.count(STATE)
        assert states == (1 if n < 50 else 2), n


def test_a_full_journal_stops_play_between_rounds_only():
    parts = Parts()
    parts.journal.is_full = True
    parts.acting.carry_out([input_log.SWITCHED, 2, True])
    assert not parts.dealing.error, "a round is open"
    parts = Parts(DEALT + " 9C 2D KC 2H")
    parts.journal.is_full = True
    parts.acting.carry_out([input_log.SWITCHED, 2, True])
    assert enums.ERRORS[parts.dealing.error] == "journal_full"
    assert parts.journal.note == [input_log.JOURNAL_FULL]


def test_buttons_wait_for_a_card_that_is_known_and_do_nothing_on_trial():
    parts = Parts()
    parts.board.changes = [inputs.pressed(0), inputs.switched(2, True)]
    parts.reader.known = 5
    parts.acting.take_inputs()
    assert parts.journal.kinds == []
    parts.reader.known = NO_CARD
    parts.acting.take_inputs()
    assert parts.recorder.names == ["button", "betting_closed", "service"]
    parts.running.on_trial = True
    parts.board.changes = [inputs.pressed(0), inputs.switched(2, False), inputs.switched(2, False)]
    parts.acting.take_inputs()
    assert parts.recorder.names[3:] == ["service"], "once: the second is no change"


def test_an_event_that_is_not_the_dealings_is_shown_and_sent():
    parts = Parts()
    parts.acting.record(events.CLEAN_SENSOR, (0, 700))
    assert parts.recorder.names == ["clean_sensor"] and parts.woken == [1]
    assert parts.journal.kinds == [] and "text" in parts.done()
