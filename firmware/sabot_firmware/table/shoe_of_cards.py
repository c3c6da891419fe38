"""A shoe of cards: its phases, cards and rounds, what is recorded of them, and the lock.

dealing.py is this with the inputs. The rounds depend on the game's family and have a module for
each; rounds.pyi defines their interface.

Phases (`enums.PHASES`): no_shoe - first_burn - burning - betting - dealing - between - betting
... ended. A game that burns less skips the first two; the round sets `betting` and `dealing`.
"""

from sabot_firmware.native import const, micropython
from sabot_firmware.table.inventory import Inventory
from sabot_firmware.table.pending import FACE_UP, Pending
from sabot_protocol import cards, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.table.rounds import FamilyRound
    from sabot_protocol.games import FamilyGame
    from sabot_protocol.schema import Shape

    Figures = tuple[int, int, int, int]

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
NO_SHOE = const(0)
FIRST_BURN = const(1)
BURNING = const(2)
BETWEEN = const(3)
BETTING = const(4)
DEALING = const(5)
ENDED = const(6)
NOT_DUE = const(8)
_BURN_FIRST = const(0)
_BURN = const(1)
NO_ERROR = const(0)
_CUT_CARD_MISPLACED = const(4)
_CARDS_MISSING = const(8)
POWER_WAS_OFF = const(13)
_BY_CARD = const(1)
_BY_CUT_CARD = const(0)
_BY_ROUND = const(3)

_NO_LIMIT = const(-1)

GHOST_ASKED = const(1)
GHOST_MARKED = const(2)


def _baccarat() -> "Callable[..., FamilyRound]":
    from sabot_firmware.table.baccarat import BaccaratRound

    return BaccaratRound


def _blackjack() -> "Callable[..., FamilyRound]":
    from sabot_firmware.table.blackjack import BlackjackRound

    return BlackjackRound


def _holdem() -> "Callable[..., FamilyRound]":
    from sabot_firmware.table.holdem import HoldemRound

    return HoldemRound


ROUNDS = {"baccarat": _baccarat, "blackjack": _blackjack, "holdem": _holdem}
"""By family, as in `games.FAMILIES`: a function that imports the class of its rounds. It is called
when a game of the family is dealt, so other families take no memory."""


