"""The hands of blackjack: totals, what a hand may do by the choices of the house, its result.

A hand is a list of numbers. The first has the box, 0 to 6, and the bits below; then come the cards,
0 to 51, or once the hand is done its total. Common practice; see blackjack.py.
"""

from sabot_firmware.native import const
from sabot_protocol import cards

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_protocol.blackjack import BlackjackGame

BOX = const(7)
SPLIT = const(8)
DOUBLED = const(16)
SURRENDERED = const(32)
NATURAL = const(64)
DONE = const(128)

SOFT = const(32)
TOTAL = const(31)
"""Of a total as a number: whether an ace counts eleven in it; the total itself."""
_MOST = const(21)
_DEALER_STANDS = const(17)
_COLUMNS = const(16)

# Places in the tuple of enums.py, constant for the compiler; a test compares them with the tuples.
_WINS = const(0)
_LOSES = const(1)
_PUSHES = const(2)
_BLACKJACK = const(3)
_SURRENDERED = const(4)
_LETTERS = "WLPBS"


def points_of(card: int) -> int:
    """Return the points of card 0-51, an ace 1."""
    rank = card % 13 + 1
    return rank if rank < 10 else 10


def total_of(hand: "list[int]", first: int = 0) -> int:
    """Return the total of the cards from `first` on, with SOFT added if an ace counts eleven."""
    total, ace = 0, False
    for place in range(first, len(hand)):
        points = points_of(hand[place])
        total += points
        ace = ace or points == 1
    return total + 10 + SOFT if ace and total <= 11 else total


def dealer_draws(game: "BlackjackGame", total: int, soft: bool) -> bool:
    """Whether the dealer draws to a total, if the result of a hand depends on it."""
    if total == _DEALER_STANDS and soft:
        return game.soft_17 == "hits"
    return total < _DEALER_STANDS


def has_one_card_only(game: "BlackjackGame", hand: "list[int]") -> bool:
    """Whether it is a split ace that gets one card only."""
    return bool(hand[0] & SPLIT and hand[1] % 13 == 0 and game.split_aces == "one_card")


def can_double(game: "BlackjackGame", hand: "list[int]") -> bool:
    """Whether a hand that is not done may double: two cards, by the choices of the house."""
    if len(hand) != 3 or has_one_card_only(game, hand):
        return False
    if hand[0] & SPLIT and not game.double_after_split:
        return False
    if game.double_on == "any_two":
        return True
    return (9 if game.double_on == "9_to_11" else 10) <= total_of(hand, 1) <= 11


def is_pair(game: "BlackjackGame", hand: "list[int]") -> bool:
    """Whether a hand that is not done is a pair, by rank or by value."""
    if len(hand) != 3:
        return False
    if game.split_by == "rank":
        return cards.rank_of(hand[1]) == cards.rank_of(hand[2])
    return points_of(hand[1]) == points_of(hand[2])


def can_surrender(game: "BlackjackGame", hand: "list[int]") -> bool:
    """Whether a hand that is not done may surrender: its first two cards, not after a split."""
    return game.surrender != "none" and len(hand) == 3 and not hand[0] & SPLIT


def is_live(hand: "list[int]") -> bool:
    """Whether a hand is done and its result depends on the dealer's total."""
    bits = hand[0] & (DONE | NATURAL | SURRENDERED)
    return bits == DONE and hand[1] & TOTAL <= _MOST


def is_blackjack(dealer: "list[int]") -> bool:
    """Whether the dealer's cards are a blackjack."""
    return len(dealer) == 2 and total_of(dealer) & TOTAL == _MOST


def result_of(game: "BlackjackGame", hand: "list[int]", dealer: "list[int]") -> int:
    """Return the result of a hand that is done, a place in `enums.OUTCOMES`.

    A late surrender is void against a blackjack: the hand loses, also if the dealer did not look.
    """
    total, of_dealer = hand[1] & TOTAL, total_of(dealer) & TOTAL
    natural = is_blackjack(dealer)
    if hand[0] & SURRENDERED:
        return _LOSES if natural and game.surrender == "late" else _SURRENDERED
    if hand[0] & NATURAL:
        return _PUSHES if natural else _BLACKJACK
    if total > _MOST or natural:
        return _LOSES
    if of_dealer > _MOST or total > of_dealer:
        return _WINS
    return _PUSHES if total == of_dealer else _LOSES


def line_of(hand: "list[int]", total: int) -> str:
    """Return a line of the display: the last cards of a hand, and its total, S if it is soft."""
    names = " ".join([cards.name_of(card) for card in hand[-4:]])
    return "%-12s%4s" % (names, ("S%d" if total >= SOFT else "%d") % (total & TOTAL))


def results_text(game: "BlackjackGame", hands: "list[list[int]]", dealer: "list[int]") -> str:
    """Return a line of the display: a letter for the result of each hand, the first of its word. A
    space separates the boxes if there is room."""
    text, box = "", -1
    for hand in hands:
        if box != hand[0] & BOX:
            box = hand[0] & BOX
            text += " "
        text += _LETTERS[result_of(game, hand, dealer)]
    text = text[1:]
    return text if len(text) <= _COLUMNS else text.replace(" ", "")[:_COLUMNS]


def place_of(hands: "list[list[int]]", at: int) -> "tuple[int, int]":
    """Return the box of a hand and its number within the box, both from 1."""
    box, number = hands[at][0] & BOX, 1
    while at and hands[at - 1][0] & BOX == box:
        at -= 1
        number += 1
    return 1 + box, number


def packed(hands: "list[list[int]]") -> bytes:
    """Return hands in few bytes: of each the first number; if it is not done, how many cards it
    has; then the cards or the total."""
    data = bytearray()
    for hand in hands:
        data.append(hand[0])
        if not hand[0] & DONE:
            data.append(len(hand) - 1)
        data.extend(bytes(hand[1:]))
    return bytes(data)


def unpacked(data: bytes) -> "list[list[int]]":
    """Return the hands that `packed` returned as bytes."""
    hands = []
    place = 0
    while place < len(data):
        first, count = data[place], 1
        if not first & DONE:
            place += 1
            count = data[place]
        place += 1
        hands.append([first] + list(data[place : place + count]))
        place += count
    return hands
