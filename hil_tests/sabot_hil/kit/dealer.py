"""An independent dealer: it has its own rules of baccarat, deals on a bench, and computes the
expected results.

It shares no code with the rules of the firmware or of the verifier. The draws are written like the
table on the felt: for each total of the Banker, the points of the Player's third card on which the
Banker draws (mini-baccarat, third card rule of the rule documents). From a game document it takes
only what the house and the table decide: burning, the cut card, who turns the cards, and the
wagers. It does not use the draws of the document.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cbor2

from sabot.sim.channel import Outputs
from sabot_hil.capabilities import CardBench, Clock, Controls

_FELT = {0: "0123456789", 1: "0123456789", 2: "0123456789", 3: "012345679", 4: "234567", 5: "4567"}
_FELT |= {6: "67", 7: ""}

MINI: Mapping[str, Any] = {
    "decks": 8,
    "burn": "by_first",
    "burn_ace": 1,
    "cut_from_end": 16,
    "rounds_after_cut": 1,
    "shown": "at_once",
    "betting_closed_by": "first_card",
    "announced": True,
    "wagers": ["player", "banker", "tie"],
}
"""The game of a shoe into which no game was loaded, as far as a dealer needs it."""

_FACE_DOWN = ("P", "B", "REVEAL IF TURNED")
_WON = {"player": "PLAYER WINS", "banker": "BANKER WINS", "tie": "TIE HAND"}

_CHECK_CARDS = "CHECK CARDS, KEY"
_MOST_PRESSES = 25
_CUT_IN_FRONT = 380  # cards after the cut card


def shuffled_shoe(seed: int, cut_from_end: int = 16) -> list[str]:
    """Return eight decks and a cut card, shuffled by `seed`."""
    cards = [rank + suit for rank in "KQJT98765432A" for suit in "SHDC"] * 8
    random.Random(seed).shuffle(cards)
    cards.insert(len(cards) - cut_from_end, "CUT")
    return cards


def whole_shoe(seed: int, clock: Clock) -> list[str]:
    """Return a shuffled shoe that is dealt to its end. Emulated time takes ten times as long as
    real time, so there the cut card comes early, after about six rounds.
    """
    return shuffled_shoe(seed, _CUT_IN_FRONT) if clock.emulated else shuffled_shoe(seed)


@dataclass
class Hand:
    """What the log must hold of one round."""

    player: list[str] = field(default_factory=list)
    banker: list[str] = field(default_factory=list)
    wagers: list[str] = field(default_factory=list)
    """The wagers of the game."""

    @property
    def winner(self) -> str:
        """The side that wins, or "tie"."""
        difference = pips(self.player) - pips(self.banker)
        return "tie" if difference == 0 else "player" if difference > 0 else "banker"

    @property
    def natural(self) -> bool:
        """Whether either side has eight or nine with two cards."""
        return pips(self.player[:2]) > 7 or pips(self.banker[:2]) > 7

    def three(self, side: str, count: int) -> bool:
        """Whether a side has three cards with the total `count`."""
        hand: list[str] = getattr(self, side)
        return len(hand) == 3 and pips(hand) == count

    @property
    def hits(self) -> set[str]:
        """The wagers' outcomes that this round has, by their names on the felt."""
        sevens = pips(self.player) == 7 == pips(self.banker)
        nines = self.three("player", 9) + self.three("banker", 9)
        dragon = self.winner == "banker" and self.three("banker", 7)
        panda = self.winner == "player" and self.three("player", 8)
        of_wager = {
            "player_pair": {"player_pair": self.player[0][0] == self.player[1][0]},
            "banker_pair": {"banker_pair": self.banker[0][0] == self.banker[1][0]},
            "dragon_7": {"dragon_7": dragon},
            "panda_8": {"panda_8": panda},
            "fortune_7": {"fortune_7": dragon},
            "golden_8": {"golden_8": panda},
            "heavenly_9": {"heavenly_9": nines == 1, "heavenly_9_both": nines == 2},
            "blazing_7s": {
                "blazing_7s_two": sevens and len(self.player + self.banker) == 4,
                "blazing_7s_three": sevens and len(self.player + self.banker) == 6,
            },
        }
        treasures = ("fortune_7", "golden_8", "heavenly_9", "blazing_7s")
        asked = [*self.wagers, *(treasures if "cover_all" in self.wagers else ())]
        every = [of_wager[wager].items() for wager in asked if wager in of_wager]
        return {hit for hits in every for hit, is_one in hits if is_one}

    @property
    def announcement(self) -> str:
        """What a dealer calls out, in capitals."""
        named = {"dragon_7": "DRAGON 7", "panda_8": "PANDA 8"}
        called = [name for hit, name in named.items() if hit in self.hits]
        return called[0] if called else _WON[self.winner]

    def as_logged(self) -> tuple[object, ...]:
        """The round in the form of `logged`."""
        totals = pips(self.player), pips(self.banker)
        return (
            tuple(self.player),
            tuple(self.banker),
            *totals,
            self.winner,
            self.natural,
            self.hits,
        )


