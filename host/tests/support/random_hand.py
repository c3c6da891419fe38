"""Random hands of hold'em, played by PokerKit and written as a HAND.json."""

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pokerkit import (
    Automation,
    ChipsPushing,
    FixedLimitTexasHoldem,
    Mode,
    NoLimitTexasHoldem,
    PotLimitPokerMixin,
    State,
    TexasHoldemMixin,
    UnfixedLimitHoldem,
)

from sabot.games.holdem.hand_file import STREETS

DECK = [rank + suit for rank in "23456789TJQKA" for suit in "CDHS"]


AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.RUNOUT_COUNT_SELECTION,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)


def pokerkit_cards(cards: Sequence[str]) -> str:
    """Cards as PokerKit writes them."""
    return "".join(card[0] + card[1].lower() for card in cards)


class PotLimitTexasHoldem(PotLimitPokerMixin, TexasHoldemMixin, UnfixedLimitHoldem):
    """PokerKit has the parts of pot-limit hold'em, but not the game."""


@dataclass
class Table:
    """A random hand: PokerKit's state decides what may be done, and `file` is the HAND.json of it.

    Odd chips go as PokerKit has them: all to the first winner, the odd half to the first board.
    """

    rng: random.Random
    file: dict[str, Any] = field(default_factory=dict)
    pots: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """Amount and seats of each pot at the showdown, by PokerKit; empty if there was none."""
    after: dict[int, int] = field(default_factory=dict)
    """The stakes after the hand by seat, by PokerKit."""

    def deal(self) -> "Table":
        rng = self.rng
        count = rng.choice([2, 2, 3, 4, 5, 6, 7, 8, 9, 10])
        numbers = sorted(rng.sample(range(1, 11), count))
        button = rng.randrange(count)
        self.order = [*numbers[button + 1 :], *numbers[: button + 1]]
        limit = rng.choice(["no_limit", "no_limit", "pot_limit", "fixed_limit"])
        big = rng.choice([2, 10, 25, 200])
        self.ante = rng.choice([0, 0, 1, 3])
        # With two players and equal blinds PokerKit has the wrong one begin.
        self.blinds = [rng.choice([0, big // 2, big if count > 2 else 1]), big]
        self.least = rng.choice([big, big, 2 * big, big - 1])
        self.largest = rng.choice([self.least, 2 * self.least])
        self.rake = rng.choice([0, 0, 50, 33])
        house = {
            "limit": limit, "chip_cents": 1, "minimum_bet_cents": self.least,
            "big_blind_cents": big, "small_blind_cents": self.blinds[0], "ante_cents": self.ante,
            "odd_chips": "all_to_first", "rake_permille": self.rake,
        }  # fmt: skip
        if limit == "fixed_limit":
            house["maximum_bet_cents"] = self.largest
        self.fixed = limit == "fixed_limit"
        least_stakes = self.ante + big + self.least
        self.stakes = [
            least_stakes + rng.choice([0, rng.randrange(4 * big), rng.randrange(40 * big)])
            for _ in self.order
        ]
        cards = rng.sample(DECK, 2 * count + 7)
        self.holes = [cards[2 * at : 2 * at + 2] for at in range(count)]
        self.board, self.second = cards[2 * count : 2 * count + 5], cards[-2:]
        self.game = {
            "no_limit": NoLimitTexasHoldem,
            "pot_limit": PotLimitTexasHoldem,
            "fixed_limit": FixedLimitTexasHoldem,
        }[limit]
        self.acts: list[tuple[str, int | None]] = []
        """What was done in PokerKit: "f", "cc" or "cbr" with the amount."""
        self.betting: dict[str, list[dict[str, Any]]] = {street: [] for street in STREETS}
        self.mucked: set[int] = set()
        self.asked: dict[str, bool] = {}
        self.all_in = False
        self.folded_without_need = False
        state = self._state(lambda amount: 0)
        self._play(state, self._choose)
        showdown = sum(state.statuses) > 1 or bool(self.pots)
        dealt = [repr(card).upper() for (card,) in state.board_cards]
        assert dealt == self.board[: len(dealt)]
        if not showdown:
            house["rake_permille"] = 0  # PokerKit rakes no chips of the last bet, called or not
        self.file = {
            "button": self.order[-1],
            "seats": [
                {"seat": seat, "player": f"P{seat}", "stakes_cents": stakes, "cards": hole}
                | ({"mucked": True} if seat in self.mucked else {})
                for seat, stakes, hole in zip(self.order, self.stakes, self.holes, strict=True)
            ],
            "house": house,
            "betting": self.betting,
            "board": self.board[: len(dealt)],
        }
        rng.shuffle(self.file["seats"])
        stacks = list(state.stacks)
        if showdown:
            stacks = self._after_showdown()
        self.after = dict(zip(self.order, stacks, strict=True))
        return self

    def _state(self, rake: Callable[[int], int]) -> State:
        """A new state. `rake` is what is taken of each pot at a showdown."""
        sizes = (self.least, self.largest) if self.fixed else (self.least,)

        def raked(amount: int, _: State) -> tuple[int, int]:
            taken = rake(amount)
            return taken, amount - taken

        game = self.game(
            AUTOMATIONS, False, self.ante, self.blinds, *sizes, mode=Mode.CASH_GAME, rake=raked
        )
        state = game(self.stakes, len(self.stakes))
        # Killed hands would have PokerKit join pots that were made apart, and divide them as one.
        state.can_win_now = lambda _: True
        for hole in self.holes:
            state.deal_hole(pokerkit_cards(hole))
        return state

    def _play(self, state: State, act: Callable[[State], None], board: Sequence[str] = ()) -> None:
        """Play a state to its end."""
        cards = list(board or self.board)
        self._round()
        while state.status:
            if state.card_burning_status:
                state.burn_card("??")
            elif state.board_dealing_count:
                count = state.board_dealing_count
                state.deal_board(pokerkit_cards(cards[:count]))
                del cards[:count]
                self._round()
            elif state.actor_index is not None:
                act(state)
            else:
                if not self.pots:
                    self.pots = [
                        (pot.amount, tuple(self.order[at] for at in pot.player_indices))
                        for pot in state.pots
                    ]
                at = state.showdown_index
                assert at is not None
                self._show(state, at)

    def _round(self) -> None:
        self.full = 0
        self.acted: set[int] = set()

    def _show(self, state: State, at: int) -> None:
        seat = self.order[at]
        choosing = not self.file
        one_pot = len(self.pots) == 1 and not state.all_in_status
        if choosing and one_pot and sum(state.statuses) > 1 and self.rng.random() < 0.2:
            self.mucked.add(seat)
        state.show_or_muck_hole_cards(seat not in self.mucked)

    def _after_showdown(self) -> list[int]:
        """The stacks after a showdown, with rake, and run twice if that is possible and chosen.

        PokerKit cannot run twice only what comes after a request, so the hand is played once with
        each board, and the half of the other board is taken as rake.
        """
        (last, *_) = [street for street in reversed(STREETS) if self.asked.get(street)] or [
            "preflop"
        ]
        live = [at for at, seat in enumerate(self.order) if seat in self.pots[-1][1]]
        twice = len(live) == 2 == len(self.pots[0][1]) and self.all_in and last != "river"
        if not twice or self.rng.random() < 0.3:
            state = self._state(self._rake)
            self._repeat(state)
            return list(state.stacks)
        after = [street for street in STREETS[:3] if STREETS.index(street) >= STREETS.index(last)]
        asked = self.rng.choice(after)
        again = 1 if asked == "turn" else 2
        second = self.second[:again]
        self.file["run_twice"] = {
            "agreed": [self.order[at] for at in live], "asked_after": asked, "cards": second
        }  # fmt: skip
        first_board = self._state(
            lambda cents: self._rake(cents) + (cents - self._rake(cents)) // 2
        )
        self._repeat(first_board)
        second_board = self._state(lambda cents: cents - (cents - self._rake(cents)) // 2)
        self._repeat(second_board, [*self.board[: 5 - again], *second])
        # Both have the stakes that did not go into pots.
        pots = sum(cents for cents, _ in self.pots)
        won = [self._won(each) for each in (first_board, second_board)]
        assert sum(map(sum, won)) + sum(self._rake(cents) for cents, _ in self.pots) == pots
        kept = [after - more for after, more in zip(first_board.stacks, won[0], strict=True)]
        return [sum(each) for each in zip(kept, *won, strict=True)]

    def _won(self, state: State) -> list[int]:
        won = [0] * len(self.order)
        for operation in state.operations:
            if isinstance(operation, ChipsPushing):
                won = [sum(each) for each in zip(won, operation.amounts, strict=True)]
        return won

    def _rake(self, cents: int) -> int:
        return cents * self.rake // 1000

    def _repeat(self, state: State, board: Sequence[str] = ()) -> None:
        acts = iter(self.acts)

        def act(state: State) -> None:
            word, cents = next(acts)
            _do(state, word, cents)

        self._play(state, act, board)
        assert next(acts, None) is None

    def _choose(self, state: State) -> None:
        """Do something that is allowed, and write it as a player may have said and placed it."""
        at = state.actor_index
        assert at is not None
        street = STREETS[state.street_index or 0]
        bet, own, stack = max(state.bets), state.bets[at], state.stacks[at]
        size = self.largest if self.fixed and street in STREETS[2:] else self.least
        blind = 0 if self.fixed or street != STREETS[0] else self.blinds[1]
        full = max(self.full, size, blind)
        live = [i for i in state.player_indices if state.statuses[i] and i != at]
        if bet == own and not any(state.stacks[i] for i in live):
            word, cents = "cc", None  # PokerKit asks a player who has no one to bet against
            self._done(state, at, word, cents)
            return
        reopened = at not in self.acted or bet - own >= full
        raisable = state.can_complete_bet_or_raise_to() and reopened and own + stack > bet
        choice = self.rng.random()
        # For PokerKit the big blind is no bet that a raise must equal.
        least = max(
            state.min_completion_betting_or_raising_to_amount or 0, min(bet + full, own + stack)
        )
        most = state.max_completion_betting_or_raising_to_amount or 0
        if raisable and choice < 0.35 and least <= most:
            cents = self.rng.choice([least, most, self.rng.randint(least, most)])
            word = "cbr"
            self.full = max(self.full, cents - bet if cents - bet >= full else 0)
        elif choice < (0.55 if bet > own else 0.37):
            word, cents = "f", None
            self.folded_without_need = self.folded_without_need or bet == own
        else:
            word, cents = "cc", None
        entry = _written(self.rng, word, cents, bet, own, stack, self.fixed)
        others = max(state.stacks[i] + state.bets[i] for i in live)
        if word == "cc" and others <= bet < own + stack and self.rng.random() < 0.5:
            entry = {"says": "all_in"}  # no one can call more
        self.betting[street].append({"seat": self.order[at]} | entry)
        self._done(state, at, word, cents)

    def _done(self, state: State, at: int, word: str, cents: int | None) -> None:
        self.asked[STREETS[state.street_index or 0]] = True
        self.acted.add(at)
        self.acts.append((word, cents))
        _do(state, word, cents)
        self.all_in = self.all_in or state.all_in_status


def _do(state: State, word: str, cents: int | None) -> None:
    if word == "cbr":
        state.complete_bet_or_raise_to(cents)
    elif word == "cc":
        state.check_or_call()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold without need
            state.fold()


def _written(
    rng: random.Random, word: str, cents: int | None, bet: int, own: int, stack: int, fixed: bool
) -> dict[str, Any]:
    """An action as a player may have said and placed it; the chips may be wrong."""
    to_call = bet - own
    wrong = {"puts_cents": rng.randint(1, stack)} if rng.random() < 0.2 else {}
    if word == "f":
        return {"says": "fold"} | wrong
    if cents is None and not to_call:
        return {"says": "check"} | wrong
    if cents is None:
        call = min(to_call, stack)
        ways: list[dict[str, Any]] = [{"says": "call"} | wrong, {"puts_cents": call}]
        if stack > to_call:
            chip = rng.randint(to_call, stack)
            ways.append({"puts_cents": [chip], "single_chip": True})
        else:
            ways.append({"says": "all_in"})
        return rng.choice(ways)
    says, put = ("raise" if bet else "bet"), cents - own
    ways = [{"says": says, "to_cents": cents} | wrong, {"says": says, "puts_cents": put}]
    ways.append({"puts_cents": put})
    if bet:
        ways.append({"says": "raise", "by_cents": cents - bet} | wrong)
    if bet and to_call:
        ways.append({"says": "raise", "puts_cents": [to_call, put - to_call]})
    if put > 1:
        first = rng.randint(1, put - 1)
        ways.append({"puts_cents": [first, put - first], "incomplete": True})
    if put == stack:
        ways.append({"says": "all_in"})
    if fixed:
        ways.append({"says": says} | wrong)
    return rng.choice(ways)
