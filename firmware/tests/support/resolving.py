"""Shoes with a card that waits for the supervisor, and how two of them are compared."""

import random

from firmware.tests.support.table import SITUATIONS, Table
from sabot_protocol import cards, enums

FAULTS = enums.FAULTS[1:]
RANKS = ["CARD %s-" % rank for rank in cards.RANKS] + ["CUT CARD"]
OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
ALL = [cards.name_of(card) for card in range(52)]
# Places in a snapshot: cards, counts by card, unread cards.
CARDS, COUNTS, UNREAD = 6, 14, 15


def position_of(name):
    return SITUATIONS[name][1] or "not_due"


def at(name, inputs=""):
    """Return a shoe in a situation, with the supervisor's key on."""
    return Table(SITUATIONS[name][0] + " key+ " + inputs)


def betting_closed(name):
    """Return a situation after a card that came out but was not dealt."""
    return at(name, "next" if name == "betting" else "")


def split_at_clearing(recorded):
    """Split what was recorded at the clearing of the error; without locks."""
    recorded = [line for line in recorded if not line.startswith("lock")]
    i = [line.split()[0] for line in recorded].index("error_cleared")
    return recorded[:i], recorded[i + 1 :]


def without(snapshot, *places):
    return [snapshot[i] for i in range(len(snapshot)) if i not in places]


def clear(table):
    """Turn the key if nothing else is needed."""
    if table.shoe.error and not table.shoe.pending.waits():
        table.play("key- key+")


def deal_on(tables, inputs):
    """Check that both shoes record the same for the same inputs from now on."""
    for _ in range(inputs):
        recorded = []
        name = random.choice(ALL)
        for table in tables:
            assert not table.shoe.pending.waits()
            if table.shoe.error:
                recorded.append(table.play("key- key+"))
            else:
                recorded.append(table.play(name if table.released else "next"))
        for i in range(2):
            recorded[i] = [line for line in recorded[i] if not line.startswith("composition")]
        assert recorded[0] == recorded[1]
        assert without(tables[0].snapshot(), COUNTS, UNREAD) == without(
            tables[1].snapshot(), COUNTS, UNREAD
        )
