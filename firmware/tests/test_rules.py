"""The rules against two rule documents, typed from each.

Washington State Gambling Commission, Mini-Baccarat Game Rules (4/12/2022), and the
Pennsylvania "Mini & Midi Baccarat" rules submission, whose chart also says when the Banker
does not draw.
"""

from firmware import rules
from protocol import games

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
    return games.Game(games.document_of(games.MINI_NAME))


def _card(suit, rank):
    return 13 * suit + rank - 1


def _washington(player, banker, third):
    """Whether Player and Banker draw: `third` is what the Player's third card would count."""
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
                told = document(player, banker, _VALUES[card % 13])
                if _ours(game, player, banker, card) != told:
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
            assert rules.burn_count(_card(suit, rank)) == _BURNED[rank - 1], (suit, rank)


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
