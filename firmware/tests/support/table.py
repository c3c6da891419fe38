"""A shoe at a table, for the tests of the dealing: inputs and events as text, checked a second way.

"lid+ lid- AC" opens and closes the lid and draws the ace of clubs, "?jam" is a pass that failed,
"?full" a full journal. "card AC player_1" is the event of a card. With "!7H" the supervisor enters
a card from its face; "!again" and the like are other decisions. The supervisor reads the display
and presses what it says.
"""

from firmware.tests.support import documents
from sabot_firmware import panel
from sabot_firmware.table import dealing, input_log
from sabot_protocol import baccarat, cards, enums, events, games

SET = 4
BURNED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)
ROUND = ("player_1", "banker_1", "player_2", "banker_2", "player_3", "banker_3")

# Round 1 is dealt 4C 2D AC 2H (5 to 4), 2S to the Player, 3H to the Banker: 7 to 7.
DEALT = "lid+ lid- AC 2C"
CARDS = "4C 2D AC 2H 2S 3H"
# The situations: how to get there, and the position of the next card, None if no card is due.
SITUATIONS = {
    "no shoe": ("", None),
    "lid open to load": ("lid+", None),
    "first burn": ("lid+ lid-", "burn_first"),
    "burning": ("lid+ lid- 3C 5C", "burn"),
    "betting": (DEALT, "player_1"),
    "no more bets": (DEALT + " next", "player_1"),
    "one card": (DEALT + " 4C", "banker_1"),
    "two cards": (DEALT + " 4C 2D", "player_2"),
    "three cards": (DEALT + " next 4C 2D AC", "banker_2"),
    "four cards": (DEALT + " 4C 2D AC 2H", "player_3"),
    "five cards": (DEALT + " 4C 2D AC 2H 2S", "banker_3"),
    "between": (DEALT + " " + CARDS, None),
    "burn between": (DEALT + " " + CARDS + " burn", "burn"),
    "last round": (DEALT + " CUT 4C", "banker_1"),
    "ended": (DEALT + " CUT " + CARDS, None),
}
ROUND_OPEN = [name for name in SITUATIONS if SITUATIONS[name][1] in ROUND]
NOT_IN_PLAY = ("no shoe", "lid open to load", "ended")
IN_PLAY = [name for name in SITUATIONS if name not in NOT_IN_PLAY]
INPUTS = (
    "lid+", "lid-", "key+", "key-", "service+", "service-", "next", "reveal", "void", "burn",
    "9S", "TH", "CUT", "TEST", "?bad_code", "?double_feed", "?pushed_back", "?power", "?sensor",
    "?samples", "?full",
)  # fmt: skip
HANDS = enums.BUTTONS + (
    "key+", "key+", "key-", "lid-", "lid+", "next reveal", "next next next next burn burn reveal",
)  # fmt: skip
"""Random inputs while a card is pending, so that most pending cards get settled."""
FIGURES = (850, 930, 120, 1765)
CHOICES = {"as_read": "AS READ", "again": "DRAW AGAIN", "unseen": "UNSEEN", "CUT": "CUT CARD"}
NOTHING_CHOSEN = "CARD --"
_MOST_CHOICES = 20

_games = {}


def _game(cut_from_end, changed):
    key = cut_from_end, str(sorted(changed.items()))
    if key not in _games:
        document = dict(baccarat.MINI)
        document.update(changed)
        _games[key] = baccarat.Game(games.encode(document))
        _games[key].cut_from_end = cut_from_end
    return _games[key]