class ShoeOfCards:
    """The shoes of cards that one unit deals, from power-on, with cards of the set `card_set` 0-12.
    `shoe` is the number of the last one dealt."""

    def __init__(self, game: "FamilyGame", card_set: int, shoe: int) -> None:
        self.change_game(game)
        self.card_set = card_set
        self.shoe = shoe
        self.round = 0  # the number of the open or last round
        self.phase = NO_SHOE
        self.error = NO_ERROR
        self.fault = 0  # with `unreadable` and `sensor_fault`: place in `enums.FAULTS`
        self.lid_open = self.key_on = self.service_on = False
        self.burn_left = 0
        self.inventory = Inventory()
        self.pending = Pending()
        self.rounds = 0  # with a result, in this shoe of cards
        self.rounds_left = _NO_LIMIT
        """Rounds still to be finished, once the cut card has come."""
        self.after_burning = BETTING  # or BETWEEN: the phase once no card is left to burn
        self.lock_recorded = False  # the state of the lock in its last event
        self.second_card = False  # of a double feed, while the first is not resolved
        self.after_cut = 0  # cards left in the shoe when the cut card came
        self.decided = False
        """Whether the last round has its result, is not void, and no other has begun."""
        self.asked = False
        """Whether the display asks the supervisor: is that round a misdeal, does the shoe end?"""
        self.ghosts = 0
        """Ghost hands in this shoe of cards: rounds that are dealt without wagers."""
        self.ghost = 0
        """Whether the round is one: 0 no, GHOST_ASKED the display asks so, GHOST_MARKED yes."""
        self.unchecked = False
        """Whether the cards may have been changed while no program watched them, and the supervisor
        has not looked at them yet."""
        self.sealed = False
        """Whether cards of the round are sealed: from its `seal` to its `unsealed`."""
        self.sealed_cards = b""
        """The cards 0-51 that are sealed, while they may still be never to be known: for each the
        seat under whose key it is, and the card."""
        self.came_sealed = False
        """Whether the last card that came out is sealed."""
        self._actions: "list[tuple]" = []

    def change_game(self, game: "FamilyGame") -> None:
        """Deal `game` from now on. Only allowed while `can_change_game`."""
        self.game = game
        self.decided = self.asked = False
        self.current_round: "FamilyRound" = ROUNDS[game.family]()(game, self.record)
        """The present or last round."""

    @property
    def cards(self) -> int:
        """The number of cards drawn from this shoe of cards, with burned and unreadable ones."""
        return self.inventory.drawn()

    def can_be_ghost(self) -> bool:
        """Whether the round can be marked as a ghost hand now.

        "The maximum number of ghost hands allowed shall be determined by the house" (Washington,
        Ghost hands); no other document has them. A void one counts too: its cards are out.
        """
        if self.phase != BETTING or self.error or self.lid_open or self.ghost == GHOST_MARKED:
            return False
        allowed = self.game.house.get("ghost_hands", 0)
        return type(allowed) is int and self.ghosts < allowed

    def can_change_game(self) -> bool:
        """Whether no shoe of cards is in play."""
        return self.phase == NO_SHOE or self.phase == ENDED

    @micropython.native
    def card_due(self) -> bool:
        """Whether the next card may come out."""
        if self.error or self.lid_open:
            return False
        return (
            self.current_round.due != NOT_DUE or self.phase == FIRST_BURN or self.phase == BURNING
        )

    lock_released = card_due

    @micropython.native
    def lock_after(self, card: int) -> bool:
        """Whether the lock will be released once `card` 0-53, which is passing, is dealt.

        The lock is set from this while the end of that card is still in the head. Therefore it must
        change and allocate nothing, and take less than a millisecond.
        """
        if card == cards.CUT_CARD:
            return self._cut_card_fits()
        if card == cards.TEST_CARD or not self.card_due() or self.inventory.surplus(card):
            return False
        if self.phase == FIRST_BURN:
            return True
        if self.phase == BURNING:
            return self.burn_left > 1 or (
                self.after_burning == BETTING and self.current_round.card_first
            )
        return self.current_round.due_after(card) != NOT_DUE

    def record(self, shape: "Shape", *values: object) -> None:
        """Record an event."""
        if shape is events.UNSEALED:
            if not self.sealed:
                return
            self.sealed = False
        if self.sealed_cards:
            from sabot_firmware.table import closing  # rarely needed: saves heap

            closing.follow(self, shape, values)
        self._actions.append((shape, self.shoe, self.round, values))

    def closes_cards(self) -> bool:
        """Whether cards of the game may never be to be known."""
        return self.game.by_seat or self.game.house.get("voided_cards") == "never"

    def _secret(self, position: int) -> bool:
        """Whether a card at `position` may not be known now."""
        return self.sealed and self.current_round.facing(position) != FACE_UP

    def _recorded_figures(self, position: int, figures: "Figures") -> "Figures":
        """Return the figures that an event may have. Margin and skew depend on the marks of the
        card: while it is sealed they are 0."""
        return (figures[0], 0, 0, figures[3]) if self._secret(position) else figures

    def _fail(self, error: int, card: "int | None" = None, fault: int = 0) -> None:
        self.record(events.ERROR, error, card, fault)
        if not self.error:  # the first error is the cause, and stays
            self.error = error
            self.fault = fault

    def _clear_error(self) -> None:
        """Clear the present error. With the lid open it stays."""
        error = self.error
        if not error or self.lid_open:
            return
        self.error = NO_ERROR
        self.fault = 0
        if error == POWER_WAS_OFF:
            self.unchecked = False
        self.pending.end()
        self.record(events.ERROR_CLEARED, error)

    def _load_shoe(self) -> None:
        self.shoe += 1
        self.round = self.rounds = self.ghosts = self.ghost = 0
        self.rounds_left = _NO_LIMIT
        self.second_card = self.decided = self.asked = self.unchecked = False
        self.inventory.load(self.game.decks)
        self.current_round.clear()
        self.record(events.SHOE_LOADED, self.game.decks, self.game.name, self.card_set)
        if self.game.burn == "by_first":
            self.phase = FIRST_BURN
        elif self.game.burn == "one":
            self._burn_new_cards(1)
        else:
            self._begin_round()

    def _position_of_next(self) -> int:
        """Return the position of the card that comes out now. Close betting if the card does."""
        if not self.card_due():
            return NOT_DUE
        if self.phase == FIRST_BURN:
            return _BURN_FIRST
        if self.phase == BURNING:
            return _BURN
        if self.phase == BETTING:
            self._close_betting(_BY_CARD)
        return self.current_round.due

    def _draw(self, card: int, position: int, figures: "Figures", by_hand: bool) -> None:
        if not self.can_change_game():
            self.inventory.count(card)
        shape = events.CARD
        self.came_sealed = self._secret(position)
        if self.came_sealed:
            shape = events.SEALED_CARD
            if self.closes_cards():
                from sabot_firmware.table import closing

                closing.keep(self, card, position)
        self.record(shape, card, position, *self._recorded_figures(position, figures), by_hand)

    def _burn_new_cards(self, count: int) -> None:
        self.record(events.BURN, count)
        self._burn_until(BETTING, count)

    def _burn_until(self, phase: int, count: int) -> None:
        self.phase = BURNING
        self.burn_left = count
        self.after_burning = phase

    def _burned(self) -> None:
        self.burn_left -= 1
        if not self.burn_left:
            if self.after_burning == BETTING:
                self._begin_round()
            else:
                self.phase = self.after_burning

    def _begin_round(self) -> None:
        self.round += 1
        self.ghost = 0
        self.decided = self.asked = False
        self.current_round.begin()
        self.phase = self.current_round.phase

    def _close_betting(self, by: int) -> None:
        if self.ghost == GHOST_ASKED:
            self.ghost = 0
        self.current_round.close_betting(by)
        self.phase = self.current_round.phase
        if self.current_round.seals:
            self.sealed = True
            self.sealed_cards = b""
            self.record(events.SEAL, *[True] * self.game.by_seat)

    def _follow(self, was_open: bool) -> None:
        """Take over the phase of the round; count the round when it gets its result, end it when it
        is over. `was_open` is whether it was open before the input."""
        self.phase = self.current_round.phase
        if was_open and not self.current_round.open:
            self.rounds += 1
            self.decided = True
            self._count_down()
        if self.phase == BETWEEN:
            self._round_over()

    def _count_down(self) -> None:
        """After the cut card, count down the rounds still to be finished."""
        if self.rounds_left > 0:
            self.rounds_left -= 1

    def _round_over(self) -> None:
        self.phase = BETWEEN
        if self.current_round.ends_shoe:
            self._end_shoe(_BY_ROUND)
        elif self.rounds_left == 0:
            self._end_shoe(_BY_CUT_CARD)

    def _end_shoe(self, reason: int) -> None:
        self.phase = ENDED
        self.unchecked = False
        inventory = self.inventory
        self.record(events.SHOE_ENDED, reason, self.rounds, inventory.drawn())
        counts = bytes(inventory.counts)
        self.record(events.COMPOSITION, counts, inventory.unread, inventory.expected())
        if reason == _BY_CUT_CARD and self.after_cut > self.game.cut_from_end:
            self._fail(_CARDS_MISSING)

    def _cut_card_fits(self) -> bool:
        return self.card_due() and self.current_round.open and self.rounds_left == _NO_LIMIT

    def _cut_card(self) -> None:
        misplaced = not self._cut_card_fits()
        if self.rounds_left == _NO_LIMIT:
            within_round = self.current_round.open and self.current_round.begun
            self.rounds_left = 1 + self.game.rounds_after_cut if within_round else 1
            self.after_cut = self.inventory.expected() - self.inventory.drawn()
            if self.second_card:
                self.after_cut += 1  # it came out with the cut card, but lay after it in the shoe
        self.record(events.CUT_CARD, self.rounds_left)
        if misplaced:
            self._fail(_CUT_CARD_MISPLACED, cards.CUT_CARD)
