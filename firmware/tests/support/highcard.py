"""A second family of games, made up for the tests of the seam in rounds.pyi: high card.

Between rounds `burn` steps the number of seats, 2 to 4. `next` closes betting. The first seat gets
a card, one card is burned, each other seat gets a card, all face down. Then the shoe waits for
`reveal`, which ends the round: the highest rank wins, the first of equal ones.

Its cards and its result are recorded with the positions and events of baccarat: seats 1 to 4 are
player_1, banker_1, player_2, banker_2.
"""

from sabot_firmware.table.pending import BURNED, FACE_DOWN, FACE_UP, NONE
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING, NOT_DUE
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import cards, enums, events, games

_REVEAL = enums.BUTTONS.index("reveal")
_BURN_BUTTON = enums.BUTTONS.index("burn")
_BY_BUTTON = enums.CLOSED_BY.index("button")
_BURN = enums.POSITIONS.index("burn")
_SEATS = [enums.POSITIONS.index(name) for name in ("player_1", "banker_1", "player_2", "banker_2")]
_WAITING = -1


class HighCardRound:
    """See `sabot_firmware.table.rounds.FamilyRound`."""

    KEPT = ("hand", "seats", "burned", "winner", "begun", "hidden")
    card_first = False
    seals = False
    ends_shoe = False

    def __init__(self, game, record):
        self.seats = 2
        self._game = game
        self._record = record
        self.clear()

    def begin(self):
        self.clear()
        self.open = True
        self.phase = BETTING
        self._record(events.BETTING_OPEN)

    def clear(self):
        self.due = NOT_DUE
        self.open = self.begun = self.hidden = False
        self.phase = BETWEEN
        self.hand = []
        self.burned = 0
        self.winner = _WAITING

    def close_betting(self, by):
        assert by == _BY_BUTTON, "no card is due before betting is closed"
        self.phase = DEALING
        self._record(events.BETTING_CLOSED, by)
        self.due = self._due()

    def card(self, card):
        self.begun = self.hidden = True
        if self.due == _BURN:
            self.burned += 1
        else:
            assert card != NONE
            self.hand.append(card)
        self.due = self._due()

    def due_after(self, card):
        if self.due == _BURN:
            return _SEATS[1]
        if not self.hand:
            return _BURN
        return _SEATS[len(self.hand) + 1] if len(self.hand) + 1 < self.seats else NOT_DUE

    def pressed(self, button):
        if button == _REVEAL and self.open and len(self.hand) == self.seats:
            ranks = [cards.rank_of(card) for card in self.hand]
            self.winner = ranks.index(max(ranks))
            self.open = self.hidden = False
            self.phase = BETWEEN
            result = (self.winner % 2, max(ranks) % 10, min(ranks) % 10, False, False, 0, 0)
            self._record(events.RESULT, *(result + (self._game.sha256,)))
        elif button == _BURN_BUTTON and self.phase == BETWEEN:
            self.seats = 2 if self.seats == 4 else self.seats + 1
        return 0

    def burn_count(self, card):
        return 1

    def facing(self, position):
        if position == _BURN:
            return BURNED
        return FACE_DOWN if self.open else FACE_UP

    def lines(self):
        title = "BETS ON %d SEATS" % self.seats if self.phase == BETTING else "HIGH CARD"
        seats = "%d SEATS" % self.seats
        if self.open:
            waits = len(self.hand) == self.seats
            return (title, "", seats, "REVEAL ENDS" if waits else "")
        names = " ".join([cards.name_of(card) for card in self.hand])
        return (title, names, seats, "SEAT %d WINS" % (self.winner + 1) if names else "")

    def lamps(self):
        return 0

    def restored(self, phase):
        self.phase = phase
        self.open = phase != BETWEEN
        self.due = self._due() if phase == DEALING else NOT_DUE

    def _due(self):
        if len(self.hand) == 1 and not self.burned:
            return _BURN
        return _SEATS[len(self.hand)] if len(self.hand) < self.seats else NOT_DUE


def game(**changed):
    """Return a game of this family; `changed` are fields of its game document."""
    document = dict(baccarat_game.MINI)
    document.update(name="high card", decks=1, burn="one", cut_from_end=52)
    document.update(changed)
    made = baccarat_game.Game(games.encode(document))
    made.family = "high card"
    return made
