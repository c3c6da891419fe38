"""A shoe that deals hold'em, for tests: inputs and events as text, with its journal.

The inputs are those of support/table.py. After each one the lock must be as `lock_after` said.
"""

from firmware.tests.support.table import SET, action_text, note_of
from sabot_firmware import panel
from sabot_firmware.journal.recovery import Recovery, keep_state
from sabot_firmware.journal.ring import MOST_STATE, NOTE
from sabot_firmware.table import dealing, input_log
from sabot_protocol import cards, cbor, enums, events, games, holdem

LOADED = "lid+ lid-"
_STEPS = 30


def game(**changed):
    """Return a game of hold'em; `changed` are fields of its document."""
    document = dict(holdem.HOLDEM)
    document.update(changed)
    return games.game_of(games.encode(document))


class HandShoe:
    """A shoe with one deck for each hand."""

    game_of = staticmethod(game)

    def __init__(self, text="", **changed):
        self.game = self.game_of(**changed)
        self.dealing = dealing.Dealing(self.game, SET, 7)
        self.entries = []
        keep_state(self, 1, self.dealing, bytearray(MOST_STATE))
        self.play(text)

    @property
    def hand(self):
        return self.dealing.current_round

    def play(self, text):
        """Give it the inputs; return what it recorded, without the lock."""
        recorded = []
        for each in text.split():
            recorded += self.step(note_of(each))
        return recorded

    def step(self, note):
        """Give it one input as a note."""
        expected = None
        if note[0] == input_log.CARD:
            expected = self.dealing.lock_after(note[1])
        lines = self._input(note)
        assert expected is None or self.dealing.card_due() == expected, note
        return [line for line in lines if line[:5] != "lock "]

    def due(self):
        """Return the position of the card that may come out now; empty if none may."""
        return enums.POSITIONS[self.hand.due] if self.dealing.card_due() else ""

    def display(self):
        return panel.text_of(self.dealing, panel.HOST).split("\n")

    def decide(self, wanted):
        """As the supervisor, choose what the display shows as `wanted`, and accept it."""
        recorded = self.play("key+")
        self._until("next", wanted[:6])
        self._until("burn", wanted)
        return recorded + self.play("reveal key-")

    def _until(self, button, wanted):
        for _ in range(_STEPS):
            if self.display()[4].startswith(wanted):
                return
            self.play(button)
        raise AssertionError("never %s: %s" % (wanted, self.display()))

    def choices(self):
        """Return the supervisor's choices, besides a card from its face, without taking one."""
        self.play("key+ next")
        seen = []
        while self.display()[4] not in seen:
            seen.append(self.display()[4])
            self.play("next")
        self.play("key-")
        named = [choice[:5] == "CARD " or choice == "CUT CARD" for choice in seen]
        return [seen[i] for i in range(len(seen)) if not named[i]] + ["FACE"] * any(named)

    def _input(self, note):
        buf = bytearray(64)
        self.put(NOTE, buf, cbor.encode_array(buf, 0, note, len(note)))
        return [text_of(action) for action in input_log.carry_out(self.dealing, note)]

    # The journal, as far as `keep_state` and the recovery use one.

    def put(self, kind, payload, size):
        self.entries.append((kind, bytes(payload[:size])))

    def acknowledged(self):
        return 0

    def each_since_state(self, visit):
        for kind, payload in self.entries:
            visit(kind, memoryview(payload))

    def keep(self):
        """Keep the state: notes from before are not needed any more."""
        self.entries = []
        keep_state(self, 1, self.dealing, bytearray(MOST_STATE))

    def resumed(self):
        """Return the dealing after a loss of power."""
        after = dealing.Dealing(self.game, SET, 0)
        Recovery(self, after)
        return after


def text_of(action):
    """Return an action as text: `hand_ended SEATS BOARD SECOND`, others as in support/table.py."""
    shape, _, _, values = action
    if shape is events.HAND_ENDED:
        shape.check(list(values))
        boards = ["".join([cards.name_of(card) for card in board]) or "-" for board in values[1:3]]
        return "hand_ended %d %s %s" % (values[0], boards[0], boards[1])
    return action_text(action)
