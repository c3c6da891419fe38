"""Checks the play of one unit: each shoe of cards against its decks, each round by its cards.

It works on the values of records (audit/checks/decoding.py), in the order of their numbers. A class
of the game's family checks the rounds (`RoundChecks`); the checks of the shoe of cards do not
depend on hands. The firmware divides the two in the same way, but no code is shared with it or with
log/rounds.py.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Protocol

from sabot.audit.checks.decoding import Values
from sabot.audit.play.baccarat import BaccaratChecks
from sabot.audit.play.known_games import KnownGames
from sabot.text import card_symbol, counted
from sabot_protocol import cards, enums, events
from sabot_protocol.games import FIRST_CARD, FamilyGame, Game

ReportFinding = Callable[[int, str, str], None]
"""Takes a finding: event number, kind, detail."""

_NUMBER, _UNIX, _SHOE, _ROUND, _OWN = 1, 4, 5, 6, 7
"""Indexes in a record's values; its own fields begin at the last."""

_NAMES = [cards.name_of(card) for card in range(cards.CARD_COUNT)]
_SYMBOLS = [card_symbol(name) for name in _NAMES]
_BURN_FIRST, _BURN, _NOT_DUE = map(enums.POSITIONS.index, ("burn_first", "burn", "not_due"))
_ENTERED, _DRAWN_AGAIN, _UNSEEN = map(enums.RESOLUTIONS.index, ("entered", "drawn_again", "unseen"))
_NO_FAULT = enums.FAULTS.index("none")
_BY_CARD = enums.CLOSED_BY.index("card")
_MISDEAL = enums.VOID_REASONS.index("misdeal")
_UNREADABLE = enums.ERRORS.index("unreadable")

# How many cards came out with a fault; one card for all others.
_CAME_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
_CAME_OUT_WITH = [_CAME_OUT.get(fault, 1) for fault in enums.FAULTS]
# Faults after which a card that is drawn again had not come out.
_STAYED_IN = [
    fault in ("double_feed", "jam", "sensor_fault", "power_lost") for fault in enums.FAULTS
]

_NO_CARD = -1

_SHA_DIGITS = 16  # how many digits of a game's hash are shown
_MAX_DIFFERENCES = 3  # how many differences of a composition are shown

_AFTER_THE_END = ("composition", "boot", "gap")
_PLAY = "_play"
_NOT_STATE = ("rounds", "timeless", "dealt_by", "handlers", "_report", "_games", _PLAY)
"""Attributes of PlayChecks that do not change how the next events are judged."""
_MAY_FOLLOW = [shape.number for shape in events.KINDS if shape.name in _AFTER_THE_END]


class RoundChecks(Protocol):
    """The checks of one round, as a family of games implements them."""

    def begin(self) -> None:
        """Begin a new round: betting is open."""

    def takes(self, position: int) -> bool:
        """Whether a card drawn as `position`, index in `enums.POSITIONS`, belongs to a round."""
        ...

    def card(self, card: int, position: int, *, in_round: bool) -> None:
        """Take card 0-53 at a position of the round. `in_round` is true if the round is open."""

    def decision(self, values: Values) -> None:
        """Take the values of an event `decision`."""

    def wrong_with(self, result: list[Any], reported: int | None = None) -> Iterator[str]:
        """Yield what is wrong with the round by its cards. `result` are the fields of its event
        `result` without the game's SHA-256. `reported` has a bit for each hit that the game
        reports; None if that is not known."""
        ...

    def burn_counts(self, card: str) -> range:
        """How many cards may be burned if `card` was the first of the shoe."""
        ...


