"""The power is cut anywhere in a shoe of cards: the game is the same as without a cut."""

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
from protocol.tests.helpers import seed_random, some
from sabot_firmware import (
    panel,
)
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.table import inputs
from sabot_protocol import enums

_SCRIPT = (
    "lid+", "lid-", "AC", "2C", "9C", "2D", "KC", "2H", "next", "service+", "next", "4C", "2D",
    "AC", "2H", "2S", "3H", "burn", "9S", "next", "5C", "key+", "void", "key-", "next", "key+",
    "service-", "void", "void", "void", "burn", "key-", "lid+", "lid-", "AC", "2C", "9C", "2D",
    "KC", "2H", "key+", "void", "void", "key-",
)  # fmt: skip
"""Two rounds, one that is voided, the end of the shoe of cards, and a misdeal in the next."""


def _positions_after(positions, text):
    """Return the positions of the switches after this input."""
    if text[-1] in "+-":
        bit = 1 << [word.split("_")[0] for word in enums.SWITCHES].index(text[:-1])
        return positions | bit if text[-1] == "+" else positions & ~bit
    return positions


def _seen(board, shoe):
    """Return a checksum of everything that is shown and kept."""
    seen = (state_of(shoe.dealing), board.text, panel.lamps_of(shoe.dealing), shoe.presenting._lock)
    return binascii.crc32(str(seen).encode())


def _of_the_game(shoe):
    """Return the events of the game: cards with their positions, results, the end."""
    game = []
    for kind, values in each_recorded(shoe):
        if kind in ("shoe_loaded", "burn", "result", "round_void", "shoe_ended", "composition"):
            game.append((kind, values))
        elif kind == "card":
            game.append((kind, values[:2]))
    return game


def _on_a_large_chip(folder):
    """Return a shoe on a chip that does not get full although each torn end costs a sector."""
    return started(folder, provision(folder, new_chip(ring=60)))


class _Reference:
    """The script without a cut: what was seen before each item, and the events of the game."""

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


def _resolve_passing(board, shoe, positions):
    """As supervisor, order a redraw of the card that was passing when the power went."""
    turned = positions >> KEY & 1
    board.play(shoe, *[inputs.switched(KEY, True)] * (1 - turned), NEXT, REVEAL)
    board.play(shoe, *[inputs.switched(KEY, False)] * (1 - turned))
    assert not shoe.dealing.error, board.text


def _play_with_cuts(reference, folder, cuts):
    """Play the script with losses of power; return how many cards were passing at one."""
    board, shoe = _on_a_large_chip(folder)
    flash = board.flash
    at = positions = passing = 0
    while at < len(_SCRIPT):
        if cuts and flash.cut_at < 0:
            flash.cut_at, flash.cut = flash.operations + cuts.pop(), random.randrange(3)
        text = _SCRIPT[at]
        positions = _positions_after(positions, text)
        try:
            board.play(shoe, scripted_item(text))
            at += 1
            continue
        except PowerCut:
            board = shoe = None  # free their memory first: the heap is as small as the board's
        while True:
            flash.power_on()
            if random.getrandbits(1):
                flash.cut_at = flash.operations + random.randrange(6)
            try:
                board, shoe = started(folder, flash, positions)
                break
            except PowerCut:
                pass
        flash.cut_at = -1
        if enums.FAULTS[shoe.dealing.fault] == "power_lost":
            assert text.upper() == text, "a card"
            passing += 1
            _resolve_passing(board, shoe, positions)
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
        found = [kind for kind in kinds_of(shoe) if kind not in beside]
        assert found == [kind for kind in reference.kinds if kind not in beside]
    return passing


def test_wherever_the_power_is_cut_the_game_is_the_same_as_without_a_cut():
    seed_random()
    reference = _Reference()
    assert [kind for kind, _ in reference.game].count("result") == 2
    span = reference.operations - reference.begun
    for n in some(range(24), 4):
        with Folder() as folder:
            cuts = [random.randrange(span)] if n < 16 else [random.randrange(12) for _ in range(9)]
            _play_with_cuts(reference, folder, cuts)