class Table:
    """A shoe at a table. Its lock, rounds and counts are checked after every input.

    The game is mini with the fields in `changed`. The cut card may be anywhere, unless
    `cut_from_end` says otherwise.
    """

    def __init__(self, inputs="", cut_from_end=416, **changed):
        self.shoe = dealing.Dealing(_game(cut_from_end, changed), SET, 7)
        self.released = False
        self.rounds = 0
        """Results seen so far."""
        self._drawn = None  # the cards of the open round, with their positions
        self._stands = False  # whether the last round has a result and is not void
        self._sealed = []  # cards under the seal of the present round, by number
        self._counts = None  # cards that came out of the shoe of cards in play, by number
        self.play(inputs)

    def play(self, inputs):
        """Give it the inputs one after another; return what it recorded."""
        lines = []
        for text in inputs.split():
            lines += self._step(text)
        return lines

    def already_out(self, name, copies):
        """Act as if this many copies of a card had come out of this shoe of cards before."""
        card = cards.number_of(name)
        for _ in range(copies):
            self.shoe.inventory.count(card)
        self._counts[card] += copies

    def snapshot(self):
        shoe = self.shoe
        return (
            shoe.phase, shoe.error, shoe.fault, shoe.lid_open, shoe.shoe, shoe.round, shoe.cards,
            shoe.rounds, shoe.rounds_left, shoe.burn_left, shoe.current_round.winner,
            shoe.current_round.player[:], shoe.current_round.banker[:], shoe.lock_released(),
            bytes(shoe.inventory.counts), shoe.inventory.unread, shoe.pending.position,
        )  # fmt: skip

    def display(self):
        """Return the lines of the display."""
        return panel.text_of(self.shoe, panel.HOST).split("\n")

    def lamps(self):
        """Return the names of the lit lamps, in alphabetical order."""
        lit = panel.lamps_of(self.shoe)
        assert 0 <= lit < 1 << len(enums.LAMPS)
        return " ".join(sorted([enums.LAMPS[n] for n in range(len(enums.LAMPS)) if lit >> n & 1]))

    def choices(self):
        """Return what the supervisor can choose with the key turned, as the display shows it."""
        shown = []
        for _ in range(_MOST_CHOICES):
            self._press("next")
            choice = self.display()[4]
            if choice in shown:
                assert choice == shown[0], "it goes round"
                return shown
            shown.append(choice)
        raise AssertionError("no end of choices: %s" % shown)

    def _press(self, button):
        lines = self._step(button)
        assert lines == ["button " + button], lines

    def _decide(self, what):
        """Choose as the supervisor, by the display; return what is recorded when it is accepted."""
        lines = [] if self.shoe.key_on else self._step("key+")
        if what == "void":
            return lines + self._step("void")
        shown = CHOICES.get(what, "CARD " + what)
        if what == "again" and enums.POSITIONS[self.shoe.pending.position] == "not_due":
            shown = "NOT COUNTED"
        for _ in range(_MOST_CHOICES):
            if self.display()[4][:6] == shown[:6]:
                break
            self._press("next")
        for _ in cards.SUITS:
            if self.display()[4] != shown:
                self._press("burn")
        assert self.display()[4] == shown, (what, self.display())
        return lines + self._step("reveal")

    def _step(self, text):
        shoe = self.shoe
        if text[-1] in "+-":
            switch = [word.split("_")[0] for word in enums.SWITCHES].index(text[:-1])
            actions = shoe.switched(switch, text[-1] == "+")
        elif text in enums.BUTTONS:
            actions = shoe.pressed(enums.BUTTONS.index(text))
        elif text[0] == "!":
            return self._decide(text[1:])
        elif text == "?sensor":
            actions = shoe.sensor_failed()
        elif text == "?samples":
            actions = shoe.samples_lost()
        elif text == "?full":
            actions = shoe.journal_full()
        elif text == "?power":
            actions = shoe.power_lost()
        elif text[0] == "?":
            actions = shoe.pass_failed(enums.FAULTS.index(text[1:]), FIGURES)
        else:
            card = cards.number_of(text)
            lock_after = shoe.lock_after(card)
            actions = shoe.card_passed(card, FIGURES)
            assert shoe.lock_released() == lock_after, "lock_after was wrong before " + text
        lines = [action_text(action) for action in actions]
        self._check_lock(text, lines)
        for i in range(len(lines)):
            self._check_round(lines[i])
            self._check_counts(lines[i], actions[i][3])
            ended = i > 0 and lines[i - 1].startswith("shoe_ended")
            assert ended == lines[i].startswith("composition"), lines
        return lines

    def _check_lock(self, text, lines):
        """Check after every input that the lock is as recorded, and open only if a card is due."""
        locks = [line for line in lines if line.startswith("lock")]
        released = self.shoe.lock_released()
        if released != self.released:
            assert locks == ["lock %d" % released] == lines[-1:], (text, lines)
        else:
            assert not locks, (text, lines)
        if released:
            assert not self.shoe.error and not self.shoe.lid_open, text
            assert enums.PHASES[self.shoe.phase] not in ("no_shoe", "between", "ended"), text
        due = [line for line in lines if is_card(line) and "not_due" not in line]
        resolved = [line for line in lines if line.startswith("resolved")]
        assert self.released or resolved or not due, (text, lines)
        assert resolved or "by_hand" not in " ".join(lines), (text, lines)
        self.released = released

    def _check_round(self, line):
        """Check that a round has one end, and a result that follows from its cards."""
        drawn = self._drawn
        if line == "betting_open":
            assert drawn is None, "a round within a round"
            self._drawn = []
            self._stands = False
        elif is_card(line) and line.split()[2] in ROUND:
            assert (line.split()[0] == "sealed_card") == self.shoe.game.face_down or self.shoe.ghost
            drawn.append(line.split()[1:3])
        elif line.startswith("result"):
            asked = [enums.HITS[n] for n in range(len(enums.HITS)) if self.shoe.game.hits >> n & 1]
            plan = plan_of([cards.number_of(name) for name, _ in drawn], asked)
            assert [position for _, position in drawn] == [position for position, _ in plan]
            assert line == plan[-1][1][-1], (drawn, line)
            self._drawn = None
            self._stands = True
            self.rounds += 1
        elif line == "round_void misdeal":
            assert self._stands and self.shoe.key_on, "no round to be a misdeal"
            self._stands = False
            self.rounds -= 1
        elif line.startswith("round_void"):
            assert drawn is not None, "void without a round"
            self._drawn = None
        elif line.startswith("shoe_loaded"):
            self._stands = False
        elif line.startswith("shoe_ended"):
            assert drawn is None, "the shoe ended within a round"

    def _check_counts(self, line, values):
        """Check that every card that was read is counted while a shoe of cards is in play, and no
        other."""
        if line.startswith("shoe_loaded"):
            self._counts = [0] * 52
        elif is_card(line) and self._counts is not None:
            self._counts[values[0]] += 1
            if line.startswith("sealed"):
                self._sealed.append(values[0])
        elif line == "seal":
            self._sealed = []
        elif line == "unsealed never":
            for card in self._sealed:
                self._counts[card] -= 1
        elif line.startswith("shoe_ended"):
            assert values[2] == sum(self._counts) + self.shoe.inventory.unread, line
        elif line.startswith("composition"):
            assert values[0] == bytes(self._counts), line
            assert values[2] == 52 * self.shoe.game.decks, line
            self._counts = None


