"""An independent dealer: knows baccarat by heart, plays on a bench, says what must come out.

It shares no code with firmware/rules.py or host/sabot/rules.py. Draws are written as the
stations of the table on the felt: for each total of the Banker, on which points of the
Player's third card a card is taken (mini-baccarat, third card rule of the rule documents).
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hil_tests.targets import Bench

_FELT = {0: "0123456789", 1: "0123456789", 2: "0123456789", 3: "012345679", 4: "234567", 5: "4567"}
_FELT |= {6: "67", 7: ""}

_BEHIND_CUT = 16  # cards of eight decks that may lie behind the cut card
_MOST_PRESSES = 25


def shuffled(seed: int, cut_from_end: int = 16) -> list[str]:
    """Eight decks and a cut card, in an order of this dealer's own."""
    cards = [rank + suit for rank in "KQJT98765432A" for suit in "SHDC"] * 8
    random.Random(seed).shuffle(cards)
    cards.insert(len(cards) - cut_from_end, "CUT")
    return cards


@dataclass
class Hand:
    """What one round must be in the log."""

    player: list[str] = field(default_factory=list)
    banker: list[str] = field(default_factory=list)

    @property
    def winner(self) -> str:
        """Who has it."""
        difference = pips(self.player) - pips(self.banker)
        return "tie" if difference == 0 else "player" if difference > 0 else "banker"

    @property
    def natural(self) -> bool:
        """Eight or nine with two cards, on either side."""
        return pips(self.player[:2]) > 7 or pips(self.banker[:2]) > 7

    def as_logged(self) -> tuple[object, ...]:
        """In the order of `logged`."""
        totals = pips(self.player), pips(self.banker)
        return (self.player, self.banker, *totals, self.winner, self.natural)


def logged(ended: object) -> tuple[object, ...]:
    """A `sabot.rounds.Round` in the form of `Hand.as_logged`."""
    names = ("player", "banker", "player_total", "banker_total", "winner", "natural")
    return tuple(getattr(ended, name) for name in names)


def pips(cards: list[str]) -> int:
    """Count of a hand, tens dropped."""
    worth = {"A": 1, "T": 0, "J": 0, "Q": 0, "K": 0}
    return sum(worth.get(card[0]) if card[0] in worth else int(card[0]) for card in cards) % 10


def press_until(bench: Bench, button: str, line: str) -> None:
    """Press a button until the display's fifth line, the choice, begins with `line`."""
    for _ in range(_MOST_PRESSES):
        if bench.outputs.display[4].startswith(line):
            return
        bench.press(button)
    raise AssertionError(f"the display never shows {line!r}: {bench.outputs.display}")


def turn_key(bench: Bench) -> None:
    """The supervisor turns the key, and back."""
    bench.switch("key_on", True)
    bench.switch("key_on", False)


def enter(bench: Bench, card: str) -> None:
    """The supervisor enters a card from its face."""
    bench.switch("key_on", True)
    if card == "CUT":
        press_until(bench, "next", "CUT CARD")
    else:
        press_until(bench, "next", f"CARD {card[0]}")
        press_until(bench, "burn", f"CARD {card}")
    bench.press("reveal")
    bench.switch("key_on", False)


class Dealer:
    """Deals a list of cards on a bench, and keeps what must come out of it.

    `between_steps` is called before every card and every button, with a word for where the
    dealer is. Every `unreadable_every`-th card cannot be read, and is entered by hand.
    """

    def __init__(
        self,
        bench: Bench,
        cards: list[str],
        between_steps: Callable[[str], None] = lambda where: None,
        *,
        unreadable_every: int = 0,
    ) -> None:
        self.hands: list[Hand] = []
        self.entered: list[str] = []
        """Cards that were entered by hand, burned ones too."""
        self.ended = False
        self._bench = bench
        self._cards: Iterator[str] = iter(cards)
        self._cut_card_too_early = 416 - cards.index("CUT") > _BEHIND_CUT
        self._unreadable_every = unreadable_every
        self._pulled = 0
        self._between_steps = between_steps
        self._rounds_left: int | None = None

    def load(self) -> None:
        """Put the cards in and burn."""
        self._bench.switch("lid_open", True)
        self._bench.switch("lid_open", False)
        first = self._pull("first burn")
        burn = {"A": 1}.get(first[0], 10 if first[0] in "TJQK" else 0) or int(first[0])
        for _ in range(burn):
            self._pull("burn")

    def deal_round(self) -> Hand:
        """Deal one round from "betting open" to the result, and press for the next."""
        hand = Hand()
        self._press("betting")
        for side in (hand.player, hand.banker, hand.player, hand.banker):
            side.append(self._pull_for(hand))
        if not hand.natural:
            player, banker = pips(hand.player), pips(hand.banker)
            takes = player <= 5
            if takes:
                hand.player.append(self._pull_for(hand))
            third = str(pips(hand.player[2:])) if takes else None
            if (third is None and banker <= 5) or (third is not None and third in _FELT[banker]):
                hand.banker.append(self._pull_for(hand))
        shown = self._bench.outputs
        assert not shown.lock_released, "the lock is open after the last card"
        assert shown.lamps & {"player", "banker", "tie"} == {hand.winner}, (shown, hand)
        self.hands.append(hand)
        if self._rounds_left is not None:
            self._rounds_left -= 1
            self.ended = self._rounds_left == 0
        if self.ended:
            if self._cut_card_too_early:
                assert (shown.title, shown.display[5]) == ("STOP", "CARDS MISSING"), shown
                turn_key(self._bench)
            assert self._bench.outputs.title == "SHOE ENDED", shown
        else:
            self._press("result")
        return hand

    def deal_shoe(self) -> None:
        """Deal until the cut card ends it."""
        self.load()
        while not self.ended:
            self.deal_round()

    def _pull_for(self, hand: Hand) -> str:
        card = self._pull(f"card {len(hand.player) + len(hand.banker) + 1}")
        if card == "CUT":
            self._rounds_left = 2 if hand.player else 1
            card = self._pull("after the cut card")
        return card

    def _pull(self, where: str) -> str:
        self._between_steps(where)
        assert self._bench.outputs.lock_released, f"the lock holds a card that is due ({where})"
        card = next(self._cards)
        self._pulled += 1
        if self._unreadable_every and self._pulled % self._unreadable_every == 0:
            shown = self._bench.pull_unreadable()
            assert (shown.title, shown.lock_released) == ("STOP", False), shown
            enter(self._bench, card)
            self.entered.append(card)
        else:
            self._bench.pull(card)
        return card

    def _press(self, where: str) -> None:
        self._between_steps(where)
        self._bench.press("next")
