"""A hand of hold'em as another dealer has it: all steps written down before the first card.

Written from the order of play (two cards to each seat, one at a time; a burn and three, a burn and
one, a burn and one, with betting before each) and from Maryland, Poker, chapter 8 L; not from the
class of the firmware. A button strikes out steps or adds some.
"""

_BOARD = (("flop", 3), ("turn", 1), ("river", 1))


class HandPlan:
    """The steps of a hand to `seats` players, and what the shoe must record of each."""

    def __init__(self, seats, may_run_twice=True, hole_cards="all"):
        self.seats = seats
        self.hole_cards = hole_cards
        self.marking = 0
        """The seat that the dealer marks; 0 before."""
        self.shown = []
        """The seats that are marked as shown."""
        self._sealed = []  # the seats with a key so far; 0 of the burned cards
        self.steps = ["seat_%d" % seat for seat in range(1, seats + 1)] * 2
        self.steps.append("bets preflop")
        for street, count in _BOARD:
            self.steps += ["board_burn"] + [street] * count + ["bets " + street]
        self.steps.append("showdown")
        self.asked = False
        self.ended = False
        self.dealt = []
        """The cards so far: (position, name)."""
        self.from_street = ""
        """The first street that is dealt twice."""
        self._may_run_twice = may_run_twice

    def due(self):
        """Return the position of the next card; empty if none is due."""
        step = self.steps[0]
        waits = self.asked or self.ended or self.marking or " " in step or step == "showdown"
        return "" if waits else step

    def card(self, name):
        """Deal a card; return what must be recorded."""
        position = self.due()
        assert position
        self.steps.pop(0)
        self.dealt.append((position, name))
        lies_down = position[:5] == "seat_" or position == "board_burn"
        recorded = ["%scard %s %s" % ("sealed_" * lies_down, name, position)]
        seat = int(position[5:]) if position[:5] == "seat_" else 0
        if lies_down and self.hole_cards != "all" and seat not in self._sealed:
            self._sealed.append(seat)
            recorded = ["seat_seal %d" % seat] + recorded
        return recorded

    def press(self, button):
        """Press a button of the dealer; return what must be recorded after `button ...`."""
        step = self.steps[0]
        if self.marking:
            if button == "reveal":
                return self._end()
            if button == "burn":
                self.marking = self.marking % self.seats + 1
            elif self.marking in self.shown:
                self.shown.remove(self.marking)
            else:
                self.shown.append(self.marking)
            return []
        if self.asked:
            self.asked = False
            return self._twice() if button == "next" else []
        if button == "burn":
            flop_is_out = [position for position, _ in self.dealt].count("flop") == 3
            river_is_in = "river" in self.steps
            self.asked = (
                self._may_run_twice and flop_is_out and river_is_in and not self.from_street
            )
            return []
        if button == "next" and step[:5] == "bets ":
            self.steps.pop(0)
            return ["betting_ended " + step[5:]]
        # All but one may have folded before the dealer has ended the round of betting or after it.
        over = not self.due() or (step == "board_burn" and not self.from_street)
        if button == "reveal" and over:
            if self.hole_cards == "shown":
                self.marking = 1
                return []
            return self._end()
        return []

    def _end(self):
        self.ended = True
        boards = ["".join(board) or "-" for board in self.boards()]
        opened = ["unsealed"]
        if self.hole_cards != "all":
            opened = ["seat_unsealed %d" % seat for seat in sorted(self.shown)]
            opened += ["unsealed never"]
        return opened + ["hand_ended %d %s %s" % (self.seats, boards[0], boards[1])]

    def closed(self):
        """Return the names of the cards that are never to be known once the hand has ended."""
        if self.hole_cards == "all":
            return []
        return [
            name
            for position, name in self.dealt
            if position == "board_burn"
            or (position[:5] == "seat_" and int(position[5:]) not in self.shown)
        ]

    def boards(self):
        """Return both boards; the second is empty if the hand was not run twice."""
        board = [(place, name) for place, name in self.dealt if place in ("flop", "turn", "river")]
        first = [name for _, name in board[:5]]
        if not self.from_street:
            return first, []
        common = first[: {"turn": 3, "river": 4}[self.from_street]]
        return first, common + [name for _, name in board[5:]]

    def _twice(self):
        recorded = []
        if self.steps[0][:5] == "bets ":
            recorded = ["betting_ended " + self.steps[0][5:]]
        self.from_street = "turn" if "turn" in self.steps else "river"
        first = [step for step in self.steps if " " not in step and step != "showdown"]
        again = ["board_burn", "turn"] if self.from_street == "turn" else []
        self.steps = first + again + ["board_burn", "river", "showdown"]
        return recorded + ["run_twice " + self.from_street]
