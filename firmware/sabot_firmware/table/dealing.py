"""The dealing of a shoe of cards as a pure state machine: what happened in, what to record out.

No pins, no clock, no link. Each input method returns actions: `(shape, shoe, round, values)`,
the events to record, in order. What the lock, the lamps and the display must show follows
from the state (`lock_released` here, the rest in panel.py).

Phases (`words.PHASES`): no_shoe - first_burn - burning - betting - dealing - between - betting
... ended. A game that burns less leaves out the first two. An error stops play in any of them
until the supervisor's key clears it.

In midi nobody may learn from the shoe what lies face down: the round is *hidden* from its first
card until `reveal`, and stays in the phase `dealing` until then, though it has its result.

A card of the shoe in play that cannot be read, or is one too many, is *pending*: it stops play
until the supervisor decides what becomes of it (pending.py), and play goes on from there.
"""

from sabot_firmware.table import draws, pending, rules
from sabot_firmware.table.draws import NOT_DUE, PLAYER_1
from sabot_firmware.table.inventory import Inventory
from sabot_firmware.table.pending import Pending
from sabot_protocol import cards, enums, events

NO_SHOE, FIRST_BURN, BURNING, BETWEEN, BETTING, DEALING, ENDED = range(len(enums.PHASES))

_BURN_FIRST = enums.POSITIONS.index("burn_first")
_BURN = enums.POSITIONS.index("burn")

NO_ERROR = enums.ERRORS.index("none")
CARDNOT_DUE = enums.ERRORS.index("card_not_due")
UNREADABLE = enums.ERRORS.index("unreadable")
LID_OPENED = enums.ERRORS.index("lid_opened")
CUT_CARD_MISPLACED = enums.ERRORS.index("cut_card_misplaced")
TEST_CARD = enums.ERRORS.index("test_card")
CARDS_MISSING = enums.ERRORS.index("cards_missing")
SENSOR_FAULT = enums.ERRORS.index("sensor_fault")
SAMPLES_LOST = enums.ERRORS.index("samples_lost")
JOURNAL_FULL = enums.ERRORS.index("journal_full")

_DOUBLE_FEED = enums.FAULTS.index("double_feed")
_SENSOR_FAULT = enums.FAULTS.index("sensor_fault")
_POWER_LOST = enums.FAULTS.index("power_lost")

_NEXT = enums.BUTTONS.index("next")
_REVEAL = enums.BUTTONS.index("reveal")
_VOID = enums.BUTTONS.index("void")
_BURN_BUTTON = enums.BUTTONS.index("burn")
LID, KEY, SERVICE = range(len(enums.SWITCHES))

_BY_BUTTON, _BY_CARD = range(len(enums.CLOSED_BY))
_BY_CUT_CARD = enums.END_REASONS.index("cut_card")
_BY_SUPERVISOR = enums.END_REASONS.index("supervisor")

_NO_LIMIT = -1
_NO_FIGURES = (0, 0, 0, 0)

_STATE = (
    "shoe", "round", "phase", "error", "fault", "lid_open", "key_on", "service_on", "player",
    "banker", "winner", "hits", "revealed", "burn_left", "rounds", "rounds_left", "_position",
    "_after_burning", "_lock_released", "_second_card", "_behind_cut",
)  # fmt: skip
"""Fields that, with the inventory and the pending card, are all that the dealing remembers."""