class PlayChecks:
    """Takes the events about the dealing, through `handlers`, and reports findings.

    `play` checks the rounds. Baccarat is the only family so far; no event names a family. With
    `games` a shoe of cards is also held to the document of its game.
    """

    def __init__(
        self,
        report: ReportFinding,
        play: RoundChecks | None = None,
        games: KnownGames | None = None,
    ) -> None:
        self.rounds = 0
        """Rounds that ended, including void ones."""
        self.timeless = 0
        """Rounds that ended with a result but without a time of day."""
        self.not_composed = False
        """Whether a shoe of cards has ended and its composition is still due: see `end_of`."""
        self.dealt_by: dict[bytes, int] = {}
        """The number of the first result of each game, by the SHA-256 of its document."""
        self.handlers: list[Callable[[Values], None] | None] = [None] * 256
        """By the number of an event's kind; None for kinds that do not matter here."""
        self._report = report
        self._games = games
        self._whole = False  # whether no event of this shoe of cards is missing so far
        self._game: bytes | None = None  # SHA-256 of the game in the shoe, if known
        self._open: tuple[int, int] | None = None  # shoe and number of the open round
        self._decided: tuple[int, int] | None = None  # the last round, while it has its result
        self._follows = False  # whether no event is missing since a shoe of cards was loaded
        self._key_on: bool | None = None  # None: not known
        self._ghost_events: list[int] = []  # of this shoe of cards
        self._ghost_round: tuple[int, int] | None = None  # of the last ghost hand
        self._betting = False  # whether the betting of that round is open
        self._closed_by_card: int | None = None  # the event, if a card closed it
        self._passed: int | None = None  # the last pass: its card, or _NO_CARD; None: not known
        self._play = play or BaccaratChecks()
        self._play.begin()
        self._new_shoe(0)
        for shape, handler in (
            (events.BOOT, self._boot),
            (events.KEY, self._key),
            (events.SHOE_LOADED, self._shoe_loaded),
            (events.BURN, self._burn),
            (events.BETTING_OPEN, self._betting_open),
            (events.BETTING_CLOSED, self._betting_closed),
            (events.GHOST_HAND, self._ghost_hand),
            (events.CARD, self._card),
            (events.UNREADABLE, self._unreadable),
            (events.DECISION, self._play.decision),
            (events.RESULT, self._result),
            (events.ROUND_VOID, self._round_void),
            (events.CUT_CARD, self._cut_card),
            (events.SHOE_ENDED, self._shoe_ended),
            (events.GAME_LOADED, self._game_loaded),
            (events.RESOLVED, self._resolved),
            (events.COMPOSITION, self._composition),
            (events.ERROR, self._error),
            (events.LONG_PASS, self._long_pass),
        ):
            self.handlers[shape.number] = handler

    def state(self) -> dict[str, Any]:
        """What the next events are judged by, as a copy: all but what is counted."""
        own = {name: value for name, value in vars(self).items() if name not in _NOT_STATE}
        return deepcopy({**own, _PLAY: vars(self._play)})

    def clear_counts(self) -> None:
        """Count from here on."""
        self.rounds = self.timeless = 0
        self.dealt_by.clear()

    def count(self, rounds: int, timeless: int, dealt_by: Mapping[bytes, int]) -> None:
        """Add what was counted in events that come after those so far."""
        self.rounds += rounds
        self.timeless += timeless
        for game, number in dealt_by.items():
            self.dealt_by.setdefault(game, number)

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state`."""
        own = deepcopy(dict(state))
        vars(self._play).update(own.pop(_PLAY))
        vars(self).update(own)

    def not_judged(self, number: int) -> None:
        """Note that events are missing before event `number`: this shoe of cards and an open round
        cannot be judged."""
        self._whole = self.not_composed = self._follows = False
        self._game = self._passed = self._key_on = self._decided = None
        self._never_ended(number)

    def end_of(self, values: Values) -> None:
        """Take the event after the end of a shoe of cards, before its handler."""
        if values[0] not in _MAY_FOLLOW:
            self._report(
                values[_NUMBER], "cards", "the shoe of cards ended without its composition"
            )
            self._whole = self.not_composed = False

    def _new_shoe(self, decks: int) -> None:
        self._decks = decks
        self._drawn = [0] * cards.CARD_COUNT
        self._loaded_game = ""
        self._first_burned: str | None = None
        self._unread = 0
        self._results = 0
        self._ghost_events = []
        self._round = 0
        self._burn_counts = range(1, 2)  # for a first card that is burned face down
        self._burn_due: int | None = None
        self._burn_stated: int | None = None
        self._burned = 0
        self._entered = False  # whether a card was entered by hand and is not dealt yet
        self._ended = self.not_composed = False

    def _never_ended(self, number: int) -> None:
        if self._open is not None:
            shoe, round_ = self._open
            self._report(number, "incomplete", f"round {round_} of shoe {shoe} has no result")
            self._open = None

    def _boot(self, values: Values) -> None:
        self._passed = _NO_CARD
        if self._ended or not self._whole:
            self._game = None  # an update may have brought another game

    def _key(self, values: Values) -> None:
        self._key_on = values[_OWN]

    def _game_loaded(self, values: Values) -> None:
        if self._whole and not self._ended:
            self._report(values[_NUMBER], "game", "loaded while cards were in play")
        self._game = values[_OWN + 1]

    def _shoe_loaded(self, values: Values) -> None:
        self._never_ended(values[_NUMBER])
        self._play.begin()
        self._new_shoe(values[_OWN])
        self._loaded_game = values[_OWN + 1]
        self._whole = self._follows = True
        self._decided = None

    def _betting_open(self, values: Values) -> None:
        number, round_ = values[_NUMBER], values[_ROUND]
        self._never_ended(number)
        if self._whole and self._burn_due not in (None, self._burned):
            self._report(
                number, "rules", f"{counted(self._burned, 'card')} burned, {self._burn_due} due"
            )
        self._burn_due = None
        self._play.begin()
        self._round += 1
        if self._whole and round_ != self._round:
            self._report(number, "rules", f"round {round_} follows round {self._round - 1}")
        self._round = round_
        self._open, self._decided = (values[_SHOE], round_), None
        self._betting, self._closed_by_card = True, None

    def _ghost_hand(self, values: Values) -> None:
        number, count = values[_NUMBER], values[_OWN]
        place = (values[_SHOE], values[_ROUND])
        if not self._whole:
            return
        self._ghost_events.append(number)
        where = f"shoe {place[0]} round {place[1]}: "
        if self._open != place or not self._betting:
            self._report(number, "rules", where + "a ghost hand, but its betting is not open")
        elif self._ghost_round == place:
            self._report(number, "rules", where + "marked twice as a ghost hand")
        if count != len(self._ghost_events):
            known = len(self._ghost_events)
            detail = f"{where}ghost hand {count}, the log has {known} in this shoe of cards"
            self._report(number, "rules", detail)
        self._ghost_round = place

    def _ghosts_allowed(self, document: FamilyGame) -> None:
        """Report the ghost hands of this shoe of cards that its game does not allow."""
        allowed = document.house.get("ghost_hands", 0)
        if not isinstance(allowed, int):
            allowed = 0
        for number in self._ghost_events[allowed:]:
            detail = f"a ghost hand too many: {document.name} allows {allowed} in a shoe of cards"
            self._report(number, "game", detail)
        self._ghost_events = self._ghost_events[:allowed]

    def _betting_closed(self, values: Values) -> None:
        self._betting = False
        self._closed_by_card = values[_NUMBER] if values[_OWN] == _BY_CARD else None

    def _check_closing(self) -> None:
        """Report that a card closed the betting of the round that ends, if its game forbids it."""
        number, known = self._closed_by_card, None
        if number is not None and self._games is not None and self._game is not None:
            known = self._games.game(self._game)
        if number is not None and known is not None and known.betting_closed_by != FIRST_CARD:
            detail = f"a card closed the betting of round {self._round}, which only the dealer may"
            self._report(number, "game", detail)

    def _of_open_round(self, values: Values) -> bool:
        """Whether a round is open and this event belongs to it."""
        if self._open is None:
            return False
        if self._open != (values[_SHOE], values[_ROUND]):
            self._never_ended(values[_NUMBER])
            return False
        return True

    def _card(self, values: Values) -> None:
        card, position, by_hand = values[_OWN], values[_OWN + 1], values[-1]
        self._passed = _NO_CARD if by_hand else card
        if by_hand or position != _NOT_DUE:  # one that was not due may come before the entered one
            if by_hand != self._entered and self._whole:
                mark = "entered by hand, but none was" if by_hand else "read, but one was entered"
                detail = f"{_SYMBOLS[card]} is marked as {mark}"
                self._report(values[_NUMBER], "rules", detail)
            self._entered = False
        drawn = self._drawn[card] = self._drawn[card] + 1
        if drawn > self._decks or card >= cards.DECK_SIZE:
            self._too_many(values[_NUMBER], card, position)
        if self._play.takes(position):
            in_round = self._of_open_round(values)
            if in_round and self._betting and self._whole:
                detail = (
                    f"{_SYMBOLS[card]} was dealt while the betting of round {self._round} was open"
                )
                self._report(values[_NUMBER], "rules", detail)
                self._betting = False
            self._play.card(card, position, in_round=in_round)
        elif position == _BURN:
            self._burned += 1
        elif position == _BURN_FIRST and card < cards.DECK_SIZE:
            self._first_burned = _NAMES[card]
            self._burn_counts = self._play.burn_counts(self._first_burned)

    def _too_many(self, number: int, card: int, position: int) -> None:
        name = _NAMES[card]
        if card >= cards.DECK_SIZE:
            detail = f"{name}, which is not a playing card, drawn as {enums.POSITIONS[position]}"
            self._report(number, "cards", detail)
        elif self._whole:
            copies = f"copy {self._drawn[card]} of {name}"
            self._report(number, "cards", f"{copies} in a shoe of {counted(self._decks, 'deck')}")

    def _cut_card(self, values: Values) -> None:
        self._entered = False
        self._passed = cards.CUT_CARD

    def _error(self, values: Values) -> None:
        card = values[_OWN + 1]
        if card is not None:  # one that was read, and has no event `card` yet or never gets one
            self._passed = card

    def _long_pass(self, values: Values) -> None:
        card = values[_OWN]
        if card is not None and self._passed not in (None, card):
            before = "no card" if self._passed == _NO_CARD else _SYMBOLS[self._passed]
            detail = f"a long pass of {_SYMBOLS[card]}, but {before} passed before it"
            self._report(values[_NUMBER], "cards", detail)
        self._passed = _NO_CARD

    def _unreadable(self, values: Values) -> None:
        self._passed = _NO_CARD
        self._unread += _CAME_OUT_WITH[values[_OWN]]

    def _resolved(self, values: Values) -> None:
        error, fault, position, resolution = values[_OWN:]
        if self._whole and self._entered and error == _UNREADABLE:
            detail = "a card was entered by hand before, and it was not dealt"
            self._report(values[_NUMBER], "rules", detail)
        if resolution == _ENTERED:
            self._entered = True
            self._unread -= fault != _NO_FAULT and _CAME_OUT_WITH[fault] > 0
        elif resolution == _DRAWN_AGAIN:
            self._unread -= _STAYED_IN[fault]
        elif resolution == _UNSEEN:
            self._burned += position == _BURN

    def _burn(self, values: Values) -> None:
        """Take the number of cards to burn: one if the first card is burned face down."""
        count = self._burn_due = self._burn_stated = values[_OWN]
        if self._whole and count not in self._burn_counts:
            self._burn_due = self._burn_counts[0]
            due = " or ".join(map(str, self._burn_counts))
            self._report(
                values[_NUMBER],
                "rules",
                f"{counted(count, 'card')} to burn, {due} by the first card",
            )

    def _round_void(self, values: Values) -> None:
        place, reason = (values[_SHOE], values[_ROUND]), values[_OWN]
        wrong = None
        if self._of_open_round(values):
            self._check_closing()
            self._open = None
            self.rounds += 1
            if reason == _MISDEAL:
                wrong = "a misdeal, but it has no result"
        elif place == self._decided:
            self._decided = None
            self._results -= 1
            if reason != _MISDEAL:
                by = enums.VOID_REASONS[reason]
                wrong = f"void ({by}) after its result, which only a misdeal can be"
            elif self._key_on is False:
                wrong = "a misdeal without the supervisor's key"
        elif self._follows:
            wrong = "void, but it is not the last round with a result"
        if wrong is not None:
            where = f"shoe {place[0]} round {place[1]}: "
            self._report(values[_NUMBER], "rules", where + wrong)

    def _result(self, values: Values) -> None:
        *result, game = values[_OWN:]
        if game != self._game:
            if self._game is not None:
                dealt, known = (sha.hex()[:_SHA_DIGITS] for sha in (game, self._game))
                detail = f"{dealt} was dealt, {known} is in the shoe"
                self._report(values[_NUMBER], "game", detail)
            self._game = game
        self.dealt_by.setdefault(game, values[_NUMBER])
        document = None if self._games is None else self._games.game(game)
        if document is not None and self._whole and not self._results:
            for detail in self._unlike(document):
                self._report(values[_NUMBER], "game", detail)
        if document is not None and self._whole:
            self._ghosts_allowed(document)
        self._results += 1
        if not self._of_open_round(values):
            return
        self._check_closing()
        self._open, self._decided = None, (values[_SHOE], values[_ROUND])
        self.rounds += 1
        self.timeless += values[_UNIX] is None
        where = f"shoe {values[_SHOE]} round {values[_ROUND]}: "
        reported = document.hits if isinstance(document, Game) else None
        for detail in self._play.wrong_with(result, reported):
            self._report(values[_NUMBER], "rules", where + detail)

    def _unlike(self, document: FamilyGame) -> Iterator[str]:
        """Yield what of this shoe of cards contradicts the document of its game."""
        if self._decks != document.decks:
            yield f"{counted(self._decks, 'deck')} loaded, the game has {document.decks}"
        if self._loaded_game != document.name:
            yield f"{self._loaded_game} was loaded, {document.name} was dealt"
        if self._first_burned is not None and self._first_burned[0] == "A":
            if self._burn_stated != document.burn_ace:
                burned = counted(self._burn_stated or 0, "card")
                yield f"{burned} burned for an ace, the game {document.burn_ace}"

    def _shoe_ended(self, values: Values) -> None:
        _, rounds, count = values[_OWN:]
        number = values[_NUMBER]
        if self._open is not None:  # firmware before 0.2 ended a round this way after a restart
            self._open = None
            self.rounds += 1
        drawn = sum(self._drawn) + self._unread
        if self._whole and rounds is not None and rounds != self._results:
            detail = f"shoe ended after {counted(rounds, 'round')}, the log has {self._results}"
            self._report(number, "rules", detail)
        if self._whole and count is not None and count != drawn:
            detail = f"shoe ended after {counted(count, 'card')}, the log has {drawn}"
            self._report(number, "rules", detail)
        self._ended = True
        self.not_composed = self._whole

    def _composition(self, values: Values) -> None:
        counts, unread, expected = values[_OWN:]
        if self._whole:
            self._compared(values[_NUMBER], counts, unread, expected)
        self._whole = self.not_composed = False  # later cards belong to no shoe of cards

    def _compared(self, number: int, counts: bytes, unread: int, expected: int) -> None:
        if not self._ended:
            self._report(number, "cards", "the composition of a shoe of cards that has not ended")
            return
        differing = [
            f"{stated} of {_SYMBOLS[card]}, {right} in the log"
            for card, (stated, right) in enumerate(
                zip(counts, self._drawn[: cards.DECK_SIZE], strict=False)
            )
            if stated != right
        ]
        if len(counts) != cards.DECK_SIZE:
            differing.append(f"{len(counts)} kinds of card")
        if unread != self._unread:
            differing.append(f"{unread} unread, {self._unread} in the log")
        if expected != self._decks * cards.DECK_SIZE:
            differing.append(f"{counted(expected, 'card')} in {counted(self._decks, 'deck')}")
        if differing:
            shown = "; ".join(differing[:_MAX_DIFFERENCES])
            self._report(number, "cards", f"the composition says {shown}")
