"""Hole cards that stay closed: what a thief has who takes the whole shoe away, with its log."""

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.support.naive_chain import hmac, sha256
from firmware.tests.support.scripted import (
    BURN,
    KEY_TURNED,
    LOAD,
    NEXT,
    REVEAL,
    VOID,
    again,
    card_samples,
    dealing,
    kinds_of,
    recorded,
    round_key,
)
from firmware.tests.test_store import Folder
from sabot_firmware.journal import recovery
from sabot_firmware.journal.ring import NOTE, STATE
from sabot_firmware.journal.seals import JournalError, Seals
from sabot_firmware.table import input_log
from sabot_protocol import cbor, holdem

_DEALT = ("AS", "KS", "2C", "3C")
_SECOND_SHOWS = (REVEAL, BURN, NEXT, REVEAL)


def _shoe(folder, hole_cards="shown", **house):
    document = dict(holdem.HOLDEM)
    document.update({"seats": 2, "house": house or {"voided_cards": "never"}})
    if hole_cards != "all":
        document["hole_cards"] = hole_cards
    board, shoe = dealing(folder, document)
    shoe.maintain_seals()
    return board, shoe


def _deal(board, shoe, *end):
    board.play(shoe, *LOAD, *[card_samples(name) for name in _DEALT])
    during = _secrets(shoe)
    board.play(shoe, *end)
    return during


def _secrets(shoe):
    """Return what the unit has of its sealing secret: on the board, and on the journal's chip."""
    return shoe.store.load("seal_secret"), shoe.journal.hand_secret()


def _secret_of(kept, of_hand):
    return hmac(kept, b"sabot hand" + of_hand) if of_hand else kept


def _keys(secret, number):
    """Return the key of the round and of its seats that follow from a sealing secret."""
    key = round_key(secret, number)
    return [key] + [hmac(key, b"sabot seat" + bytes([seat])) for seat in range(11)]


def _commitments(shoe):
    """Return the number of `seal`, and all commitments of the hand."""
    events = recorded(shoe)
    number = 1 + [kind for kind, _ in events].index("seal")
    return number, [values[-1] for kind, values in events if kind in ("seal", "seat_seal")]


def _is_on_chip(folder, secret):
    """Whether the bytes are anywhere on the journal's chip; it is read in parts, as a board has no
    heap for it."""
    before = b""
    with open(folder.file("journal.nor"), "rb") as file:
        part = file.read(1024)
        while part:
            if secret in before + part:
                return True
            before = part[-len(secret) :]
            part = file.read(1024)
    return False


def test_who_takes_the_shoe_after_the_hand_cannot_make_the_keys_of_what_stays_closed():
    for hole_cards, end in (("shown", _SECOND_SHOWS), ("never", (REVEAL,))):
        with Folder() as folder:
            board, shoe = _shoe(folder, hole_cards)
            kept, of_hand = _deal(board, shoe, *end)
            number, commitments = _commitments(shoe)
            made = [sha256(b"sabot seal" + key) for key in _keys(_secret_of(kept, of_hand), number)]
            assert of_hand and set(commitments) <= set(made), "this is how they were made"
            assert _is_on_chip(folder, of_hand)
            shoe.maintain_seals()
            shoe.journal.drain()
            assert not _is_on_chip(folder, of_hand), "erased"
            after = _secrets(shoe)
            assert after[0] == kept and after[1] and after[1] != of_hand
            for secret in (kept, after[1], _secret_of(*after), bytes(32)):
                fits = [sha256(b"sabot seal" + key) for key in _keys(secret, number)]
                assert not set(fits) & set(commitments)


def test_who_takes_the_shoe_after_the_hand_cannot_open_what_the_journal_keeps_of_it():
    with Folder() as folder:
        board, shoe = _shoe(folder)
        notes = []
        put = shoe.journal.put

        def heard(kind, payload, size):
            if kind in (NOTE, STATE):
                notes.append((kind, cbor.decode(bytes(payload[:size]), 0, size)))
            put(kind, payload, size)

        shoe.journal.put = heard
        _deal(board, shoe, *_SECOND_SHOWS)
        before = Seals(_secret_of(*_secrets(shoe)))
        shoe.maintain_seals()
        after = Seals(_secret_of(*_secrets(shoe)))
        sealed = [note for kind, note in notes if kind == NOTE and note[0] == input_log.SEALED]
        assert len(sealed) == len(_DEALT)
        for _, number, data in sealed:
            before.open_note(number, data)
            try:
                after.open_note(number, data)
            except JournalError:
                continue
            raise AssertionError(number)
        plain = [note for kind, note in notes if kind == NOTE and note[0] == input_log.CARD]
        assert not plain


def test_a_state_after_the_hand_has_none_of_the_cards_that_stay_closed():
    with Folder() as folder:
        board, shoe = _shoe(folder)
        _deal(board, shoe, *_SECOND_SHOWS)
        counts = shoe.dealing.inventory.counts
        assert [card for card in range(52) if counts[card]] == [2, 51] and not shoe.dealing.sealed
        assert shoe.dealing.sealed_cards == b"" and shoe.passes.first_after(0) is None


def test_a_start_replaces_the_secret_of_a_hand_whose_end_was_cut():
    with Folder() as folder:
        board, shoe = _shoe(folder)
        _, of_hand = _deal(board, shoe, *_SECOND_SHOWS)
        shoe.journal.drain()
        board, shoe = again(folder, board)
        assert _secrets(shoe)[1] == of_hand
        shoe.maintain_seals()
        assert not _is_on_chip(folder, of_hand) and kinds_of(shoe).count("hand_ended") == 1


