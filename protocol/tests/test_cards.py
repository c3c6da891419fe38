"""The card code, against its specification, which is written a second time here."""

import random

from protocol.tests.helpers import raised, seed_random
from sabot_protocol import cards

_MESSAGES = cards.CARD_COUNT * cards.SET_COUNT

# The matrix H of the specification. The words of its code are made differently than in
# cards.py: as sums of the six rows of the generator matrix [I | H].
_H = ("011111", "101221", "110122", "121012", "122101", "112210")
_ROWS = [[1 if j == i else 0 for j in range(6)] + [int(digit) for digit in _H[i]] for i in range(6)]


def _codeword(message):
    word = [0] * 12
    for i in range(5, -1, -1):
        digit = message % 3
        message //= 3
        word = [(word[j] + digit * _ROWS[i][j]) % 3 for j in range(12)]
    return word


def _distance(one, other):
    return sum([1 for i in range(len(one)) if one[i] != other[i]])


def test_the_worked_example_of_the_specification_by_its_matrix():
    seven_of_hearts = cards.number_of("7H")
    assert seven_of_hearts == 13 * 2 + 6 == 32
    # The specification's example ends in the check digits 1 2 0 1 1 0. Its matrix gives
    # 0 2 2 1 2 2, and its recordings of real cards follow the matrix, as the code does.
    marks = [2] + [0, 2, 1, 0, 1, 2] + [0, 2, 2, 1, 2, 2] + [0]
    assert cards.marks_of(seven_of_hearts, 3) == marks
    assert cards.decode_marks([2] + [0, 2, 1, 0, 1, 2] + [1, 2, 0, 1, 1, 0] + [0]) < 0
    assert cards.decode_marks(marks) == 54 * 3 + 32 == 194


def test_all_messages_are_printed_as_specified_and_read_back():
    for message in range(_MESSAGES):
        card_set, card = divmod(message, 54)
        marks = cards.marks_of(card, card_set)
        assert marks == [2] + _codeword(message) + [0]
        assert cards.decode_marks(marks) == cards.decode_marks(bytearray(marks)) == message


def test_there_are_702_messages_of_14_marks():
    assert (cards.CARD_COUNT, cards.SET_COUNT, cards.MARK_COUNT) == (54, 13, 14)
    assert _MESSAGES == 702


def test_unused_messages_are_not_a_code():
    for message in range(_MESSAGES, 3**6):
        assert cards.decode_marks([2] + _codeword(message) + [0]) == cards.NOT_A_CODE


def test_any_two_codewords_differ_in_at_least_six_symbols():
    # The code is linear: the distance of two words is the weight of their difference.
    weights = [12 - _codeword(message).count(0) for message in range(1, 3**6)]
    assert min(weights) == 6
    seed_random()
    for _ in range(1500):
        one, other = random.randrange(_MESSAGES), random.randrange(_MESSAGES)
        if one != other:
            marks = [cards.marks_of(message % 54, message // 54) for message in (one, other)]
            assert _distance(*marks) >= 6, (one, other)


def test_every_changed_symbol_and_every_pair_of_them_is_detected():
    marks = cards.marks_of(32, 3)
    for i in range(14):
        for by in (1, 2):
            changed = list(marks)
            changed[i] = (changed[i] + by) % 3
            assert cards.decode_marks(changed) < 0
            for j in range(i):
                for by_too in (1, 2):
                    twice = list(changed)
                    twice[j] = (twice[j] + by_too) % 3
                    assert cards.decode_marks(twice) < 0


def test_one_to_five_changed_symbols_are_never_a_card():
    seed_random()
    for _ in range(3000):
        message = random.randrange(_MESSAGES)
        marks = cards.marks_of(message % 54, message // 54)
        changed = list(marks)
        for _ in range(random.randrange(1, 6)):
            changed[random.randrange(14)] = random.randrange(3)
        if changed != marks:
            assert cards.decode_marks(changed) < 0, (message, changed)


def test_a_code_read_from_stop_to_start_is_reversed():
    for message in range(_MESSAGES):
        marks = cards.marks_of(message % 54, message // 54)
        marks.reverse()
        assert cards.decode_marks(marks) == cards.REVERSED


def test_marks_without_start_or_stop_are_not_a_code():
    marks = cards.marks_of(0, 0)
    for first in range(3):
        for last in range(3):
            marks[0], marks[13] = first, last
            expected = cards.NOT_A_CODE
            if (first, last) == (2, 0):
                expected = 0
            elif (first, last) == (0, 2):
                expected = cards.REVERSED
            assert cards.decode_marks(marks) == expected, (first, last)


def test_marks_that_are_all_alike_are_not_a_code():
    for symbol in range(3):
        assert cards.decode_marks([symbol] * 14) == cards.NOT_A_CODE


def test_names_and_numbers_are_those_of_the_specification():
    names = [cards.name_of(card) for card in range(cards.CARD_COUNT)]
    known = {0: "AC", 9: "TC", 12: "KC", 13: "AD", 32: "7H", 39: "AS", 50: "QS", 51: "KS"}
    for card in known:
        assert names[card] == known[card]
    assert names[52:] == ["CUT", "TEST"]
    assert len(set(names)) == cards.CARD_COUNT
    assert [cards.number_of(name) for name in names] == list(range(cards.CARD_COUNT))


def test_names_of_no_card_are_refused():
    for name in ("", "7", "H", "H7", "7h", "10H", "1H", "7HH", "cut", "CUTS", "TES", "XX", " 7H"):
        assert raised(ValueError, cards.number_of, name), name


def test_ranks_go_from_ace_to_king_in_each_suit():
    for card in range(cards.DECK_SIZE):
        assert cards.RANKS[cards.rank_of(card) - 1] == cards.name_of(card)[0]
        assert 13 * (card // 13) + cards.rank_of(card) - 1 == card
