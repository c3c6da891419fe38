"""Random rounds of blackjack, dealt and settled by a dealer that shares nothing with
`sabot.games.blackjack`: its own totals, its own rules of play, its own payments."""

import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

RANKS, SUITS = "A23456789TJQK", "CDHS"
_CHIP_CENTS = 50

SIDE_PAYS = {
    "lucky_ladies": {"A": (1000, 200, 25, 10, 4), "B": (1000, 125, 19, 9, 4)},
    "royal_match_21": {"A": (Fraction(25), Fraction(5, 2))},
    "bet_the_set_21": {"A": (15, 10)},
    "house_money": {"A": (9, 4, 3, 1)},
}
"""Of six decks, written down from where they were published, the highest prize first."""


def value(cards: list[str]) -> tuple[int, bool]:
    """The best total of a hand, and whether an ace counts 11 in it."""
    totals = {0}
    for card in cards:
        worth = {"A": (1, 11), "T": (10,), "J": (10,), "Q": (10,), "K": (10,)}.get(
            card[0], (RANKS.index(card[0]) + 1,)
        )
        totals = {total + each for total in totals for each in worth}
    best = max((total for total in totals if total <= 21), default=min(totals))
    return best, best <= 21 and best != min(totals)


def natural(cards: list[str]) -> bool:
    return {*(("T" if card[0] in "TJQK" else card[0]) for card in cards)} == {"A", "T"} and (
        len(cards) == 2
    )


@dataclass
class Expected:
    """What a wager of a box should come to, in cents."""

    wager: str
    returned: int
    paid: int


@dataclass
class RandomTable:
    """A round, and what its wagers should come to by box."""

    fields: dict[str, Any]
    expected: dict[int, list[Expected]]


@dataclass
class _Hand:
    cards: list[str]
    cents: int
    split: bool = False
    double: int = 0
    surrendered: bool = False

    @property
    def undecided(self) -> bool:
        blackjack = natural(self.cards) and not self.split
        return not (blackjack or self.surrendered or value(self.cards)[0] > 21)


@dataclass
class _Dealing:
    rng: random.Random
    house: dict[str, Any]
    shoe: list[str] = field(default_factory=list)

    def card(self) -> str:
        return self.shoe.pop()


def random_house(rng: random.Random) -> dict[str, Any]:
    hole = rng.choice(["dealt", "none"])
    return {
        "decks": 6,
        "hole_card": hole,
        "soft_17": rng.choice(["stands", "hits"]),
        "looks": "never" if hole == "none" else rng.choice(["ace", "ace_or_ten", "never"]),
        "double_on": rng.choice(["any_two", "9_to_11", "10_or_11"]),
        "double_after_split": rng.choice([True, False]),
        "hands_of_box": rng.choice([2, 3, 4]),
        "resplit_aces": rng.choice([True, False]),
        "split_aces": rng.choice(["one_card", "play_on"]),
        "split_by": rng.choice(["rank", "value"]),
        "surrender": rng.choice(["none", "late", "early"]),
        "blackjack_pays": rng.choice(["3_to_2", "6_to_5"]),
        "blackjack_takes": rng.choice(["original", "all"]),
        "lucky_ladies": rng.choice(["A", "B"]),
        "odd_cents": rng.choice(["down", "up"]),
    }


def random_table(seed: int) -> RandomTable:
    rng = random.Random(seed)
    house = random_house(rng)
    # Few ranks in some shoes, so that splits, blackjacks and soft hands are frequent.
    ranks = rng.choice([RANKS, "A8TK", "A278", "AK6", "35TA"])
    shoe = [rank + suit for rank in ranks for suit in SUITS] * 6
    rng.shuffle(shoe)
    dealing = _Dealing(rng, house, shoe)
    count = rng.randint(1, 4)
    numbers = sorted(rng.sample(range(1, 8), count))
    cents = {number: rng.choice([550, 1000, 2500, 12_350]) for number in numbers}
    firsts = {number: [dealing.card(), dealing.card()] for number in numbers}
    up, hole = dealing.card(), dealing.card()
    blackjack = natural([up, hole])
    looked = (up[0] == "A" and house["looks"] != "never") or (
        up[0] in "TJQK" and house["looks"] == "ace_or_ten"
    )
    boxes, hands = [], {}
    for number in numbers:
        box: dict[str, Any] = {
            "box": number, "player": f"P{number}", "wager_cents": cents[number],
            "cards": firsts[number],
        }  # fmt: skip
        play: list[Any] = []
        hands[number] = _played(dealing, firsts[number], cents[number], play, blackjack and looked)
        if play:
            box["play"] = play
        if up[0] == "A" and rng.random() < 0.5:
            box["insurance_cents"] = cents[number] // 2 // _CHIP_CENTS * _CHIP_CENTS
        elif up[0] == "A" and natural(firsts[number]) and rng.random() < 0.5:
            box["even_money"] = True
        side = [name for name in SIDE_PAYS if rng.random() < 0.3]
        if side:
            box["side"] = {name: rng.choice([100, 250, 500]) for name in side}
        boxes.append(box)
    dealer = _dealers_cards(dealing, up, hole, boxes, hands)
    expected = {
        box["box"]: _settled(box, hands[box["box"]], dealer, house, found=blackjack and looked)
        for box in boxes
    }
    rng.shuffle(boxes)
    return RandomTable({"dealer": dealer, "boxes": boxes, "house": house}, expected)