def test_a_hand_goes_on_after_a_loss_of_power_with_the_secret_that_it_began_with():
    with Folder() as folder:
        board, shoe = _shoe(folder)
        during = _deal(board, shoe)
        shoe.journal.drain()
        board, shoe = again(folder, board)
        shoe.maintain_seals()
        assert _secrets(shoe) == during, "a card is sealed"
        board.play(shoe, *_SECOND_SHOWS)
        number, commitments = _commitments(shoe)
        keys = _keys(_secret_of(*during), number)
        opened = [values for kind, values in recorded(shoe) if kind == "seat_unsealed"]
        assert opened == [[2, keys[3]]] and sha256(b"sabot seal" + keys[3]) in commitments


def test_a_shoe_that_is_emptied_while_play_is_stopped_goes_on_after_a_loss_of_power():
    """More closed cards came than a state has room for: each start ended in an IndexError."""
    with Folder() as folder:
        board, shoe = _shoe(folder)
        _deal(board, shoe)
        before = 0
        for suit in "SHDCSH":  # the last two come from another deck
            board.play(shoe, *[card_samples(rank + suit) for rank in "A23456789TJQK"])
            shoe.acting.keep_state()
            for _ in range(2):
                state = recovery.state_of(shoe.dealing)
                shoe.journal.drain()
                board, shoe = again(folder, board)
                shoe.maintain_seals()
                assert recovery.state_of(shoe.dealing) == state
            kept = len(shoe.dealing.sealed_cards)
            assert kept > before
            before = kept
        assert before > 2 * 75
        board.play(shoe, KEY_TURNED[0], VOID)
        assert shoe.dealing.sealed_cards == b"" and not shoe.dealing.sealed


def test_cards_of_a_void_round_that_are_never_to_be_known_are_as_safe():
    with Folder() as folder:
        board, shoe = _shoe(folder, "all")
        _, of_hand = _deal(board, shoe, KEY_TURNED[0], VOID)
        shoe.maintain_seals()
        assert of_hand and not _is_on_chip(folder, of_hand)
        assert [values for kind, values in recorded(shoe) if kind == "unsealed"] == [[b""]]


def test_a_game_whose_cards_all_open_needs_no_secret_on_the_chip():
    with Folder() as folder:
        board, shoe = _shoe(folder, "all", voided_cards="opened")
        _deal(board, shoe, REVEAL)
        shoe.maintain_seals()
        assert _secrets(shoe)[1] == b"" and "seat_seal" not in kinds_of(shoe)


# Two halves of an escrow, made with X25519 of another implementation; their private parts are not
# needed here.
_HALVES = bytes.fromhex(
    "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
)


def _escrowed(folder):
    board, shoe = _shoe(folder)
    shoe.store.save("escrow", _HALVES)
    shoe.journal.drain()
    return again(folder, board)


def test_no_hand_begins_before_its_key_can_leave_for_the_escrow():
    with Folder() as folder:
        board, shoe = _escrowed(folder)
        board.play(shoe, *LOAD)
        assert shoe.dealing.card_due() and board.seen[-1] != "open" and "ESCROW" in board.text
        board.play(shoe, NEXT)
        assert kinds_of(shoe)[-1] == "lock", "the button waits too"
        for _ in range(100):
            shoe.maintain_seals()
        shoe.presenting.show_changes()
        assert board.seen[-1] == "open" and "ESCROW" not in board.text
        board.play(shoe, *[card_samples(name) for name in _DEALT])
        kinds = kinds_of(shoe)
        assert kinds.count("seal_escrow") == 1
        assert kinds[kinds.index("seal") + 1] == "seal_escrow"
        assert not shoe.presenting.waits


def test_the_key_leaves_also_if_the_power_was_cut_before_it_had():
    with Folder() as folder:
        board, shoe = _escrowed(folder)
        cut = []
        shoe.recorder.escrow = lambda *place: cut.append(place)
        for _ in range(100):
            shoe.maintain_seals()
        board.play(shoe, *LOAD, card_samples("AS"))
        assert cut and "seal_escrow" not in kinds_of(shoe)
        shoe.journal.drain()
        board, shoe = again(folder, board)
        assert kinds_of(shoe).count("seal_escrow") == 1
        shoe.journal.drain()
        board, shoe = again(folder, board)
        assert kinds_of(shoe).count("seal_escrow") == 1


def test_what_the_escrow_has_made_ready_is_in_no_memory_that_stays():
    with Folder() as folder:
        board, shoe = _escrowed(folder)
        for _ in range(100):
            shoe.maintain_seals()
        pad = shoe.sealing._escrow._pad
        board.play(shoe, *LOAD, *[card_samples(name) for name in _DEALT], *_SECOND_SHOWS)
        shoe.maintain_seals()
        shoe.journal.drain()
        assert len(pad) == 32 and not _is_on_chip(folder, pad)


def test_no_pad_for_the_escrow_is_made_before_the_unit_has_random_bytes_of_a_host():
    with Folder() as folder:
        _, shoe = _escrowed(folder)
        shoe.randomness.has_host_bytes = False
        for _ in range(100):
            shoe.maintain_seals()
        assert not shoe.sealing._escrow.ready and not shoe.sealing._escrow._pad
        shoe.randomness.add_host_bytes(bytes(range(32)))
        for _ in range(100):
            shoe.maintain_seals()
        assert shoe.sealing._escrow.ready
