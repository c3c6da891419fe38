"""A round of baccarat with the interface of rounds.pyi: two hands, who draws, the result.

In midi the shoe must not tell what the face-down cards are: the round is *hidden* from its first
card until `reveal`. Its decisions and its result are recorded then.

Sources: as in rules.py, which has the tables; this module has the order of play.
"""

from sabot_firmware.native import const
from sabot_firmware.table import rules
from sabot_firmware.table.pending import FACE_DOWN, FACE_UP
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING, NOT_DUE
from sabot_protocol import cards, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.table.rounds import RecordEvent
    from sabot_protocol.baccarat import Game

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
_PLAYER_1 = const(2)
_BANKER_2 = const(5)
_PLAYER_3 = const(6)
_BANKER_3 = const(7)

PLAYER = const(0)
BANKER = const(1)
TIE = const(2)
_DRAWS = const(0)
_STANDS = const(1)
_NATURAL = const(2)

_REVEAL = const(1)
_BURN = const(3)

_WINNERS = ("PLAYER WINS", "BANKER WINS", "TIE HAND")
# Outcomes that the dealer announces instead (Maryland, Mini Baccarat, chapter 11, A (2) and (3)).
_DRAGON_7 = const(1 << 2)
_PANDA_8 = const(1 << 3)


