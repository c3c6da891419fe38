"""An independent dealer of Texas hold'em: it knows the order of play, deals on a bench, and says
what the log must have.

It shares no code with the firmware or the verifier. The order is that of a card room: two cards to
each seat, one at a time, then a burn and three, a burn and one, a burn and one, with betting before
each. Running it twice is by Maryland's Poker chapter 8, L: a burn before each up card, the first
set, then the second.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from sabot_hil.capabilities import CardBench
from sabot_hil.kit.dealer import enter, load_cards

DECK = [rank + suit for suit in "SHDC" for rank in "23456789TJQKA"]
_MOST_STEPS = 9


@dataclass
class DealtHand:
    """What the log must have of one hand."""

    seats: int
    twice: str = ""
    """The first street that is dealt twice; empty for none."""
    holes: list[list[str]] = field(default_factory=list)
    burned: list[str] = field(default_factory=list)
    board: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    """The cards of the second set."""

    def as_logged(self) -> tuple[object, ...]:
        """The hand in the form of `logged`."""
        second = self.board[: 5 - len(self.again)] + self.again if self.again else []
        return (self.seats, self.holes, self.burned, self.board, second, self.twice or None)


def logged(hand: object) -> tuple[object, ...]:
    """Return a `sabot.log.families.hands.Hand` in the form of `DealtHand.as_logged`."""
    lists = [getattr(hand, name) for name in ("burned", "board", "second")]
    holes = [list(each) for each in hand.hands]  # type: ignore[attr-defined]
    return (
        hand.seats,  # type: ignore[attr-defined]
        holes,
        *map(list, lists),
        hand.run_twice,  # type: ignore[attr-defined]
    )


def shuffled(seed: int) -> list[str]:
    """Return a shuffled deck."""
    return random.Random(seed).sample(DECK, len(DECK))


class HoldemDealer:
    """Deals hands on a bench, with a deck for each.

    `between_steps` is called before every card and every button, with the name of the step.
    `pull` takes the place of a good pull; it gets the card and the name of its step.
    """

    def __init__(
        self,
        bench: CardBench,
        between_steps: Callable[[str], None] = lambda where: None,
        pull: Callable[[str, str], None] | None = None,
    ) -> None:
        self.hands: list[DealtHand] = []
        self._bench = bench
        self._between_steps = between_steps
        self._pull_card = pull or (lambda card, where: bench.pull(card) and None)
        self._deck: list[str] = []

    def deal(self, deck: list[str], seats: int, twice: str = "") -> DealtHand:
        """Load a deck and deal a hand from it to its end, with a showdown."""
        bench, hand = self._bench, DealtHand(seats, twice)
        self._deck = deck[::-1]
        load_cards(bench)
        for _ in range(_MOST_STEPS):
            if bench.outputs.display[2] == f"{seats} SEATS":
                break
            bench.press("burn")
        hand.holes = [[] for _ in range(seats)]
        for nth in range(2):
            for seat, hole in enumerate(hand.holes, 1):
                hole.append(self._pull(f"seat {seat} card {nth + 1}", f"DEAL SEAT {seat}", nth))
        self._button("next", "PREFLOP BETS")
        hand.burned.append(self._pull("burn before the flop", "DEAL BURN"))
        hand.board += [self._pull(f"flop {nth}", "DEAL FLOP") for nth in (1, 2, 3)]
        for street, before in (("turn", "FLOP BETS"), ("river", "TURN BETS")):
            if twice == street:
                self._button("burn", before)
                self._button("next", "RUN IT TWICE?")
            elif twice != "turn":  # otherwise no one can bet any more
                self._button("next", before)
            self._up(hand, hand.board, street, "")
        if twice:
            for street in ("turn", "river")[("turn", "river").index(twice) :]:
                self._up(hand, hand.again, street, " 2")
        else:
            self._button("next", "RIVER BETS")
        self._button("reveal", "SHOWDOWN")
        shown = bench.wait_for(lambda seen: seen.title == "SHOE ENDED", "ended the hand")
        assert not shown.lock_released, shown
        self.hands.append(hand)
        return hand

    def _up(self, hand: DealtHand, cards: list[str], street: str, which: str) -> None:
        """Deal a burn and one card."""
        hand.burned.append(self._pull(f"burn before the {street}{which}", "DEAL BURN"))
        title = f"DEAL {street.upper()}{which}"
        cards.append(self._pull(street + which, title))

    def _pull(self, where: str, title: str, nth: int = 1) -> str:
        self._between_steps(where)
        if nth == 0 and where.startswith("seat 1 "):
            title = "HAND: BLINDS"
        # The lock opens before the display changes.
        self._bench.wait_for(
            lambda seen: seen.lock_released and seen.title == title, f"opened for {where}: {title}"
        )
        card = self._deck.pop()
        self._pull_card(card, where)
        return card

    def _button(self, button: str, title: str) -> None:
        self._between_steps(button)
        self._bench.wait_for(
            lambda seen: not seen.lock_released and seen.title == title, f"waited for {title}"
        )
        self._bench.press(button)


def unreadable(bench: CardBench, card: str) -> None:
    """Pull a card that cannot be read; the supervisor enters it from its face."""
    shown = bench.pull_unreadable()
    assert (shown.title, shown.lock_released) == ("STOP", False), shown
    enter(bench, card)