class Dealing:
    """One shoe (the device) at a table, from power-on.

    `game` is a `sabot_protocol.games.Game`, `card_set` the set 0-12 of the cards, `shoe` the number
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
        """With the errors `unreadable` and `sensor_fault`: place in `words.FAULTS`."""
        self.lid_open = False
        self.key_on = False
        self.service_on = False
        self.player: "list[int]" = []
        self.banker: "list[int]" = []
        self.winner = -1
        """Place in `words.WINNERS` once the round is decided."""
        self.hits = 0
        """Bits of `words.HITS`: what else the round is, that a wager of the game depends on."""
        self.revealed = True
        """Whether it may show what the cards of the round are."""
        self.burn_left = 0
        self.inventory = Inventory()
        self.pending = Pending()
        self.rounds = 0
        """Rounds that got a result in this shoe of cards."""
        self.rounds_left = _NO_LIMIT
        """Once the cut card has come: rounds still to be finished."""
        self._position = PLAYER_1
        self._after_burning = BETTING
        self._lock_released = False
        self._second_card = False  # of a double feed, while the first is not settled
        self._behind_cut = 0
        self._actions: "list[tuple]" = []

    def state(self) -> list:
        """All that it remembers, in numbers, flags and bytes; for `restore`."""
        fields = [getattr(self, name) for name in _STATE]
        return [fields, self.inventory.state(), self.pending.state()]

    def restore(self, state: list) -> None:
        """Stand where it stood when `state` was taken, with the same game."""
        fields, inventory, waiting = state
        for i in range(len(_STATE)):
            setattr(self, _STATE[i], fields[i])
        self.inventory.restore(inventory)
        self.pending.restore(waiting)

    @property
    def cards(self) -> int:
        """Cards drawn from this shoe of cards, burned and unreadable ones counted."""
        return self.inventory.drawn()

    def can_change_game(self) -> bool:
        """Whether no shoe of cards is in play."""
        return self.phase == NO_SHOE or self.phase == ENDED

    def card_due(self) -> bool:
        """Whether the next card may come out."""
        if self.error or self.lid_open:
            return False
        return self.round_open() or self.phase == FIRST_BURN or self.phase == BURNING

    lock_released = card_due

    def lock_after(self, card: int) -> bool:
        """Whether the lock will be released once `card` 0-53, which is passing, is dealt.

        The lock follows this while the end of that card is still in the head, so it changes and
        allocates nothing: it is done in a millisecond.
        """
        if card == cards.CUT_CARD:
            return self._cut_card_fits()
        if card == cards.TEST_CARD or not self.card_due() or self.inventory.surplus(card):
            return False
        if self.phase == FIRST_BURN:
            return True
        if self.phase == BURNING:
            return self.burn_left > 1 or self._after_burning == BETTING
        return self._due_behind(card) != NOT_DUE

    def round_open(self) -> bool:
        """Whether a round has begun and has neither a result nor been voided."""
        return self.phase == BETTING or (self.phase == DEALING and self.winner < 0)

    def hidden(self) -> bool:
        """Whether cards of the round have come out that nothing may tell of yet."""
        return not self.revealed and len(self.player) > 0

    def card_passed(self, card: int, figures: "tuple[int, int, int, int]" = _NO_FIGURES) -> list:
        """Card 0-53 came out. `figures`: speed, margin, skew, samples as in `events.CARD`."""
        if card == cards.TEST_CARD:
            self._fail(TEST_CARD, card)
        else:
            self._named(card, figures, False)
        return self._done()

    def pass_failed(self, fault: int, figures: "tuple[int, int, int, int]" = _NO_FIGURES) -> list:
        """Something came out that is no readable card; `fault` as in `words.FAULTS`."""
        stopped = self.error
        position = self._position_of_next()
        self._say(events.UNREADABLE, fault, position, *figures)
        self._fail(UNREADABLE, None, fault)
        if not self.can_change_game():
            self.inventory.pass_failed(fault)
            if not stopped:
                self.pending.begin(enums.FAULTS[fault], position)
                self._second_card = fault == _DOUBLE_FEED
        return self._done()

    def sensor_failed(self) -> list:
        """A channel of the head cannot be right although no card passes."""
        self._fail(SENSOR_FAULT, None, _SENSOR_FAULT)
        return self._done()

    def samples_lost(self) -> list:
        """The head was not read in time: nobody knows what passed."""
        self._fail(SAMPLES_LOST)
        return self._done()

    def power_lost(self) -> list:
        """The power went while a card passed: nobody knows whether it came out."""
        return [] if self.can_change_game() else self.pass_failed(_POWER_LOST)

    def journal_full(self) -> list:
        """What is recorded from now on would overwrite what no host has."""
        self._fail(JOURNAL_FULL)
        return self._done()

    def pressed(self, button: int) -> list:
        """A button of `words.BUTTONS` was pressed."""
        self._say(events.BUTTON, button)
        if self.pending.waits():
            if self.key_on and not self.lid_open:
                self._decide(button)
        elif button == _VOID and self.key_on:
            self._void("supervisor")
        elif self.error or self.lid_open:
            pass
        elif button == _NEXT and self.phase == BETWEEN:
            self._open_betting()
        elif button == _NEXT and self.phase == BETTING:
            self._close_betting(_BY_BUTTON)
        elif button == _REVEAL and self.hidden() and self.winner >= 0:
            self.revealed = True
            self._round_over()
        elif button == _BURN_BUTTON and self.phase == BETWEEN:
            self._burn_until(BETWEEN, 1)
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
            if self.pending.waits():
                self.pending.forget()
            elif on:
                self._clear_error()
        else:
            self._say(events.SERVICE, on)
            self.service_on = on
        return self._done()

    def _say(self, shape, *values: object) -> None:
        self._actions.append((shape, self.shoe, self.round, values))

    def _done(self) -> list:
        if self._second_card and not self.error:
            self._stop_for_second_card()
        released = self.lock_released()
        if released != self._lock_released:
            self._lock_released = released
            self._say(events.LOCK, released)
        actions = self._actions
        self._actions = []
        return actions

    def _load_shoe(self) -> None:
        self.shoe += 1
        self.round = self.rounds = 0
        self.rounds_left = _NO_LIMIT
        self._second_card = False
        self.inventory.load(self.game.decks)
        self._clear_hands()
        self._say(events.SHOE_LOADED, self.game.decks, self.game.name, self.card_set)
        if self.game.burn == "by_first":
            self.phase = FIRST_BURN
        elif self.game.burn == "one":
            self._burn_new_cards(1)
        else:
            self._open_betting()

    def _clear_hands(self) -> None:
        self.player = []
        self.banker = []
        self.winner = -1
        self.hits = 0
        self.revealed = self.game.shown == "at_once"
        self._position = PLAYER_1

    def _named(self, card: int, figures: "tuple[int, int, int, int]", by_hand: bool) -> None:
        """Card 0-52 came out: it is dealt, or stops play as one too many."""
        if card == cards.CUT_CARD:
            self._cut_card()
            return
        surplus = NO_ERROR if self.can_change_game() else self.inventory.surplus(card)
        if surplus and not self.error:
            position = self._position_of_next()
            self._fail(surplus, card)
            self.pending.begin_read(enums.ERRORS[surplus], position, card, figures, by_hand)
            return
        self._deal(card, figures, by_hand)
        if surplus:
            self._fail(surplus, card)

    def _deal(self, card: int, figures: "tuple[int, int, int, int]", by_hand: bool) -> None:
        position = self._position_of_next()
        self._draw(card, position, figures, by_hand)
        if position == NOT_DUE:
            self._fail(CARDNOT_DUE, card)
        elif position == _BURN_FIRST:
            self._burn_new_cards(rules.burn_count(self.game, card))
        elif position == _BURN:
            self._burned()
        else:
            due = self._due_behind(card)
            hand = self.player if enums.POSITIONS[position][0] == "p" else self.banker
            hand.append(card)
            self._after_card(due)

    def _draw(
        self, card: int, position: int, figures: "tuple[int, int, int, int]", by_hand: bool
    ) -> None:
        if not self.can_change_game():
            self.inventory.count(card)
        self._say(events.CARD, card, position, *figures, by_hand)

    def _position_of_next(self) -> int:
        """What the card that comes out now is due as; the first of a round closes betting."""
        if self.phase == BETTING and self.card_due():
            self._close_betting(_BY_CARD)
        return self._due_position()

    def _due_position(self) -> int:
        if not self.card_due():
            return NOT_DUE
        if self.phase == FIRST_BURN:
            return _BURN_FIRST
        return _BURN if self.phase == BURNING else self._position

    def _burn_new_cards(self, count: int) -> None:
        self._say(events.BURN, count)
        self._burn_until(BETTING, count)

    def _burn_until(self, phase: int, count: int) -> None:
        self.phase = BURNING
        self.burn_left = count
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

    def _due_behind(self, card: int) -> int:
        """As what the next card is due once `card` lies in its hand; NOT_DUE ends the round."""
        return draws.due_behind(self.game, self._position, self.player, self.banker, card)

    def _after_card(self, due: int) -> None:
        """A card lies in its hand: tell what the rules decided, go on to what is `due`."""
        for decision in draws.decisions(self._position, due, self.player, self.banker):
            self._say(events.DECISION, *decision)
        if due == NOT_DUE:
            self._result()
        else:
            self._position = due

    def _result(self) -> None:
        result = draws.result_of(self.game, self.player, self.banker)
        self.winner = result[0]
        self.hits = result[6]
        self._say(events.RESULT, *result)
        self.rounds += 1
        self._count_down()
        if self.revealed:
            self._round_over()

    def _count_down(self) -> None:
        """A round has its end: one less to be finished once the cut card has come."""
        if self.rounds_left > 0:
            self.rounds_left -= 1

    def _round_over(self) -> None:
        self.phase = BETWEEN
        if self.rounds_left == 0:
            self._end_shoe(_BY_CUT_CARD)

    def _end_shoe(self, reason: int) -> None:
        self.phase = ENDED
        inventory = self.inventory
        self._say(events.SHOE_ENDED, reason, self.rounds, inventory.drawn())
        counts = bytes(inventory.counts)
        self._say(events.COMPOSITION, counts, inventory.unread, inventory.expected())
        if reason == _BY_CUT_CARD and self._behind_cut > self.game.cut_from_end:
            self._fail(CARDS_MISSING)

    def _cut_card_fits(self) -> bool:
        return self.card_due() and self.round_open() and self.rounds_left == _NO_LIMIT

    def _cut_card(self) -> None:
        misplaced = not self._cut_card_fits()
        if self.rounds_left == _NO_LIMIT:
            within_round = self.round_open() and self.player
            self.rounds_left = 1 + self.game.rounds_after_cut if within_round else 1
            drawn = self.inventory.drawn()
            if self._second_card:
                drawn -= 1  # it came out with the cut card, and lay behind it
            self._behind_cut = self.inventory.expected() - drawn
        self._say(events.CUT_CARD, self.rounds_left)
        if misplaced:
            self._fail(CUT_CARD_MISPLACED, cards.CUT_CARD)

    def _fail(self, error: int, card: "int | None" = None, fault: int = 0) -> None:
        self._say(events.ERROR, error, card, fault)
        if not self.error:  # what showed first is the cause, and stays
            self.error = error
            self.fault = fault

    def _clear_error(self) -> None:
        """Clear the error that shows. With the lid open it stays."""
        error = self.error
        if not error or self.lid_open:
            return
        self.error = NO_ERROR
        self.fault = 0
        self.pending.end()
        self._say(events.ERROR_CLEARED, error)

    def _stop_for_second_card(self) -> None:
        """The first card of a double feed is settled: now the one that came with it."""
        self._second_card = False
        if not self.can_change_game():
            position = self._position_of_next()
            self._fail(UNREADABLE, None, _DOUBLE_FEED)
            self.pending.begin(pending.SECOND_CARD, position)

    def _decide(self, button: int) -> None:
        """The supervisor's buttons, while a card is pending."""
        if button == _NEXT:
            self.pending.step()
        elif button == _BURN_BUTTON:
            self.pending.step_suit()
        elif button == _VOID:
            self._resolve(pending.VOID)
        elif button == _REVEAL and self.pending.is_chosen():
            self._resolve(self.pending.choice())

    def _resolve(self, resolution: int) -> None:
        """Do what the supervisor decided about the pending card; go on from there."""
        error, fault, waiting = self.error, self.fault, self.pending
        position, entered = waiting.position, waiting.entered()
        card, figures, by_hand = waiting.card, waiting.figures, waiting.by_hand
        self._say(events.RESOLVED, error, fault, position, resolution)
        self._clear_error()
        if resolution == pending.ENTERED:
            if error == UNREADABLE:
                self.inventory.named(fault)
            self._named(entered, _NO_FIGURES, True)
        elif resolution == pending.AS_READ:
            self._deal(card, figures, by_hand)
        elif card != pending.NONE:  # put aside; it has come out all the same
            self._draw(card, NOT_DUE, figures, by_hand)
        elif resolution == pending.DRAWN_AGAIN:
            self.inventory.drawn_again(fault)
        elif resolution == pending.UNSEEN and position == _BURN:
            self._burned()
        if resolution == pending.VOID:
            self._void("unreadable" if error == UNREADABLE else "supervisor")

    def _void(self, reason: str) -> None:
        self._second_card = False
        self._clear_error()
        if self.round_open():
            self._void_round(reason)
        elif not self.hidden() and not self.can_change_game():
            # Hidden, nobody sees that it is too late for the round: that must not cost the shoe.
            self._end_shoe(_BY_SUPERVISOR)

    def _void_round(self, reason: str) -> None:
        self._say(events.ROUND_VOID, enums.VOID_REASONS.index(reason))
        self._clear_hands()
        self._count_down()
        self._round_over()
