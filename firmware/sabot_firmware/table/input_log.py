"""The inputs of the dealing as short notes in the journal, so that they can be repeated.

A note is on flash before the events that follow from it. After a loss of power the dealing gets the
notes after its last state again (recovery.py). That restores its state, and the events that were
not written are recorded then.
"""

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.table.dealing import Dealing

CARD = const(0)
"""A kind of note: a card came out, with its figures."""
FAULT = const(1)
"""A pass that was not a readable card, with its figures."""
PRESSED = const(2)
"""A button was pressed."""
SWITCHED = const(3)
"""A switch changed, and whether it is on."""
SENSOR_FAILED = const(4)
SAMPLES_LOST = const(5)
POWER_LOST = const(6)
"""The power went while a card passed."""
JOURNAL_FULL = const(7)
GHOST_HAND = const(8)
"""A host marked the round as a ghost hand. Only firmware 0.2.0 writes such a note; the journal
of an updated shoe may hold one."""
SEALED = const(9)
"""A note of a card, a fault or a loss of power in a game that deals cards face down, sealed
(journal/seals.py): `[SEALED, number, sealed]`, whatever it holds."""

NO_RANDOM = const(10)
"""No card may be sealed: the unit's randomness has no bytes of a host."""
RANDOM_CAME = const(11)
"""The end of that."""
STOPPED = const(12)
"""Something other than a card stopped play, and its error, a place in `enums.ERRORS`."""


def carry_out(dealing: "Dealing", note: "list") -> list:
    """Give the dealing an input, `[kind, ...]`; return its actions."""
    kind = note[0]
    if kind == CARD:
        return dealing.card_passed(note[1], tuple(note[2:]))
    if kind == FAULT:
        return dealing.pass_failed(note[1], tuple(note[2:]))
    if kind == PRESSED:
        return dealing.pressed(note[1])
    if kind == SWITCHED:
        return dealing.switched(note[1], note[2])
    if kind == SENSOR_FAILED:
        return dealing.sensor_failed()
    if kind == SAMPLES_LOST:
        return dealing.samples_lost()
    if kind == POWER_LOST:
        return dealing.power_lost()
    if kind == GHOST_HAND:
        return dealing.ghost_hand()
    if kind == NO_RANDOM:
        return dealing.no_random()
    if kind == RANDOM_CAME:
        return dealing.random_came()
    if kind == STOPPED:
        return dealing.stop(note[1])
    return dealing.journal_full()


def tells_card(note: "list") -> bool:
    """Whether the note, or what the supervisor does after it, can tell a card."""
    return note[0] in (CARD, FAULT, POWER_LOST)


def ends_pass(note: "list") -> bool:
    """Whether the note gives the result for a card that was passing."""
    return note[0] in (CARD, FAULT, SENSOR_FAILED, SAMPLES_LOST, POWER_LOST)
