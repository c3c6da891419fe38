"""Sealed cards: the definition of the protocol, and what the journal keeps of them."""

import random

from firmware.tests.support import hand
from firmware.tests.support.naive_chain import hmac, sha256
from firmware.tests.support.recovering import MAC, SECRET, Unit, game_with, recovered
from firmware.tests.support.table import note_of
from protocol.tests.helpers import raised, seed_random, vectors
from sabot_firmware.journal.contents import JournalError
from sabot_firmware.journal.ring import NOTE, STATE
from sabot_firmware.journal.seals import STATE_SIZE, Seals
from sabot_firmware.table import input_log
from sabot_protocol import cards, cbor, enums, events

_MIDI = {"name": "midi", "shown": "after_reveal", "burn": "none"}
_NEVER = dict(_MIDI, house={"voided_cards": "never"})
_SIX = "4C 2D AC 2H 2S 3H"


def test_a_round_is_sealed_as_the_golden_vector_says():
    golden = vectors("seals")
    seals = Seals(bytes.fromhex(golden["secret"]))
    assert seals.begin(golden["seal_number"]).hex() == golden["commitment"]
    for case in golden["cards"]:
        assert seals.count == case["place"]
        assert seals.card(case["card"]).hex() == case["sealed"]
    assert seals.end().hex() == golden["key"] and seals.number == 0


def test_a_seat_is_sealed_as_the_golden_vector_says():
    golden = vectors("seals")
    seals = Seals(bytes.fromhex(golden["secret"]))
    seals.begin(golden["seal_number"], True)
    for of_seat in golden["seats"]:
        seat = of_seat["seat"]
        assert seals.seat_key(seat).hex() == of_seat["key"]
        recorded = seals.values_of(events.SEAT_SEAL, (seat,), 9)
        assert recorded == (seat, bytes.fromhex(of_seat["commitment"]))
        for case in of_seat["cards"]:
            seals.count = case["place"]
            position = enums.POSITIONS.index("seat_%d" % seat if seat else "board_burn")
            assert seals.card(case["card"], position).hex() == case["sealed"]


def test_a_note_is_opened_with_its_number_only_and_always_has_the_same_size():
    seals = Seals(SECRET)
    for note in (b"", b"\x81\x06", b"n" * 27):
        sealed, seed = seals.note(77, note)
        assert len(sealed) == 28 and len(seed) == 4
        assert seals.open_note(77, sealed) == (note, seed)
        for other, number in ((seals, 78), (Seals(bytes(32)), 77)):
            assert raised(JournalError, other.open_note, number, sealed), note


def test_a_state_is_opened_with_its_number_only_and_always_has_the_same_size():
    seals = Seals(SECRET)
    for state in (b"", b"s" * 100, b"s" * (STATE_SIZE - 1)):
        sealed = seals.state(77, state)
        assert len(sealed) == STATE_SIZE and seals.open_state(77, sealed) == state
        for other, number in ((seals, 78), (Seals(bytes(32)), 77)):
            assert raised(JournalError, other.open_state, number, sealed), len(state)


def _entries(cards, game=_MIDI):
    """Return what the journal gets while these cards are dealt, with a state after each."""
    unit = Unit(game_with(game))
    for text in ["lid+", "lid-"] + cards.split():
        unit.input(note_of(text))
        unit.keep()
    return unit.entries


def _sizes(entries):
    return [(kind, len(payload)) for kind, payload in entries]


def test_entries_of_hidden_cards_have_the_same_sizes_whatever_the_cards_are():
    seed_random()
    open_, shut = set(), set()
    for _ in range(60):
        pile = [random.choice("A23456789TJQK") + random.choice("CDHS") for _ in range(4)]
        entries = _entries(" ".join(pile))
        # With the fourth card the lock shuts, or stays open for a third card of a hand.
        (shut if entries[-2][1][1] == events.LOCK.number else open_).add(str(_sizes(entries)))
    assert len(open_) == len(shut) == 1, (open_, shut)


def test_no_entry_of_hidden_cards_can_be_read_without_the_secret():
    entries = _entries(_SIX)
    begun = [i for i in range(len(entries)) if entries[i][0] == NOTE][2]
    for kind, payload in entries[begun:]:
        value = cbor.decode(payload, 0, len(payload) - (len(MAC) if kind == 1 else 0))
        if kind == NOTE:
            assert value[0] == 9 and len(value) == 3, value
        elif kind == STATE:
            assert value[0] == 2 and len(value[4]) == STATE_SIZE
        else:
            assert value[0] not in (events.CARD.number, events.DECISION.number, 13), value


def test_the_cards_of_a_void_round_are_opened_or_counted_as_unread_by_the_choice_of_the_house():
    for game, length in ((_MIDI, 32), (_NEVER, 0)):
        unit = Unit(game_with(game))
        for text in ["lid+", "lid-", "4C", "2D", "AC", "key+", "void"]:
            actions = unit.input(note_of(text))
        kinds = [action[0].name for action in actions]
        assert kinds.index("unsealed") + 1 == kinds.index("round_void"), kinds
        found = [cbor.decode(p, 0, len(p) - len(MAC)) for kind, p in unit.entries if kind == 1]
        assert [len(event[7]) for event in found if event[0] == 39] == [length]
        counted = sum(unit.dealing.inventory.counts)
        assert (counted, unit.dealing.inventory.unread) == ((3, 0) if length else (0, 3))
        assert unit.dealing.cards == 3