def _played(
    dealing: _Dealing, first: list[str], cents: int, play: list[Any], found: bool
) -> list[_Hand]:
    rng, house = dealing.rng, dealing.house
    hands = [_Hand(list(first), cents)]
    if found:
        if house["surrender"] == "early" and rng.random() < 0.3:
            play.append("surrender")
            hands[0].surrendered = True
        return hands
    place = 0
    while place < len(hands):
        hand = hands[place]
        if len(hand.cards) == 1:
            hand.cards.append(dealing.card())
            play.append(hand.cards[1])
        while _may_decide(hand, hands, house):
            choice = rng.choice(_allowed(hand, hands, house))
            if choice == "none":
                break
            play.append(choice)
            if choice == "stand":
                break
            if choice == "surrender":
                hand.surrendered = True
            elif choice == "hit":
                hand.cards.append(dealing.card())
                play.append(hand.cards[-1])
            elif choice == "double":
                hand.double = hand.cents
                if rng.random() < 0.3:
                    hand.double = _CHIP_CENTS * rng.randint(1, hand.cents // _CHIP_CENTS)
                    play[-1] = {"double_cents": hand.double}
                hand.cards.append(dealing.card())
                play.append(hand.cards[-1])
            else:
                one, two = hand.cards
                hand.cards, hand.split = [one, dealing.card()], True
                play.append(hand.cards[1])
                hands.insert(place + 1, _Hand([two], hand.cents, split=True))
        place += 1
    return hands


def _aces_done(hand: _Hand, house: dict[str, Any]) -> bool:
    return hand.split and hand.cards[0][0] == "A" and house["split_aces"] == "one_card"


def _may_decide(hand: _Hand, hands: list[_Hand], house: dict[str, Any]) -> bool:
    if value(hand.cards)[0] >= 21 or hand.double or hand.surrendered:
        return False
    return not _aces_done(hand, house) or _may_split(hand, hands, house)


def _may_split(hand: _Hand, hands: list[_Hand], house: dict[str, Any]) -> bool:
    if len(hand.cards) != 2 or len(hands) >= house["hands_of_box"]:
        return False
    one, two = hand.cards
    if hand.split and one[0] == "A" and not house["resplit_aces"]:
        return False
    tens = house["split_by"] == "value" and one[0] in "TJQK" and two[0] in "TJQK"
    return one[0] == two[0] or tens


def _allowed(hand: _Hand, hands: list[_Hand], house: dict[str, Any]) -> list[str]:
    split = ["split"] * 3 if _may_split(hand, hands, house) else []
    if _aces_done(hand, house):
        return [*split, "none"]
    allowed = ["stand", "hit", *split]
    total, soft = value(hand.cards)
    doubles = {"9_to_11": (9, 10, 11), "10_or_11": (10, 11)}.get(house["double_on"])
    if len(hand.cards) == 2 and (doubles is None or (total in doubles and not soft)):
        if not hand.split or house["double_after_split"]:
            allowed.append("double")
    if house["surrender"] != "none" and len(hand.cards) == 2 and not hand.split:
        allowed.append("surrender")
    return allowed


def _dealers_cards(
    dealing: _Dealing,
    up: str,
    hole: str,
    boxes: list[dict[str, Any]],
    hands: dict[int, list[_Hand]],
) -> list[str]:
    house = dealing.house
    dealer = [up, hole]
    undecided = any(hand.undecided for of_box in hands.values() for hand in of_box)
    if house["hole_card"] == "none" and not undecided:
        ten_or_ace = up[0] in "ATJQK"
        waits = any(
            "insurance_cents" in box
            or (
                "lucky_ladies" in box.get("side", {})
                and box["cards"] == ["QH", "QH"]
                and ten_or_ace
            )
            for box in boxes
        )
        for box in boxes:
            for hand in hands[box["box"]]:
                late = hand.surrendered and house["surrender"] == "late"
                own = natural(hand.cards) and not hand.split and not box.get("even_money")
                waits |= (late or own) and ten_or_ace
        if not waits:
            return [up]
    if undecided and not natural(dealer):
        while True:
            total, soft = value(dealer)
            if total > 17 or (total == 17 and not (soft and house["soft_17"] == "hits")):
                break
            dealer.append(dealing.card())
    return dealer


def _chips(cents: Fraction, house: dict[str, Any]) -> int:
    chips = cents / _CHIP_CENTS
    whole = -((-chips) // 1) if house["odd_cents"] == "up" else chips // 1
    return int(whole) * _CHIP_CENTS


def _settled(
    box: dict[str, Any], hands: list[_Hand], dealer: list[str], house: dict[str, Any], found: bool
) -> list[Expected]:
    done: list[Expected] = []
    for name, cents in box.get("side", {}).items():
        to_one = _side(name, box["cards"], dealer, house)
        paid = _chips(Fraction(cents) * to_one, house)
        done.append(Expected(name, cents if to_one else 0, paid))
    insured = box.get("insurance_cents", 0)
    if insured:
        won = natural(dealer[:2])
        done.append(Expected("insurance", insured * won, 2 * insured * won))
    dealt_blackjack = natural(dealer[:2])
    put_more = len(hands) > 1 or hands[0].double
    if dealt_blackjack and not found and put_more and house["blackjack_takes"] == "original":
        for place, hand in enumerate(hands):
            kept = hand.cents if place == 0 else 0
            done.append(Expected("blackjack", hand.cents + hand.double - kept, 0))
        return done
    for hand in hands:
        stake = hand.cents + hand.double
        done.append(Expected("blackjack", *_main(hand, stake, dealer, box, house)))
    return done


def _main(
    hand: _Hand, stake: int, dealer: list[str], box: dict[str, Any], house: dict[str, Any]
) -> tuple[int, int]:
    """What is returned and paid on a hand."""
    theirs = natural(dealer[:2])
    if box.get("even_money"):
        return stake, stake
    if hand.surrendered and (house["surrender"] == "early" or not theirs):
        return _chips(Fraction(stake, 2), house), 0
    own = value(hand.cards)[0]
    if own > 21:
        return 0, 0
    if natural(hand.cards) and not hand.split:
        if theirs:
            return stake, 0
        ratio = Fraction(3, 2) if house["blackjack_pays"] == "3_to_2" else Fraction(6, 5)
        return stake, _chips(stake * ratio, house)
    if theirs:
        return 0, 0
    other = value(dealer)[0]
    if other > 21 or own > other:
        return stake, stake
    return (stake, 0) if own == other else (0, 0)


def _side(name: str, cards: list[str], dealer: list[str], house: dict[str, Any]) -> Fraction:
    one, two = cards
    pays = SIDE_PAYS[name][house.get(name, "A")]
    suited = one[1] == two[1]
    ranks = {one[0], two[0]}
    if name == "lucky_ladies":
        if value(cards)[0] != 20:
            return Fraction(0)
        if one == two == "QH":
            return Fraction(pays[0] if natural(dealer[:2]) else pays[1])
        return Fraction(pays[2] if one == two else pays[3] if suited else pays[4])
    if name == "royal_match_21":
        if not suited:
            return Fraction(0)
        return Fraction(pays[0] if ranks == {"K", "Q"} else pays[1])
    if name == "bet_the_set_21":
        if len(ranks) > 1:
            return Fraction(0)
        return Fraction(pays[0] if suited else pays[1])
    order = RANKS + "A"
    follows = any({order[n], order[n + 1]} == ranks for n in range(13))
    if suited and ranks == {"A", "K"}:
        return Fraction(pays[0])
    if suited and follows:
        return Fraction(pays[1])
    return Fraction(pays[2] if len(ranks) == 1 else pays[3] if follows else 0)
