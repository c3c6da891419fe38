"""Recovery from a journal on its flash chip, also one with damaged sectors."""

import random

from firmware.tests.fakes.fake_flash import FIRST_KEY, new_chip
from firmware.tests.support import table
from firmware.tests.support.recovering import (
    ONE_DECK,
    Unit,
    game_with,
    random_input,
    recovered,
    seen,
)
from protocol.tests.helpers import seed_random
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.ring import EVENT, STATE

_QUEUE = bytearray(4096)


def test_recovery_from_a_real_journal_is_the_same():
    seed_random()
    flash = new_chip()
    game = game_with(ONE_DECK)
    unit = Unit(game)
    journal = Journal(flash, _QUEUE)
    journal.begin(FIRST_KEY)
    journal.mount()
    written = 0
    for n in range(150):
        for text in random_input(unit.dealing):
            unit.input(table.note_of(text))
            if n % 9 == 0:
                unit.keep()
        for kind, payload in unit.entries[written:]:
            if kind == EVENT:
                journal.put_event(memoryview(payload), len(payload) - 16)
            else:
                journal.put(kind, memoryview(payload), len(payload))
        written = len(unit.entries)
        journal.drain()
        journal.acknowledge(journal.durable)
        if n % 10 == 0:
            journal = Journal(flash, _QUEUE)
            journal.mount()
            resumed, dealing = recovered(journal, game)
            assert not resumed.lost and resumed.missing == []
            assert seen(dealing) == seen(unit.dealing)


def test_events_lost_after_the_state_are_noticed():
    seed_random()
    for damaged in (0, 1, 2, 3):
        flash = new_chip()
        journal = Journal(flash, _QUEUE)
        journal.begin(FIRST_KEY)
        journal.mount()
        unit = Unit(game_with({}))
        journal.put(STATE, memoryview(unit.entries[0][1]), len(unit.entries[0][1]))
        while journal._open < 4:
            unit.entries.clear()
            unit.input(table.note_of(random.choice(("service+", "service-"))))
            for kind, payload in unit.entries:
                if kind == EVENT:
                    journal.put_event(memoryview(payload), len(payload) - 16)
                else:
                    journal.put(kind, memoryview(payload), len(payload))
            journal.drain()
        place = journal._address(damaged)
        flash.flip(place + random.choice((8, 700, 1500, 3000)), 3)
        journal = Journal(flash, _QUEUE)
        journal.mount()
        resumed, _ = recovered(journal, unit.game)
        assert resumed.lost and resumed.missing == []
        assert not resumed.checkpoint_due and not resumed.card_passing
