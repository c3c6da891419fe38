"""Compares the rules with two rule documents, each typed from its text.

Washington State Gambling Commission, Mini-Baccarat Game Rules (4/12/2022), and the
Pennsylvania "Mini & Midi Baccarat" rules submission, whose chart also says when the Banker
does not draw.
"""

from firmware.tests.support import documents
from protocol.tests.helpers import seed_random, some
from sabot_firmware.table import rules
from sabot_protocol import baccarat, cards, enums, games

# "Banker draws when Player's third card is:", by the Banker's total (Washington).
_WASHINGTON = {
    0: range(10),
    1: range(10),
    2: range(10),
    3: (0, 1, 2, 3, 4, 5, 6, 7, 9),  # "unless Player's third card is 8"
    4: range(2, 8),  # "2 - 7"
    5: range(4, 8),  # "4 - 7"
    6: range(6, 8),  # "6 - 7"
    7: (),  # "Banker hand stands"
}

# "Draws when Player's third card is" and "does not draw when" (Pennsylvania); 0-2 always draw.
_PENNSYLVANIA = {
    3: ("0-1-2-3-4-5-6-7-9", "8"),
    4: ("2-3-4-5-6-7", "0-1-8-9"),
    5: ("4-5-6-7", "0-1-2-3-8-9"),
    6: ("6-7", "0-1-2-3-4-5-8-9"),
    7: ("", "0-1-2-3-4-5-6-7-8-9"),
}

# "Ace equals one. Deuce is two. All tens and face cards have no value", ace to king.
_VALUES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0)

# Table facts, burn: "ten and faces count 10, an ace 1", ace to king.
_BURNED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)

_NATURAL_TOTALS = (8, 9)


def _game():
    return baccarat.Game(baccarat.document_of(baccarat.MINI_NAME))


def _card(suit, rank):
    return 13 * suit + rank - 1


def _washington(player, banker, third):
    """Whether Player and Banker draw: `third` is the points of the Player's third card."""
    if player in _NATURAL_TOTALS or banker in _NATURAL_TOTALS:
        return False, False  # "no additional cards are drawn"
    if player in (6, 7):
        return False, 0 <= banker <= 5
    return True, third in _WASHINGTON[banker]


def _pennsylvania(player, banker, third):
    if player >= 8 or banker >= 8:
        return False, False
    if str(player) in "6-7":
        return False, str(banker) in "0-1-2-3-4-5"
    if banker in (0, 1, 2):
        return True, True
    draws, stands = _PENNSYLVANIA[banker]
    assert (str(third) in draws) != (str(third) in stands)
    return True, str(third) in draws


def _ours(game, player, banker, third_card):
    if rules.is_natural(player) or rules.is_natural(banker):
        return False, False
    draws = rules.player_draws(game, player)
    return draws, rules.banker_draws(game, banker, third_card if draws else rules.NO_CARD)


def _check_against(document):
    game = _game()
    wrong = []
    for player in range(10):
        for banker in range(10):
            for card in range(52):
                expected = document(player, banker, _VALUES[card % 13])
                if _ours(game, player, banker, card) != expected:
                    wrong.append((player, banker, card))
    assert not wrong, wrong[:5]


def test_third_cards_are_those_of_the_washington_rules():
    _check_against(_washington)


def test_third_cards_are_those_of_the_pennsylvania_rules():
    _check_against(_pennsylvania)


def test_every_card_counts_what_the_documents_say():
    for suit in range(4):
        for rank in range(1, 14):
            assert rules.point_of(_card(suit, rank)) == _VALUES[rank - 1], (suit, rank)


def test_as_many_cards_are_burned_as_the_first_one_counts():
    for suit in range(4):
        for rank in range(1, 14):
            burned = rules.burn_count(_game(), _card(suit, rank))
            assert burned == _BURNED[rank - 1], (suit, rank)


def test_an_ace_burns_as_many_as_the_house_chose_and_other_cards_their_points():
    for ace in range(1, 12):
        game = baccarat.Game(games.encode(dict(baccarat.MINI, burn_ace=ace)))
        for rank in range(1, 14):
            burned = ace if rank == 1 else _BURNED[rank - 1]
            assert rules.burn_count(game, _card(rank % 4, rank)) == burned, (ace, rank)


def test_a_total_is_the_last_digit():
    # "the hand 7-5, totaling 12, is valued at 2; the hand 7-6-8, totaling 21, is valued at 1"
    assert rules.total_of([_card(0, 7), _card(1, 5)]) == 2
    assert rules.total_of([_card(2, 7), _card(3, 6), _card(0, 8)]) == 1
    # "9+5 = 4. Jack+1 = 1."
    assert rules.total_of([_card(0, 9), _card(0, 5)]) == 4
    assert rules.total_of([_card(0, 11), _card(0, 1)]) == 1
    assert rules.total_of([]) == 0