def test_a_state_after_a_round_that_is_never_to_be_known_has_nothing_of_its_cards():
    """With the place where the choice began, the presses, which are events, tell what was entered.
    Margin and skew of a copy too many depend on its marks."""
    new = Unit(game_with(_NEVER)).dealing.pending.state()
    surplus = dict(_NEVER, decks=1)
    for game, stop in ((_NEVER, ["4C", "?bad_code"]), (surplus, ["4C", "4C"])):
        unit = Unit(game_with(game))
        for text in ["lid+", "lid-"] + stop + ["key+"]:
            note = note_of(text)
            if note[0] == input_log.CARD:
                note[2:] = [800, 871, 212, 1765]
            unit.input(note)
        while unit.dealing.pending.rank() != 6:
            unit.input(note_of("next"))
        for text in ["burn", "reveal", "void"]:
            unit.input(note_of(text))
        unit.keep()
        state = cbor.decode(unit.entries[-1][1], 0, len(unit.entries[-1][1]))
        assert state[0] == 1 and not unit.dealing.sealed, "not sealed any more"
        waiting = state[3][2]
        for at in (1, 2, 6, 7, 9, 10):  # card, figures, choice, suit, where they began
            assert waiting[at] == new[at], (stop, waiting)


def test_the_presses_of_the_supervisor_do_not_tell_which_card_was_entered():
    seed_random()
    presses = {}
    for n in range(60):
        unit = Unit(game_with(_MIDI))
        unit.number = 1 + 9 * n  # another round, so another place to begin
        for text in ["lid+", "lid-", "4C", "?bad_code", "key+"]:
            unit.input(note_of(text))
        count = 0
        while unit.dealing.pending.rank() != 6:
            unit.input(note_of("next"))
            count += 1
        presses[count] = presses.get(count, 0) + 1
    assert len(presses) > 8 and max(presses.values()) < 20, presses


_SHOWN = "2C 3C 4C 5C 6C 7C next 8C 9C TC JC reveal burn next reveal"
"""A hand to three seats whose second seat shows its cards."""


def _seat_key(number, seat):
    key = hmac(SECRET, b"sabot round" + number.to_bytes(8, "big"))
    return hmac(key, b"sabot seat" + bytes([seat]))


def _events_of(unit):
    return [cbor.decode(p, 0, len(p) - len(MAC)) for kind, p in unit.entries if kind == 1]


def _check_hand(found):
    """Check the seats' keys of a hand by the definition in protocol/README.md; return the cards
    that the recorded keys open, by place, and the seats that have a commitment."""
    number, committed, opened, sealed = 0, {}, {}, {}
    for event in found:
        if event[0] == events.SEAL.number:
            number = event[1]
        elif event[0] == events.SEAT_SEAL.number:
            assert event[8] == sha256(b"sabot seal" + _seat_key(number, event[7]))
            committed[event[7]] = event[8]
        elif event[0] == events.SEALED_CARD.number:
            seat = max(0, event[9] - 17) if event[9] < 28 else 0
            assert seat in committed
            sealed[event[7]] = (seat, event[8])
        elif event[0] == events.SEAT_UNSEALED.number:
            assert sha256(b"sabot seal" + event[8]) == committed[event[7]]
            opened[event[7]] = event[8]
    cards_of = {}
    for place in sealed:
        seat, data = sealed[place]
        for other in range(11):
            pad = hmac(_seat_key(number, other), b"sabot card" + bytes([place]))
            card = [data[at] ^ pad[at] for at in range(16)]
            assert (card[1:] == [0] * 15) == (other == seat), (place, seat, other)
            if other == seat and seat in opened:
                cards_of[place] = cards.name_of(card[0])
    return cards_of, sorted(committed)


def test_each_seat_and_the_burned_cards_have_a_key_and_only_the_marked_seat_opens():
    unit = Unit(hand.game(hole_cards="shown", seats=3))
    for text in ["lid+", "lid-"] + _SHOWN.split():
        unit.input(note_of(text))
        unit.keep()
    assert _check_hand(_events_of(unit)) == ({1: "3C", 4: "6C"}, [0, 1, 2, 3])


def test_a_loss_of_power_at_every_entry_of_a_hand_opens_the_same_seats_and_no_others():
    game = hand.game(hole_cards="shown", seats=3)
    texts = ["lid+", "lid-"] + _SHOWN.split()
    upto = []  # the number of entries after each input
    whole = Unit(game)
    for text in texts:
        whole.input(note_of(text))
        upto.append(len(whole.entries))
    cuts = 0
    for cut in range(1, len(whole.entries) + 1):
        unit = Unit(game)
        unit.entries = whole.entries[:cut]
        unit.number = 1 + len(_events_of(unit))
        done = len([at for at in upto if at <= cut])
        if done < len(texts) and cut > (upto[done - 1] if done else 1):
            done += 1  # its note is on flash
        resumed, unit.dealing = recovered(unit, game)
        open_ = unit.dealing.sealed
        unit.restart(resumed, 99)
        assert not open_ or unit.seals.by_seat
        for text in texts[done:]:
            unit.input(note_of(text))
            unit.keep()
        kinds = [event[0] for event in _events_of(unit)]
        for shape in (events.SEAL, events.SEAT_UNSEALED, events.UNSEALED, events.HAND_ENDED):
            assert kinds.count(shape.number) == 1, (cut, shape.name)
        assert _check_hand(_events_of(unit)) == ({1: "3C", 4: "6C"}, [0, 1, 2, 3]), cut
        assert unit.dealing.inventory.unread == 5
        cuts += 1
    assert cuts > 40
