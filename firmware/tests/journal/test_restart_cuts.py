"""The power is cut anywhere in a shoe of cards: the game goes on as if it had not been."""

import binascii
import random

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes.fake_flash import PowerCut, new_chip
from firmware.tests.support.scripted import (
    KEY,
    NEXT,
    REVEAL,
    check_chain,
    each_recorded,
    kinds_of,
    provision,
    scripted_item,
    started,
)
from firmware.tests.test_store import Folder
from protocol.tests.helpers import seed_random
from sabot_firmware import (
    panel,
)
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.table import inputs
from sabot_protocol import enums

_SCRIPT = (
    "lid+", "lid-", "AC", "2C", "9C", "2D", "KC", "2H", "next", "service+", "next", "4C", "2D",
    "AC", "2H", "2S", "3H", "burn", "9S", "next", "5C", "key+", "void", "key-", "next", "key+",
    "service-", "void", "void", "key-",
)  # fmt: skip
"""Two rounds, one that is voided, and the end of the shoe of cards."""


def _stands(stood, text):
    """How the switches stand once that was done."""
    if text[-1] in "+-":
        bit = 1 << [word.split("_")[0] for word in enums.SWITCHES].index(text[:-1])
        return stood | bit if text[-1] == "+" else stood & ~bit
    return stood


def _seen(board, shoe):
    """A checksum of all there is to see and to remember."""
    seen = (state_of(shoe.dealing), board.text, panel.lamps_of(shoe.dealing), shoe.presenting._lock)
    return binascii.crc32(str(seen).encode())


def _of_the_game(shoe):
    """What a shoe of cards comes to: cards with their positions, results, the end."""
    told = []
    for kind, values in each_recorded(shoe):
        if kind in ("shoe_loaded", "burn", "result", "round_void", "shoe_ended", "composition"):
            told.append((kind, values))
        elif kind == "card":
            told.append((kind, values[:2]))
    return told


def _on_a_large_chip(folder):
    """A torn end costs a sector: so many that the journal does not get full."""
    provision(folder)
    return started(folder, new_chip(ring=60))


class _Reference:
    """The script without a cut: what was seen before each item, and what came of it all."""

    def __init__(self):
        with Folder() as folder:
            board, shoe = _on_a_large_chip(folder)
            self.begun = board.flash.operations
            self.seen = [_seen(board, shoe)]
            for text in _SCRIPT:
                board.play(shoe, scripted_item(text))
                self.seen.append(_seen(board, shoe))
            self.operations = board.flash.operations
            self.game = _of_the_game(shoe)
            self.kinds = kinds_of(shoe)


def _resolve_passing(board, shoe, stood):
    """The supervisor has the card drawn again that was passing when the power went."""
    turned = stood >> KEY & 1
    board.play(shoe, *[inputs.switched(KEY, True)] * (1 - turned), NEXT, REVEAL)
    board.play(shoe, *[inputs.switched(KEY, False)] * (1 - turned))
    assert not shoe.dealing.error, board.text


def _play_with_cuts(reference, folder, cuts):
    """Play the script through losses of power; how many cards were passing in one."""
    board, shoe = _on_a_large_chip(folder)
    flash = board.flash
    at = stood = passing = 0
    while at < len(_SCRIPT):
        if cuts and flash.cut_at < 0:
            flash.cut_at, flash.cut = flash.operations + cuts.pop(), random.randrange(3)
        text = _SCRIPT[at]
        stood = _stands(stood, text)
        try:
            board.play(shoe, scripted_item(text))
            at += 1
            continue
        except PowerCut:
            board = shoe = None  # its memory first: the heap is that of the board
        while True:
            flash.power_on()
            if random.getrandbits(1):
                flash.cut_at = flash.operations + random.randrange(6)
            try:
                board, shoe = started(folder, flash, stood)
                break
            except PowerCut:
                pass
        flash.cut_at = -1
        if enums.FAULTS[shoe.dealing.fault] == "power_lost":
            assert text.upper() == text, "a card"
            passing += 1
            _resolve_passing(board, shoe, stood)
            continue
        seen = _seen(board, shoe)
        assert seen in reference.seen[at : at + 2], (text, board.text)
        at += seen != reference.seen[at]
    check_chain(shoe)
    assert _of_the_game(shoe) == reference.game
    beside = ("boot", "unreadable", "error", "error_cleared", "resolved", "lock", "key", "button")
    if not passing:
        assert [kind for kind in kinds_of(shoe) if kind != "boot"] == reference.kinds[1:]
    else:
        told = [kind for kind in kinds_of(shoe) if kind not in beside]
        assert told == [kind for kind in reference.kinds if kind not in beside]
    return passing


def test_wherever_the_power_is_cut_the_game_goes_on_as_if_it_had_not_been():
    seed_random()
    reference = _Reference()
    assert [kind for kind, _ in reference.game].count("result") == 2
    span = reference.operations - reference.begun
    for n in range(24):
        with Folder() as folder:
            cuts = [random.randrange(span)] if n < 16 else [random.randrange(12) for _ in range(9)]
            _play_with_cuts(reference, folder, cuts)
