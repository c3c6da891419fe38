"""Presenting alone, between simple stand-ins: outputs, lock, buzzer, notices."""

from firmware.tests.support.parts import Parts
from firmware.tests.support.table import DEALT
from sabot_firmware import panel
from sabot_firmware.cards.reader import NO_CARD
from sabot_protocol import cards


def test_outputs_are_set_only_when_they_change():
    parts = Parts()
    parts.presenting.show()
    assert parts.done() == ["open", "lamps", "text"]
    parts.presenting.show()
    parts.presenting.show_changes()
    assert parts.done() == []
    parts.link.listening = False
    parts.presenting.show_changes()
    assert parts.done() == ["text"]


def test_the_lock_follows_a_card_that_is_known_and_stays_shut_on_trial():
    parts = Parts(DEALT + " 9C 2D KC")
    parts.presenting.set_lock()
    parts.reader.known = cards.number_of("2H")  # this card ends the round
    parts.presenting.set_lock()
    parts.reader.known = NO_CARD
    parts.presenting.set_lock()
    assert parts.done() == ["open", "shut", "open"]
    parts.running.on_trial = True
    parts.presenting.set_lock()
    assert parts.done() == ["shut"] and parts.dealing.lock_released()


def test_an_error_sounds_once():
    parts = Parts()
    parts.presenting.show_input()
    assert "beep" not in parts.done()
    parts.dealing.sensor_failed()
    parts.presenting.show_input()
    assert parts.done() == ["shut", "lamps", "text", "beep"]
    parts.dealing.samples_lost()
    parts.presenting.show_input()
    assert "beep" not in parts.done()


def test_notices_come_in_order_of_importance():
    parts = Parts()
    assert parts.presenting.notice() == ""
    parts.health.dirty = 0b1100
    assert parts.presenting.notice() == "CLEAN SENSOR B"
    parts.running.on_trial = True
    assert parts.presenting.notice() == panel.ON_TRIAL
    for listening, waiting, shown in (
        (False, 0, panel.NO_HOST), (True, 0, panel.HOST),
        (True, panel.LOG_BEHIND_EVENTS, panel.HOST),
        (True, panel.LOG_BEHIND_EVENTS + 1, panel.LOG_BEHIND),
    ):  # fmt: skip
        parts.link.listening, parts.waiting = listening, waiting
        assert parts.presenting._link_words() == shown
