"""The dealing of a shoe of cards as a pure state machine: what happened in, what to record out.

No pins, no clock, no link. Each input method returns actions: `(shape, shoe, round, values)`,
the events to record, in order. What the lock, the lamps and the display must show follows
from the state (`lock_released` here, the rest in panel.py).

Phases (`words.PHASES`): no_shoe - first_burn - burning - betting - dealing - between - betting
... ended. An error stops play in any of them until the supervisor's key clears it.
"""

from firmware import rules
from protocol import cards, events, words

NO_SHOE, FIRST_BURN, BURNING, BETWEEN, BETTING, DEALING, ENDED = range(len(words.PHASES))

_BURN_FIRST = words.POSITIONS.index("burn_first")
_BURN = words.POSITIONS.index("burn")
PLAYER_1 = words.POSITIONS.index("player_1")
PLAYER_2 = words.POSITIONS.index("player_2")
BANKER_2 = words.POSITIONS.index("banker_2")
PLAYER_3 = words.POSITIONS.index("player_3")
BANKER_3 = words.POSITIONS.index("banker_3")
_NOT_DUE = words.POSITIONS.index("not_due")

NO_ERROR = words.ERRORS.index("none")
CARD_NOT_DUE = words.ERRORS.index("card_not_due")
UNREADABLE = words.ERRORS.index("unreadable")
LID_OPENED = words.ERRORS.index("lid_opened")
CUT_CARD_MISPLACED = words.ERRORS.index("cut_card_misplaced")
TEST_CARD = words.ERRORS.index("test_card")

_NEXT = words.BUTTONS.index("next")
_VOID = words.BUTTONS.index("void")
_BURN_BUTTON = words.BUTTONS.index("burn")
LID, KEY, SERVICE = range(len(words.SWITCHES))

PLAYER, BANKER, TIE = range(len(words.WINNERS))
_DRAWS, _STANDS, _NATURAL = range(len(words.ACTIONS))
_BY_BUTTON, _BY_CARD = range(len(words.CLOSED_BY))

_NO_LIMIT = -1
_NO_FIGURES = (0, 0, 0, 0)