def logged(ended: object) -> tuple[object, ...]:
    """Return a `sabot.log.rounds.Round` in the form of `Hand.as_logged`."""
    names = ("player", "banker", "player_total", "banker_total", "winner", "natural", "hits")
    *values, hits = (getattr(ended, name) for name in names)
    return (*values, set(hits))


def pips(cards: list[str]) -> int:
    """Return the total of a hand, modulo ten."""
    worth = {"A": 1, "T": 0, "J": 0, "Q": 0, "K": 0}
    return sum(worth[card[0]] if card[0] in worth else int(card[0]) for card in cards) % 10


def load_cards(bench: CardBench, *cards: str) -> Outputs:
    """Put cards into the shoe, and pull these; returns what it shows then."""
    bench.switch("lid_open", True)
    bench.switch("lid_open", False)
    for card in cards:
        bench.pull(card)
    return bench.outputs


def press_until(bench: Controls, button: str, line: str) -> None:
    """Press a button until the display's fifth line, the choice, begins with `line`."""
    for _ in range(_MOST_PRESSES):
        if bench.outputs.display[4].startswith(line):
            return
        bench.press(button)
    raise AssertionError(f"the display never shows {line!r}: {bench.outputs.display}")


def turn_key(bench: Controls) -> None:
    """The supervisor turns the key, and back."""
    bench.switch("key_on", True)
    bench.switch("key_on", False)


def check_cards(bench: Controls) -> Outputs:
    """The supervisor looks at the cards and turns the key, if the shoe asks for it after a loss of
    power; returns what it shows then."""
    if bench.outputs.display[6:7] == (_CHECK_CARDS,):
        turn_key(bench)
    return bench.outputs


def wait_for_lock(bench: CardBench, what: str) -> Outputs:
    """Wait until the lock is released, or the shoe asks for the supervisor, who then checks the
    cards; the dealer presses `next` again if the shoe took no press meanwhile."""

    def goes_on(outputs: Outputs) -> bool:
        return outputs.lock_released or outputs.display[6:7] == (_CHECK_CARDS,)

    if not bench.wait_for(goes_on, what).lock_released:
        if check_cards(bench).title == "NEXT ROUND?":
            bench.press("next")
    return bench.wait_for(lambda outputs: outputs.lock_released, what)


def end_shoe(bench: Controls) -> None:
    """As the supervisor, void an open round and end the shoe of cards."""
    bench.switch("key_on", True)
    for _ in range(_MOST_PRESSES):
        title = bench.outputs.title
        if title == "SHOE ENDED":
            break
        bench.press("burn" if title in ("MISDEAL?", "END OF SHOE?") else "void")
    bench.switch("key_on", False)


def enter(bench: Controls, card: str) -> None:
    """The supervisor enters a card from its face."""
    bench.switch("key_on", True)
    _choose(bench, card)
    bench.press("reveal")
    bench.switch("key_on", False)
    check_cards(bench)


def resolve_stop(bench: Controls, card: str) -> bool:
    """The supervisor resolves the stop over a card, whatever its cause. Return whether the card is
    to be drawn again. No second card may have followed it.
    """
    again = False
    bench.switch("key_on", True)
    for _ in range(2):
        why = bench.outputs.display[1]
        if why in ("FOREIGN SET", "POWER LOST"):
            press_until(bench, "next", "DRAW AGAIN")
            again = True
        elif why.endswith("2ND"):
            for _ in range(_MOST_PRESSES):
                if bench.outputs.display[4] in ("DRAW AGAIN", "NOT COUNTED"):
                    break
                bench.press("next")
        else:
            _choose(bench, card)
        if not asks_for_a_card(bench.press("reveal")):
            break
    bench.switch("key_on", False)
    shown = check_cards(bench)
    assert not asks_for_a_card(shown), shown
    return again