class BaccaratRound:
    """The present or last round of baccarat; see `sabot_firmware.table.rounds.FamilyRound`."""

    KEPT: "tuple[str, ...]" = ("player", "banker", "winner", "hits", "revealed", "due")
    ends_shoe = False

    def __init__(self, game: "Game", record: "RecordEvent") -> None:
        self._game = game
        self.card_first = game.betting_closed_by == "first_card"
        self._record = record
        self.clear()
        self.revealed = True
        """Whether the shoe may show the cards of the round."""

    def begin(self) -> None:
        self.clear()
        self.open = True
        self.phase = BETTING
        if self.card_first:
            self.due = _PLAYER_1
        self._record(events.BETTING_OPEN)

    def clear(self) -> None:
        self.due = NOT_DUE
        self.phase = BETWEEN
        self.open = self.begun = self.hidden = False
        self.player: "list[int]" = []
        self.banker: "list[int]" = []
        self.winner = -1
        """Place in `enums.WINNERS` once the round is decided, -1 before."""
        self.hits = 0
        """Bits of `enums.HITS`: the hits of the round that a wager of the game depends on."""
        self.revealed = self._game.shown == "at_once"

    @property
    def seals(self) -> bool:
        return not self.revealed

    def close_betting(self, by: int) -> None:
        self.phase = DEALING
        self.due = _PLAYER_1
        self._record(events.BETTING_CLOSED, by)

    def card(self, card: int) -> None:
        position, due = self.due, self.due_after(card)
        # Player and Banker take turns in `enums.POSITIONS`.
        hand = self.banker if (position - _PLAYER_1) % 2 else self.player
        hand.append(card)
        self.begun = True
        self.hidden = not self.revealed
        self.due = due
        if self.hidden:
            return
        if position == _BANKER_2 or position == _PLAYER_3:
            self._record_decisions(position, due)
        if due == NOT_DUE:
            self._record_result()

    def due_after(self, card: int) -> int:
        position = self.due
        if position < _BANKER_2:
            return position + 1
        if position == _BANKER_3:
            return NOT_DUE
        of_banker = rules.total_of(self.banker)
        third = card
        if position == _BANKER_2:
            of_player = rules.total_of(self.player)
            of_banker = rules.total_with(of_banker, card)
            if rules.is_natural(of_player) or rules.is_natural(of_banker):
                return NOT_DUE
            if rules.player_draws(self._game, of_player):
                return _PLAYER_3
            third = rules.NO_CARD
        return _BANKER_3 if rules.banker_draws(self._game, of_banker, third) else NOT_DUE

    def pressed(self, button: int) -> int:
        if button == _REVEAL and self.hidden and self.due == NOT_DUE:
            self.revealed = True
            self.hidden = False
            if self.open:
                self._record_all()
            self.phase = BETWEEN  # also after firmware 0.1.0, which had recorded all of it
        return 1 if button == _BURN and self.phase == BETWEEN else 0

    def burn_count(self, card: int) -> int:
        return rules.burn_count(self._game, card)

    def facing(self, position: int) -> int:
        # The first card of a round may stop play before the round is hidden.
        return FACE_DOWN if self.hidden or (self.open and not self.revealed) else FACE_UP

    def lines(self) -> "tuple[str, str, str, str]":
        title = "BETTING OPEN" if self.phase == BETTING else "NO MORE BETS"
        if self.hidden:
            return (title, "P", "B", "REVEAL IF TURNED")
        outcome = ""
        if self.winner >= 0 and self._game.announced:
            outcome = _WINNERS[self.winner]
            if self.hits & _DRAGON_7:
                outcome = "DRAGON 7"
            elif self.hits & _PANDA_8:
                outcome = "PANDA 8"
        return (title, self._hand("P", self.player), self._hand("B", self.banker), outcome)

    def lamps(self) -> int:
        return 1 << self.winner if self.winner >= 0 else 0

    def restored(self, phase: int) -> None:
        self.phase = phase
        self.open = phase != BETWEEN and self.winner < 0
        self.begun = len(self.player) > 0
        self.hidden = self.begun and not self.revealed
        if not self.open:
            self.due = NOT_DUE  # firmware 0.1.0 kept the position of the last card

    def _record_all(self) -> None:
        """Record what waited for the reveal: the key of the cards, the decisions, the result."""
        self._record(events.UNSEALED)
        banker_3 = _BANKER_3 if len(self.banker) > 2 else NOT_DUE
        if len(self.player) > 2:
            self._record_decisions(_BANKER_2, _PLAYER_3)
            self._record_decisions(_PLAYER_3, banker_3)
        else:
            self._record_decisions(_BANKER_2, banker_3)
        self._record_result()

    def _record_decisions(self, position: int, due: int) -> None:
        """Record the decisions that follow from the card at `position`, after which the position
        `due` was due: for each hand an action and the total of its two cards."""
        record, of_banker = self._record, rules.total_of(self.banker[:2])
        banker_acts = _DRAWS if due == _BANKER_3 else _STANDS
        if position == _BANKER_2:
            of_player = rules.total_of(self.player[:2])
            player_acts = _DRAWS if due == _PLAYER_3 else _STANDS
            if rules.is_natural(of_player):
                player_acts = _NATURAL
            if rules.is_natural(of_banker):
                banker_acts = _NATURAL
            record(events.DECISION, PLAYER, player_acts, of_player)
            if player_acts == _DRAWS:
                return
        record(events.DECISION, BANKER, banker_acts, of_banker)

    def _record_result(self) -> None:
        player, banker, game = self.player, self.banker, self._game
        of_player, of_banker = rules.total_of(player), rules.total_of(banker)
        self.winner = TIE
        if of_player != of_banker:
            self.winner = PLAYER if of_player > of_banker else BANKER
        self.hits = rules.hits_of(player, banker) & game.hits
        self.open = False
        self.phase = BETWEEN
        self._record(
            events.RESULT,
            self.winner,
            of_player,
            of_banker,
            rules.is_natural(rules.total_of(player[:2])),
            rules.is_natural(rules.total_of(banker[:2])),
            abs(of_player - of_banker),
            self.hits,
            game.sha256,
        )

    def _hand(self, letter: str, hand: "list[int]") -> str:
        if not hand:
            return letter
        names = " ".join([cards.name_of(card) for card in hand])
        if not self._game.announced:
            return letter + " " + names
        return "%s %-9s  %d" % (letter, names, rules.total_of(hand))
