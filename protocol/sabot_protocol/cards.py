"""The numbers of the cards, and the code that is printed on them (card code specification)."""

RANKS = "A23456789TJQK"
SUITS = "CDHS"
DECK_SIZE = 52
CUT_CARD = 52
TEST_CARD = 53
CARD_COUNT = 54
SET_COUNT = 13

DIGIT_COUNT = 6
MARK_COUNT = 2 * DIGIT_COUNT + 2

_START, _STOP = 2, 0

_CHECK = (
    (0, 1, 1, 1, 1, 1),
    (1, 0, 1, 2, 2, 1),
    (1, 1, 0, 1, 2, 2),
    (1, 2, 1, 0, 1, 2),
    (1, 2, 2, 1, 0, 1),
    (1, 1, 2, 2, 1, 0),
)
"""The check part of the extended ternary Golay code [12, 6, 6]."""

# The rows of _CHECK, with five bits for each column: the sum over six digits is at most 24, and six
# columns fit into a small integer of the device.
_CHECK_BITS = 5
_CHECK_MASK = 31
_CHECK_ROWS = tuple(
    [sum([row[j] << _CHECK_BITS * j for j in range(DIGIT_COUNT)]) for row in _CHECK]
)

NOT_A_CODE, REVERSED = -1, -2
"""Results of `decode_marks` for marks that are not a code, and for a code that came stop first."""


def name_of(card: int) -> str:
    """Return the name of `card` 0-53: "7H", "TC", "CUT", "TEST"."""
    if card == CUT_CARD:
        return "CUT"
    if card == TEST_CARD:
        return "TEST"
    return RANKS[card % 13] + SUITS[card // 13]


def number_of(name: str) -> int:
    """Return the card 0-53 with this name. Raises ValueError if there is none."""
    if name == "CUT":
        return CUT_CARD
    if name == "TEST":
        return TEST_CARD
    if len(name) == 2 and name[0] in RANKS and name[1] in SUITS:
        return 13 * SUITS.index(name[1]) + RANKS.index(name[0])
    raise ValueError("no card is called " + name)


def rank_of(card: int) -> int:
    """Return the rank, 1 (ace) to 13 (king), of a playing card 0-51."""
    return card % 13 + 1


def marks_of(card: int, card_set: int) -> "list[int]":
    """Return the 14 symbols 0-2 printed on `card` 0-53 of set 0-12, in the order of reading."""
    message = CARD_COUNT * card_set + card
    digits = [message // 3 ** (DIGIT_COUNT - 1 - i) % 3 for i in range(DIGIT_COUNT)]
    check = [_check_digit(digits, j) for j in range(DIGIT_COUNT)]
    return [_START] + digits + check + [_STOP]


def decode_marks(marks: "bytearray | list[int]") -> int:
    """Return the message 0-701 of 14 symbols, REVERSED, or NOT_A_CODE. It detects errors and never
    corrects them."""
    first, last = marks[0], marks[MARK_COUNT - 1]
    if first != _START or last != _STOP:
        return REVERSED if first == _STOP and last == _START else NOT_A_CODE
    # While a shoe does this, its lock must wait for it: the loops are as short as they can be.
    bits, mask = _CHECK_BITS, _CHECK_MASK
    message = checks = 0
    at = 1
    for row in _CHECK_ROWS:
        digit = marks[at]
        message = 3 * message + digit
        checks += digit * row
        at += 1
    for _ in _CHECK_ROWS:
        if (checks & mask) % 3 != marks[at]:
            return NOT_A_CODE
        checks >>= bits
        at += 1
    return message if message < CARD_COUNT * SET_COUNT else NOT_A_CODE


def _check_digit(digits: "list[int]", j: int) -> int:
    return sum([digits[i] * _CHECK[i][j] for i in range(DIGIT_COUNT)]) % 3