def asks_for_a_card(shown: Outputs) -> bool:
    """Whether the shoe has stopped because of a card. Cards missing at the end of the shoe, and
    cards to be checked after a loss of power, are other kinds of stop."""
    return shown.title.startswith("STOP") and not {"CARDS MISSING", _CHECK_CARDS} & set(
        shown.display
    )


def _choose(bench: Controls, card: str) -> None:
    if card == "CUT":
        press_until(bench, "next", "CUT CARD")
    else:
        press_until(bench, "next", f"CARD {card[0]}")
        press_until(bench, "burn", f"CARD {card}")


class BenchDealer:
    """Deals a list of cards on a bench, and keeps the expected results.

    `between_steps` is called before every card and every button, with the name of the step. Every
    `unreadable_every`-th card cannot be read and is entered by hand. `game` is the document of the
    game that the shoe deals.
    """

    def __init__(
        self,
        bench: CardBench,
        cards: list[str],
        between_steps: Callable[[str], None] = lambda where: None,
        *,
        unreadable_every: int = 0,
        game: bytes | None = None,
    ) -> None:
        self.hands: list[Hand] = []
        self.entered: list[str] = []
        """The cards that were entered by hand, burned ones too."""
        self.ended = False
        self._bench = bench
        self._cards: Iterator[str] = iter(cards)
        self._game = MINI if game is None else cbor2.loads(game)
        self._midi = self._game["shown"] == "after_reveal"
        after_cut = 52 * self._game["decks"] - cards.index("CUT")
        self._cut_card_too_early = after_cut > self._game["cut_from_end"]
        self._unreadable_every = unreadable_every
        self._pulled = 0
        self._between_steps = between_steps
        self._rounds_left: int | None = None

    def load(self) -> None:
        """Load the cards and burn."""
        load_cards(self._bench)
        burn = {"by_first": 0, "one": 1, "none": 0}[self._game["burn"]]
        if self._game["burn"] == "by_first":
            ace = {"A": self._game["burn_ace"]}
            first = self._pull("first burn")
            burn = ace.get(first[0], 10 if first[0] in "TJQK" else 0) or int(first[0])
        for _ in range(burn):
            self._pull("burn")

    def deal_round(self) -> Hand:
        """Deal one round from "betting open" to the result, and press for the next round."""
        hand = Hand(wagers=self._game["wagers"])
        if self._game["betting_closed_by"] == "dealer":
            shown = self._bench.outputs
            waits = ("BETTING OPEN", "NEXT CLOSES BETS", False)
            assert (shown.title, shown.display[6], shown.lock_released) == waits, shown
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
        assert not self._bench.outputs.lock_released, "the lock is open after the last card"
        if self._midi:
            self._between_steps("reveal")
            self._bench.press("reveal")
        announced = hand.announcement if self._game["announced"] else ""

        def shows_result(outputs: Outputs) -> bool:
            lit = outputs.lamps & {"player", "banker", "tie"}
            return lit == {hand.winner} and outputs.display[4:5] == (announced,)

        shown = self._bench.wait_for(shows_result, f"shown the result of {hand}")
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
            self._rounds_left = 1 + (self._game["rounds_after_cut"] if hand.player else 0)
            card = self._pull("after the cut card")
        shown = self._bench.outputs
        if self._midi:
            assert (shown.lamps, shown.display[2:5]) == (frozenset(), _FACE_DOWN), (shown, hand)
        return card

    def _pull(self, where: str) -> str:
        self._between_steps(where)
        self._wait_for_lock(where)
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

    def _wait_for_lock(self, where: str) -> None:
        # When a host has just attached, the shoe may open its lock after everything is quiet.
        wait_for_lock(self._bench, f"released the lock for the next card ({where})")

    def _press(self, where: str) -> None:
        self._between_steps(where)
        check_cards(self._bench)
        self._bench.press("next")