def test_every_two_and_three_cards_total_their_last_digit():
    for a in range(52):
        for b in range(52):
            points = _VALUES[a % 13] + _VALUES[b % 13]
            assert str(points)[-1] == str(rules.total_of([a, b])), (a, b)
            points += _VALUES[(a + b) % 13]
            assert str(points)[-1] == str(rules.total_of([a, b, (a + b) % 13])), (a, b)


def test_naturals_are_eight_and_nine():
    assert [total for total in range(10) if rules.is_natural(total)] == [8, 9]


def _pairs():
    """Return every two cards by rank, 0 an ace to 12 a king, in either order once."""
    return [(one, other) for one in range(13) for other in range(one, 13)]


def test_every_pair_of_first_hands_with_every_third_card_draws_as_the_documents_say():
    game = _game()
    count, wrong = 0, []
    pairs = [(rules.total_of(list(pair)), documents.count_of(pair)) for pair in _pairs()]
    for player, player_count in pairs:
        for banker, banker_count in pairs:
            count += 1
            natural = player_count > 7 or banker_count > 7
            draws = not natural and player_count < 6
            if (player, banker) != (player_count, banker_count):
                wrong.append((player, banker))
            if (rules.is_natural(player) or rules.is_natural(banker)) != natural:
                wrong.append((player, banker))
            if natural:
                continue
            if rules.player_draws(game, player) != draws:
                wrong.append((player, banker))
            for third in range(13) if draws else (None,):
                card = rules.NO_CARD if third is None else third + 39
                value = None if third is None else documents.VALUES[third]
                right = documents.banker_draws(banker_count, value)
                if rules.banker_draws(game, banker, card) != right:
                    wrong.append((player, banker, third))
    assert count == 8281 and not wrong, wrong[:5]


def _classes(hands):
    """Return one hand for each combination of size, total and pair, which the hits depend on."""
    found = {}
    for hand in hands:
        found[len(hand), documents.count_of(hand), hand[0] == hand[1]] = hand
    return list(found.values())


def _check_hits(player, banker):
    found = rules.hits_of([rank + 13 for rank in player], [rank + 26 for rank in banker])
    for n in range(len(enums.HITS)):
        right = documents.HITS[enums.HITS[n]](player, banker)
        assert (found >> n & 1 == 1) == right, (enums.HITS[n], player, banker)
    assert found >> len(enums.HITS) == 0


def test_every_hand_against_every_kind_of_hand_hits_what_the_documents_say():
    threes = [pair + (third,) for pair in _pairs() for third in range(13)]
    kinds = _classes(_pairs()) + _classes(threes)
    assert len(kinds) > 2 * (10 + 5)
    seed_random()
    for one in kinds:
        for other in some(kinds, 5):
            _check_hits(one, other)
    few = [kinds[n] for n in range(0, len(kinds), 6)]
    for hand in some(_pairs() + threes, 5):
        for other in few:
            _check_hits(hand, other)
            _check_hits(other, hand)


# Rounds written by hand, with all their hits.
_ROUNDS = (
    ("2C 5D", "3H 4S", "blazing_7s_two"),
    ("AC 2D 4H", "3S 4S", ""),  # 7 of three cards against 7 of two
    ("AC 4D 2H", "5S TS 2S", "blazing_7s_three"),
    ("KC KD", "KH KS 7C", "player_pair banker_pair dragon_7 fortune_7"),
    ("KC QD", "KH QS 7C", "dragon_7 fortune_7"),
    ("KC QD 7H", "KH QS 7C", "blazing_7s_three"),
    ("KC 7D", "KH QS 7C", ""),  # a tie: the Banker does not win with it
    ("KC QD 8H", "KH 7S", "panda_8 golden_8"),
    ("KC QD 8H", "KH 8S", ""),
    ("KC 8D", "KH 3S", ""),  # 8 of two cards
    ("2C 2H 5D", "KH 6S", "player_pair heavenly_9"),
    ("KC 6H", "4H AS 4C", "heavenly_9"),
    ("2C 3H 4D", "4H AS 4C", "heavenly_9_both"),
    ("9C KH", "9H QS", ""),  # nines of two cards
    ("9C 9H", "TH TS", "player_pair banker_pair"),
    ("TC JH", "QH KS", ""),  # tens and faces are not of one rank
    ("TC JH TD", "AH TS AC", ""),  # the third card does not make a pair
)


def test_rounds_by_hand_hit_what_a_reader_of_the_documents_says():
    for player, banker, hits in _ROUNDS:
        hands = [[cards.number_of(name) for name in hand.split()] for hand in (player, banker)]
        found = rules.hits_of(hands[0], hands[1])
        names = [enums.HITS[n] for n in range(len(enums.HITS)) if found >> n & 1]
        assert names == hits.split(), (player, banker, names)