class Dealing:
    """One shoe (the device) at a table, from power-on.

    `game` is a `protocol.games.Game`, `card_set` the set 0-12 of the cards, `shoe` the number
    of the last shoe of cards that this unit has dealt.
    """

    def __init__(self, game, card_set: int, shoe: int) -> None:
        self.game = game
        self.card_set = card_set
        self.shoe = shoe
        self.round = 0
        """The round that is open, or was last."""
        self.phase = NO_SHOE
        self.error = NO_ERROR
        self.fault = 0
        """With the error `unreadable`: place in `words.FAULTS`."""
        self.lid_open = False
        self.key_on = False
        self.player: "list[int]" = []
        self.banker: "list[int]" = []
        self.winner = -1
        """Place in `words.WINNERS` once the round is decided."""
        self.burn_left = 0
        self.cards = 0
        """Cards drawn from this shoe of cards, burned and unreadable ones counted."""
        self.rounds = 0
        """Rounds that got a result in this shoe of cards."""
        self.rounds_left = _NO_LIMIT
        """Once the cut card has come: rounds still to be finished."""
        self._position = PLAYER_1
        self._after_burning = BETTING
        self._lock_released = False
        self._actions: "list[tuple]" = []

    def can_change_game(self) -> bool:
        """Whether no shoe of cards is in play."""
        return self.phase == NO_SHOE or self.phase == ENDED

    def card_due(self) -> bool:
        """Whether the next card may come out."""
        return (
            not self.error
            and not self.lid_open
            and self.phase in (FIRST_BURN, BURNING, BETTING, DEALING)
        )

    lock_released = card_due

    def round_open(self) -> bool:
        """Whether a round has begun and has neither a result nor been voided."""
        return self.phase == BETTING or self.phase == DEALING

    def card_passed(self, card: int, figures: "tuple[int, int, int, int]" = _NO_FIGURES) -> list:
        """Card 0-53 came out. `figures`: speed, margin, skew, samples as in `events.CARD`."""
        if card == cards.TEST_CARD:
            self._fail(TEST_CARD, card)
        elif card == cards.CUT_CARD:
            self._cut_card()
        elif not self.card_due():
            self._draw(card, _NOT_DUE, figures)
            self._fail(CARD_NOT_DUE, card)
        elif self.phase == FIRST_BURN:
            self._draw(card, _BURN_FIRST, figures)
            self.burn_left = rules.burn_count(card)
            self._say(events.BURN, self.burn_left)
            self._burn_until(BETTING)
        elif self.phase == BURNING:
            self._draw(card, _BURN, figures)
            self._burned()
        else:
            if self.phase == BETTING:
                self._close_betting(_BY_CARD)
            self._draw(card, self._position, figures)
            hand = self.player if words.POSITIONS[self._position][0] == "p" else self.banker
            hand.append(card)
            self._after_card()
        return self._done()

    def pass_failed(self, fault: int, samples: int) -> list:
        """Something came out that is no readable card; `fault` as in `words.FAULTS`."""
        if self.phase == BETTING and self.card_due():
            self._close_betting(_BY_CARD)
        self._say(events.UNREADABLE, fault, self._due_position(), samples)
        if self.phase != NO_SHOE:
            self.cards += 1
        self._fail(UNREADABLE, None, fault)
        return self._done()

    def pressed(self, button: int) -> list:
        """A button of `words.BUTTONS` was pressed."""
        self._say(events.BUTTON, button)
        if button == _VOID and self.key_on:
            self._void()
        elif self.error or self.lid_open:
            pass
        elif button == _NEXT and self.phase == BETWEEN:
            self._open_betting()
        elif button == _NEXT and self.phase == BETTING:
            self._close_betting(_BY_BUTTON)
        elif button == _BURN_BUTTON and self.phase == BETWEEN:
            self.burn_left = 1
            self._burn_until(BETWEEN)
        return self._done()

    def switched(self, switch: int, on: bool) -> list:
        """A switch of `words.SWITCHES` changed."""
        if switch == LID:
            self._say(events.LID, on)
            self.lid_open = on
            if not self.can_change_game():
                if on:
                    self._fail(LID_OPENED)
            elif not on:
                self._load_shoe()
        elif switch == KEY:
            self._say(events.KEY, on)
            self.key_on = on
            if on:
                self._go_on()
        else:
            self._say(events.SERVICE, on)
        return self._done()

    def _say(self, shape, *values: object) -> None:
        self._actions.append((shape, self.shoe, self.round, values))

    def _done(self) -> list:
        released = self.lock_released()
        if released != self._lock_released:
            self._lock_released = released
            self._say(events.LOCK, released)
        actions = self._actions
        self._actions = []
        return actions

    def _load_shoe(self) -> None:
        self.shoe += 1
        self.round = self.rounds = self.cards = 0
        self.rounds_left = _NO_LIMIT
        self.phase = FIRST_BURN
        self._clear_hands()
        self._say(events.SHOE_LOADED, self.game.decks, self.game.name, self.card_set)

    def _clear_hands(self) -> None:
        self.player = []
        self.banker = []
        self.winner = -1
        self._position = PLAYER_1

    def _draw(self, card: int, position: int, figures: "tuple[int, int, int, int]") -> None:
        if self.phase != NO_SHOE:
            self.cards += 1
        self._say(events.CARD, card, position, *figures)

    def _due_position(self) -> int:
        if not self.card_due():
            return _NOT_DUE
        if self.phase == FIRST_BURN:
            return _BURN_FIRST
        return _BURN if self.phase == BURNING else self._position

    def _burn_until(self, phase: int) -> None:
        self.phase = BURNING
        self._after_burning = phase

    def _burned(self) -> None:
        self.burn_left -= 1
        if not self.burn_left:
            if self._after_burning == BETTING:
                self._open_betting()
            else:
                self.phase = self._after_burning

    def _open_betting(self) -> None:
        self.phase = BETTING
        self.round += 1
        self._clear_hands()
        self._say(events.BETTING_OPEN)

    def _close_betting(self, by: int) -> None:
        self.phase = DEALING
        self._say(events.BETTING_CLOSED, by)

    def _after_card(self) -> None:
        position = self._position
        if position < BANKER_2:
            self._position = position + 1
        elif position == BANKER_2:
            self._after_two_each()
        elif position == PLAYER_3:
            self._decide_banker(self.player[2])
        else:
            self._result()

    def _after_two_each(self) -> None:
        player, banker = rules.total_of(self.player), rules.total_of(self.banker)
        if rules.is_natural(player) or rules.is_natural(banker):
            for hand, total in ((PLAYER, player), (BANKER, banker)):
                action = _NATURAL if rules.is_natural(total) else _STANDS
                self._say(events.DECISION, hand, action, total)
            self._result()
        elif rules.player_draws(self.game, player):
            self._say(events.DECISION, PLAYER, _DRAWS, player)
            self._position = PLAYER_3
        else:
            self._say(events.DECISION, PLAYER, _STANDS, player)
            self._decide_banker(rules.NO_CARD)

    def _decide_banker(self, player_third: int) -> None:
        total = rules.total_of(self.banker)
        if rules.banker_draws(self.game, total, player_third):
            self._say(events.DECISION, BANKER, _DRAWS, total)
            self._position = BANKER_3
        else:
            self._say(events.DECISION, BANKER, _STANDS, total)
            self._result()

    def _result(self) -> None:
        player, banker = rules.total_of(self.player), rules.total_of(self.banker)
        self.winner = PLAYER if player > banker else BANKER if banker > player else TIE
        self._say(
            events.RESULT,
            self.winner,
            player,
            banker,
            rules.is_natural(rules.total_of(self.player[:2])),
            rules.is_natural(rules.total_of(self.banker[:2])),
        )
        self.rounds += 1
        self._round_over()

    def _round_over(self) -> None:
        self.phase = BETWEEN
        if self.rounds_left > 0:
            self.rounds_left -= 1
        if self.rounds_left == 0:
            self._end_shoe(words.END_REASONS.index("cut_card"))

    def _end_shoe(self, reason: int) -> None:
        self.phase = ENDED
        self._say(events.SHOE_ENDED, reason, self.rounds, self.cards)

    def _cut_card(self) -> None:
        misplaced = not (self.card_due() and self.round_open()) or self.rounds_left != _NO_LIMIT
        if self.rounds_left == _NO_LIMIT:
            within_round = self.phase == DEALING and self.player
            self.rounds_left = 1 + self.game.rounds_after_cut if within_round else 1
        self._say(events.CUT_CARD, self.rounds_left)
        if misplaced:
            self._fail(CUT_CARD_MISPLACED, cards.CUT_CARD)

    def _fail(self, error: int, card: "int | None" = None, fault: int = 0) -> None:
        self._say(events.ERROR, error, card, fault)
        if not self.error:  # what showed first is the cause, and stays
            self.error = error
            self.fault = fault

    def _clear_error(self) -> int:
        """Clear the error that shows; returns it. With the lid open it stays."""
        error = self.error
        if not error or self.lid_open:
            return NO_ERROR
        self.error = NO_ERROR
        self.fault = 0
        self._say(events.ERROR_CLEARED, error)
        return error

    def _go_on(self) -> None:
        if self._clear_error() == UNREADABLE:
            if self.round_open():
                self._void_round("unreadable")
            elif self.phase == BURNING:
                self._burned()  # it lies face down with the others

    def _void(self) -> None:
        self._clear_error()
        if self.round_open():
            self._void_round("supervisor")
        elif not self.can_change_game():
            self._end_shoe(words.END_REASONS.index("supervisor"))

    def _void_round(self, reason: str) -> None:
        self._say(events.ROUND_VOID, words.VOID_REASONS.index(reason))
        self._clear_hands()
        self._round_over()