def note_of(text):
    """Return an input of a table as a note."""
    if text[-1] in "+-":
        switch = [word.split("_")[0] for word in enums.SWITCHES].index(text[:-1])
        return [input_log.SWITCHED, switch, text[-1] == "+"]
    if text in enums.BUTTONS:
        return [input_log.PRESSED, enums.BUTTONS.index(text)]
    special = {
        "?sensor": input_log.SENSOR_FAILED,
        "?samples": input_log.SAMPLES_LOST,
        "?power": input_log.POWER_LOST,
        "?full": input_log.JOURNAL_FULL,
    }
    if text in special:
        return [special[text]]
    if text[0] == "?":
        return [input_log.FAULT, enums.FAULTS.index(text[1:])] + list(FIGURES)
    return [input_log.CARD, cards.number_of(text)] + list(FIGURES)


def is_card(line):
    return line.startswith(("card ", "sealed_card "))


def action_text(action):
    """Return an action of the dealing as text; check its values by its shape.

    What is sealed is sealed only when it is recorded, so "sealed_card AC player_1" has its card.
    """
    shape, _, _, values = action
    if shape is events.SEAL:
        assert values in ((), (True,))
        return "seal"
    if shape in (events.SEAT_SEAL, events.SEAT_UNSEALED):
        return "%s %d" % (shape.name, values[0])
    if shape is events.UNSEALED:
        assert values in ((), (b"",))
        return "unsealed never" if values else "unsealed"
    if shape is events.SEALED_CARD:
        return "sealed_" + action_text((events.CARD, 0, 0, values))
    shape.check(list(values))
    parts = [shape.name]
    for i in range(len(values)):
        value = values[i]
        field, kind = shape.fields[i]
        if field in ("speed_mm_s", "margin_permille", "skew_um", "samples", "counts"):
            continue
        if kind == "bytes":  # SHA-256 of the game
            continue
        if field == "hits":
            parts += [enums.HITS[n] for n in range(len(enums.HITS)) if value >> n & 1]
            continue
        if field == "by_hand":
            if value:
                parts.append(field)
            continue
        kind = kind.rstrip("?")
        if kind in enums.ENUMERATIONS:
            value = enums.ENUMERATIONS[kind][value]
        elif kind == "card" and value is not None:
            value = cards.name_of(value)
        elif kind == "flag":
            value = 1 if value else 0
        parts.append(str(value))
    return " ".join(parts)


def plan_of(pile, asked=()):
    """Return the round that these cards make: for each card drawn its position and what follows it.
    `asked` are the hits that the game's wagers depend on."""
    value = [documents.VALUES[card % 13] for card in pile]
    player, banker = (value[0] + value[2]) % 10, (value[1] + value[3]) % 10
    naturals = int(player > 7), int(banker > 7)
    after = [[], [], [], []]
    third = None
    say = "decision %s %s %d"
    if sum(naturals):
        after[3].append(say % ("player", ("stands", "natural")[naturals[0]], player))
        after[3].append(say % ("banker", ("stands", "natural")[naturals[1]], banker))
    else:
        after[3].append(say % ("player", "draws" if player < 6 else "stands", player))
        positions = list(ROUND[:4])
        if player < 6:
            third = value[4]
            player = (player + third) % 10
            positions.append("player_3")
            after.append([])
        draws = documents.banker_draws(banker, third)
        after[-1].append(say % ("banker", "draws" if draws else "stands", banker))
        if draws:
            banker = (banker + value[len(positions)]) % 10
            positions.append("banker_3")
            after.append([])
    winner = "tie" if player == banker else "player" if player > banker else "banker"
    positions = ROUND[:4] if sum(naturals) else positions
    result = (winner, player, banker, naturals[0], naturals[1], abs(player - banker))
    hands = [], []
    for i in range(len(positions)):
        hands[positions[i][0] == "b"].append(pile[i] % 13)
    hits = [name for name in enums.HITS if name in asked and documents.HITS[name](*hands)]
    after[-1].append(" ".join(["result %s %d %d %d %d %d" % result] + hits))
    return [(positions[i], after[i]) for i in range(len(positions))]
