"""What the rule documents say about a round, written from them without the firmware's code.

mini-baccarat-pairs; Maryland, Mini Baccarat, chapter 1 B and chapter 7; Pennsylvania, "5 Treasures
Bonus". Cards are ranks, 0 an ace to 12 a king.
"""

VALUES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0)  # ace to king


def count_of(ranks):
    """ "Point Count": the last digit of the sum."""
    return int(str(sum([VALUES[rank] for rank in ranks]))[-1])


def banker_draws(total, third):
    """Mini-Baccarat, "The Third Card Rule - Banker"; `third` is None if the Player stood."""
    if third is None or total <= 2:
        return total <= 5
    rule = {3: third != 8, 4: 2 <= third <= 7, 5: 4 <= third <= 7, 6: third in (6, 7)}
    return rule.get(total, False)


def _pair(ranks):
    # "Player pair and Banker pair": two cards, mini-baccarat-pairs.
    return len(set(ranks[:2])) == 1


def _point_counts(player, banker, cards):
    """Return the Point Counts of hands with this many cards, None for another hand."""
    return [count_of(hand) if len(hand) == cards else None for hand in (player, banker)]


def _dragon_7(player, banker):
    # "a Banker's Hand which has a Point Count of 7 with a total of three cards dealt and the
    # Player's Hand which has a Point Count of less than 7"
    return _point_counts(player, banker, 3)[1] == 7 and count_of(player) < 7


def _panda_8(player, banker):
    # "a Player's Hand which has a Point Count of 8 with a total of three cards dealt and the
    # Banker's Hand which has a Point Count of less than 8"
    return _point_counts(player, banker, 3)[0] == 8 and count_of(banker) < 8


def _fortune_7(player, banker):
    # "if the Banker's hand wins with a 3-card total of 7"
    wins = count_of(banker) > count_of(player)
    return wins and _point_counts(player, banker, 3)[1] == 7


def _golden_8(player, banker):
    # "if the player's hand wins with a 3-card total of 8"
    wins = count_of(player) > count_of(banker)
    return wins and _point_counts(player, banker, 3)[0] == 8


def _heavenly_9(player, banker):
    # "if the Player's or Banker's hand has a 3-card total of 9 ..."
    nines = _point_counts(player, banker, 3)
    return 9 in nines and nines != [9, 9]


def _heavenly_9_both(player, banker):
    # "... a higher payout shall occur if both Player's and Banker's hands have"
    return _point_counts(player, banker, 3) == [9, 9]


def _blazing_7s_two(player, banker):
    # "if the Player's and Banker's hands are both a 2-card total of 7 ..."
    return _point_counts(player, banker, 2) == [7, 7]


def _blazing_7s_three(player, banker):
    # "... or a 3-card total of 7"
    return _point_counts(player, banker, 3) == [7, 7]


HITS = {
    "player_pair": lambda player, banker: _pair(player),
    "banker_pair": lambda player, banker: _pair(banker),
    "dragon_7": _dragon_7,
    "panda_8": _panda_8,
    "fortune_7": _fortune_7,
    "golden_8": _golden_8,
    "heavenly_9": _heavenly_9,
    "heavenly_9_both": _heavenly_9_both,
    "blazing_7s_two": _blazing_7s_two,
    "blazing_7s_three": _blazing_7s_three,
}
"""By the names of `enums.HITS`: a function that says whether a round of two hands has that hit."""
