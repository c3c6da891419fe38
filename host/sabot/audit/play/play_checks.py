"""Checks the play of one unit: each shoe of cards against its decks, each round by its cards.

It works on the values of records (audit/checks/decoding.py), in the order of their numbers. A class
of the game's family checks the rounds (`RoundChecks`); the checks of the shoe of cards do not
depend on hands. The firmware divides the two in the same way, but no code is shared with it or with
log/rounds.py.

From an event that is not understood on, whose meaning could be anything, nothing of the play is
judged until the next round begins, and the shoe of cards not as a whole.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from sabot.audit.checks.decoding import UNKNOWN, LaterValues, Values
from sabot.audit.checks.findings import ReportFinding
from sabot.audit.play.counted.counted_play import CountedPlay
from sabot.audit.play.drawn_cards import DrawnCards
from sabot.audit.play.families import AllRounds
from sabot.audit.play.hand_events import HandEvents
from sabot.audit.play.holdem import HoldemChecks
from sabot.audit.play.known_games import KnownGames
from sabot.audit.play.last_pass import LastPass
from sabot.audit.play.round_checks import RoundChecks
from sabot.audit.play.seal_checks import (
    ALWAYS_DOWN,
    SEALED,
    SealChecks,
    Unsealed,
)
from sabot.audit.play.shoe_dealt import ShoeDealt
from sabot.text import card_symbol
from sabot_protocol import cards, enums, events
from sabot_protocol.games import FIRST_CARD, SHOWN, FamilyGame

_NUMBER, _BOOT, _UNIX, _SHOE, _ROUND, _OWN = 1, 2, 4, 5, 6, 7
"""Indexes in a record's values; its own fields begin at the last."""

_CARD = events.CARD.number
_BY_HAND, _GAME = (
    {
        shape.number: _OWN + [field for field, _ in shape.fields].index(name)
        for shape in events.KINDS
        if name in dict(shape.fields)
    }
    for name in ("by_hand", "game")
)
"""Indexes of these fields, by the kind."""

_NAMES = [cards.name_of(card) for card in range(cards.CARD_COUNT)]
_SYMBOLS = [card_symbol(name) for name in _NAMES]
_BURN_FIRST, _BURN = map(enums.POSITIONS.index, ("burn_first", "burn"))
_ENTERED, _UNSEEN = map(enums.RESOLUTIONS.index, ("entered", "unseen"))
_BY_CARD = enums.CLOSED_BY.index("card")
_MISDEAL = enums.VOID_REASONS.index("misdeal")
_UNREADABLE = enums.ERRORS.index("unreadable")

_, _AFTER_REVEAL = SHOWN

_SHA_DIGITS = 16  # how many digits of a game's hash are shown

_AFTER_THE_END = ("composition", "boot", "gap")
_PLAY, _SEALS, _HAND = "_play", "_seals", "_hand"
_NOT_STATE = (
    "counted", "handlers", "_take_finding", "_games", _PLAY, _SEALS, _HAND,
)  # fmt: skip
"""Attributes of PlayChecks that do not change how the next events are judged."""
_WITHOUT_WORDS = frozenset((events.BOOT.number, events.SHOE_ENDED.number))
"""Kinds whose handlers do not look at their words, so that they may be unknown."""
_MAY_FOLLOW = [shape.number for shape in events.KINDS if shape.name in _AFTER_THE_END]


class PlayChecks:
    """Takes the events about the dealing, through `handlers`, and reports findings.

    `play` checks the rounds; no event names a family, but each family has its own kinds. With
    `games` a shoe of cards is also held to the document of its game.
    """

    def __init__(
        self,
        report: ReportFinding,
        play: RoundChecks | None = None,
        games: KnownGames | None = None,
    ) -> None:
        self.counted = CountedPlay()
        self.not_composed = False
        """Whether a shoe of cards has ended and its composition is still due: see `end_of`."""
        self.handlers: list[Callable[[Values], None] | None] = [None] * 256
        """By the number of an event's kind; None for kinds that do not matter here."""
        self._take_finding = report
        self._games = games
        self._unjudged = False  # whether an event was not understood since the round began
        self._whole = False  # whether no event of this shoe of cards is missing so far
        self._game: bytes | None = None  # SHA-256 of the game in the shoe, if known
        self._open: tuple[int, int] | None = None  # shoe and number of the open round
        self._decided: tuple[int, int] | None = None  # the last round, while it has its result
        self._follows = False  # whether no event is missing since a shoe of cards was loaded
        self._key_on: bool | None = None  # None: not known
        self._seals = SealChecks(self._report, self.counted.never_opened)
        self._came = False  # whether a card of the round has come
        self._is_ghost = False  # whether the round is one, which is dealt face up
        self._plain: tuple[int, int] | None = None  # event and start of its first one in plain
        self._betting = False  # whether the betting of that round is open
        self._closed_by_card: int | None = None  # the event, if a card closed it
        self._pass = LastPass()
        self._play = play or AllRounds()
        self._play.begin()
        self._hand = HoldemChecks()
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
            (events.SEAL, self._seal),
            (events.SEAL_ESCROW, self._seals.escrow),
            (events.SEAT_SEAL, self._seals.seat_seal),
            (events.SEALED_CARD, self._sealed_card),
            (events.SEAT_UNSEALED, self._seat_unsealed),
            (events.UNSEALED, self._unsealed),
            (events.UNREADABLE, self._unreadable),
            (events.DECISION, self._decision),
            (events.RESULT, self._result),
            (events.PLAY, self._played),
            (events.LOOKED, self._played),
            (events.HAND_RESULT, self._decision),
            (events.BLACKJACK_RESULT, self._result),
            *HandEvents(self, self._hand).handlers(),
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
        return deepcopy(
            {**own, _PLAY: vars(self._play), _SEALS: self._seals.state, _HAND: vars(self._hand)}
        )

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state`."""
        own = deepcopy(dict(state))
        vars(self._play).update(own.pop(_PLAY))
        self._seals.state = own.pop(_SEALS)
        vars(self._hand).update(own.pop(_HAND))
        vars(self).update(own)

    def ended(self) -> None:
        """Take the end of the log."""
        self._seals.ended()

    def not_judged(self, number: int) -> None:
        """Note that events are missing before event `number`: this shoe of cards and an open round
        cannot be judged."""
        self._know_nothing()
        self._never_ended(number)

    def _know_nothing(self) -> None:
        """Forget what missing events may have changed."""
        self._whole = self.not_composed = self._follows = False
        self._game = self._pass.card = self._key_on = self._decided = None
        self._seals.events_missing()
        self._plain = None

    def later(self, values: LaterValues) -> None:
        """Take, in place of its handler, an event that is not understood in full. One of a known
        kind whose words are all known is judged by the fields that are known."""
        kind, event = values[0], values.event
        handler = self.handlers[kind]
        self.counted.later_events.add(event.number, event.unknown())
        if kind == UNKNOWN or (handler is not None and any(event.unknown_words())):
            place = self._open or (values[_SHOE], values[_ROUND])
            self.counted.later_events.not_judged(
                event.number, *place, is_open=self._open is not None
            )
            self._know_nothing()
            self._unjudged = True
            if kind not in _WITHOUT_WORDS:
                return
        if handler is not None:
            handler(values)

    def _report(self, number: int, kind: str, detail: str) -> None:
        if not self._unjudged:
            self._take_finding(number, kind, detail)

    def end_of(self, values: Values) -> None:
        """Take the event after the end of a shoe of cards, before its handler."""
        if values[0] not in _MAY_FOLLOW:
            self._report(
                values[_NUMBER], "cards", "the shoe of cards ended without its composition"
            )
            self._whole = self.not_composed = False

    def _new_shoe(self, decks: int, game: str = "") -> None:
        self._shoe = ShoeDealt(DrawnCards(decks), game)
        self._pass.entered = self.not_composed = False

    def _never_ended(self, number: int) -> None:
        if self._open is not None:
            shoe, round_ = self._open
            self._report(number, "incomplete", f"round {round_} of shoe {shoe} has no result")
            self._open = None

    def _boot(self, values: Values) -> None:
        self._pass.no_card()
        self.counted.plain.start(values[_NUMBER], values[_BOOT], values[_OWN + 1])
        if self._shoe.ended or not self._whole:
            self._game = None  # an update may have brought another game

    def _key(self, values: Values) -> None:
        self._key_on = values[_OWN]

    def _game_loaded(self, values: Values) -> None:
        if self._whole and not self._shoe.ended:
            self._report(values[_NUMBER], "game", "loaded while cards were in play")
        self._game = values[_OWN + 1]

    def _shoe_loaded(self, values: Values) -> None:
        self._never_ended(values[_NUMBER])
        self._begin(values[_NUMBER])
        self._new_shoe(values[_OWN], values[_OWN + 1])
        self._whole = self._follows = True
        self._decided = None

    def _betting_open(self, values: Values) -> None:
        number, round_ = values[_NUMBER], values[_ROUND]
        self._never_ended(number)
        wrong = self._shoe.burned.ended()
        if self._whole and wrong is not None:
            self._report(number, "rules", wrong)
        self._begin(number)
        wrong = self._shoe.begun(round_)
        if self._whole and wrong is not None:
            self._report(number, "rules", wrong)
        self._open, self._decided = (values[_SHOE], round_), None
        self._betting, self._closed_by_card = True, None

    def _begin(self, number: int) -> None:
        """Begin a round, or a shoe of cards before its first one."""
        self._seals.begin(number)
        self._play.begin()
        self._hand.begin()
        self._came, self._is_ghost, self._plain = False, False, None
        self._unjudged = False

    def _ghost_hand(self, values: Values) -> None:
        self._is_ghost = True
        if self._whole:
            is_open = self._open == (values[_SHOE], values[_ROUND])
            self._shoe.ghosts.mark(values, self._report, betting=is_open and self._betting)

    def _betting_closed(self, values: Values) -> None:
        self._betting = False
        self._closed_by_card = values[_NUMBER] if values[_OWN] == _BY_CARD else None

    def _check_closing(self) -> None:
        """Report that a card closed the betting of the round that ends, if its game forbids it."""
        number, known = self._closed_by_card, None
        if number is not None and self._games is not None and self._game is not None:
            known = self._games.game(self._game)
        if number is not None and known is not None and known.betting_closed_by != FIRST_CARD:
            detail = (
                f"a card closed the betting of round {self._shoe.round}, which only the dealer may"
            )
            self._report(number, "game", detail)

    def _check_lies(self, known: FamilyGame | None) -> None:
        """Note that the round that ends had to be sealed, if its game deals it face down and its
        cards are in plain."""
        if self._plain is None or self._is_ghost or self._unjudged:
            return
        if known is not None and known.shown == _AFTER_REVEAL:
            detail = f"the cards of round {self._shoe.round} in plain, which lay face down"
            self.counted.plain.add(*self._plain, detail)

    def of_open_round(self, values: Values) -> bool:
        """Whether a round is open and this event belongs to it."""
        if self._open is None:
            return False
        if self._open != (values[_SHOE], values[_ROUND]):
            self._never_ended(values[_NUMBER])
            return False
        return True

    def _card(self, values: Values) -> None:
        card, position, by_hand = values[_OWN], values[_OWN + 1], values[_BY_HAND[_CARD]]
        self._pass.dealt(card, by_hand=by_hand)
        self._check_mark(values, position, _SYMBOLS[card])
        if ALWAYS_DOWN[position] or self._seals.state.phase == SEALED:
            self._seals.face_up(values[_NUMBER], position)
        self._count(values[_NUMBER], card, position)
        if self._play.takes(position):
            in_round = self._dealt(values, _SYMBOLS[card])
            if in_round and self._plain is None and self._seals.state.phase != SEALED:
                self._plain = values[_NUMBER], values[_BOOT]
            self._play.card(card, position, in_round=in_round)
            self._hand.card(position, card, in_round=in_round)
        elif self._hand.takes(position):
            in_round = self._dealt(values, _SYMBOLS[card])
            self._hand.card(position, card, in_round=in_round)
        elif position == _BURN:
            self._shoe.burned.count += 1
        elif position == _BURN_FIRST and card < cards.DECK_SIZE:
            self._shoe.burned.first = _NAMES[card]
            self._shoe.burned.allowed = self._play.burn_counts(_NAMES[card])

    def _check_mark(self, values: Values, position: int, card: str) -> None:
        """Check whether a card is rightly marked as entered by hand, or not."""
        wrong = self._pass.mark(position, by_hand=values[_BY_HAND[values[0]]])
        if self._whole and wrong is not None:
            self._report(values[_NUMBER], "rules", f"{card} is marked as {wrong}")

    def _dealt(self, values: Values, card: str) -> bool:
        """Take a card of a round. Return whether that round is open."""
        in_round = self.of_open_round(values)
        if in_round and self._betting and self._whole:
            detail = f"{card} was dealt while the betting of round {self._shoe.round} was open"
            self._report(values[_NUMBER], "rules", detail)
            self._betting = False
        self._came = True
        return in_round

    def _count(self, number: int, card: int, position: int) -> None:
        wrong = self._shoe.too_many(card, position, whole=self._whole)
        if wrong is not None:
            self._report(number, "cards", wrong)

    def _seal(self, values: Values) -> None:
        at_begin = self._open == (values[_SHOE], values[_ROUND]) and not self._betting
        if self._whole and (not at_begin or self._came):
            detail = "a seal that is not between no more bets and the first card"
            self._report(values[_NUMBER], "seal", detail)
        self.counted.plain.sealed(values[_NUMBER], values[_BOOT])
        self._seals.seal(values)

    def _sealed_card(self, values: Values) -> None:
        position = values[_OWN + 2]
        self._pass.dealt(None, by_hand=values[_BY_HAND[values[0]]])
        self._check_mark(values, position, "a sealed card")
        of_round = self._play.takes(position) or self._hand.takes(position)
        in_round = of_round and self._dealt(values, "a sealed card")
        if in_round:
            self._play.sealed(position)
        if of_round:
            self._hand.card(position, None, in_round=in_round)
        self._seals.drawn(values, in_round=in_round)

    def _seat_unsealed(self, values: Values) -> None:
        self._take_opened(self._seals.seat_unsealed(values))

    def _unsealed(self, values: Values) -> None:
        unsealed = self._seals.unsealed(values)
        self.counted.closed.add(unsealed.never)
        self._shoe.closed += unsealed.never
        self._take_opened(unsealed)

    def _take_opened(self, unsealed: Unsealed) -> None:
        for each, card in unsealed.cards:
            self._count(each.number, card, each.position)
            if self._play.takes(each.position):
                self._play.card(card, each.position, in_round=each.in_round)
        self._shoe.drawn.unread += unsealed.never
        self._whole = self._whole and unsealed.whole

    def _decision(self, values: Values) -> None:
        self._still_sealed(values[_NUMBER], "a decision")
        self._play.decision(values)

    def _played(self, values: Values) -> None:
        if self.of_open_round(values):
            self._play.decision(values)

    def _still_sealed(self, number: int, what: str) -> None:
        """Check that no card is sealed at an event that comes only after the key. Otherwise the
        cards of the shoe cannot be judged."""
        if self._seals.not_open(number, what):
            self._whole = False

    def _cut_card(self, values: Values) -> None:
        self._pass.cut_card()

    def _error(self, values: Values) -> None:
        card = values[_OWN + 1]
        if card is not None:  # one that was read, and has no event `card` yet or never gets one
            self._pass.dealt(card, by_hand=False)
            self._seals.named(values[_NUMBER], "an error", card)

    def _long_pass(self, values: Values) -> None:
        card = values[_OWN]
        if card is not None:
            self._seals.named(values[_NUMBER], "a long pass", card)
        wrong = self._pass.long(card)
        if wrong is not None:
            self._report(values[_NUMBER], "cards", wrong)

    def _unreadable(self, values: Values) -> None:
        self._pass.no_card()
        self._shoe.drawn.unreadable(values[_OWN])

    def _resolved(self, values: Values) -> None:
        error, fault, position, resolution = values[_OWN : _OWN + 4]
        if self._whole and self._pass.entered and error == _UNREADABLE:
            detail = "a card was entered by hand before, and it was not dealt"
            self._report(values[_NUMBER], "rules", detail)
        self._shoe.drawn.resolved(fault, resolution)
        if resolution == _ENTERED:
            self._pass.entered = True
        elif resolution == _UNSEEN:
            self._shoe.burned.count += position == _BURN
            if self._hand.takes(position):
                self._hand.card(position, None, in_round=True)

    def _burn(self, values: Values) -> None:
        wrong = self._shoe.burned.stated(values[_OWN])
        if self._whole and wrong is not None:
            self._shoe.burned.expect_allowed()
            self._report(values[_NUMBER], "rules", wrong)

    def _round_void(self, values: Values) -> None:
        place, reason = (values[_SHOE], values[_ROUND]), values[_OWN]
        wrong = None
        self._still_sealed(values[_NUMBER], "the round was voided")
        if self.of_open_round(values):
            self._check_closing()
            self._check_given_up(values[_NUMBER], "the round was voided")
            self._open = None
            self.counted.rounds += 1
            if reason == _MISDEAL:
                wrong = "a misdeal, but it has no result"
        elif place == self._decided:
            self._decided = None
            self._shoe.results -= 1
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

    def _check_given_up(self, number: int, what: str) -> None:
        """Check the cards of a round that ends without a result, by the choice of its house."""
        known = None
        if self._games is not None and self._game is not None:
            known = self._games.game(self._game)
        self._check_lies(known)
        if known is not None:
            never = known.house.get("voided_cards") == "never"
            self._seals.given_up(number, what, may_be=never)
        self._seals.voided(number)

    def _result(self, values: Values) -> None:
        document, was_open = self.round_decided(values, values[_GAME[values[0]]], "a result")
        if was_open and not self._seals.closed:
            self.report_rules(values, self._play.wrong_with(values, document))

    def round_decided(
        self, values: Values, game: bytes, what: str
    ) -> tuple[FamilyGame | None, bool]:
        """Take `what` decides a round, dealt by the game with this SHA-256. Return the document of
        the game, if it is known, and whether the round was open."""
        self._still_sealed(values[_NUMBER], what)
        if game != self._game:
            if self._game is not None:
                dealt, known = (sha.hex()[:_SHA_DIGITS] for sha in (game, self._game))
                detail = f"{dealt} was dealt, {known} is in the shoe"
                self._report(values[_NUMBER], "game", detail)
            self._game = game
        self.counted.dealt_by.setdefault(game, values[_NUMBER])
        document = None if self._games is None else self._games.game(game)
        if document is not None and self._whole and not self._shoe.results:
            for detail in self._shoe.unlike(document):
                self._report(values[_NUMBER], "game", detail)
        if document is not None and self._whole:
            self._shoe.ghosts.check_allowed(document, self._report)
        self._shoe.results += 1
        if not self.of_open_round(values):
            return document, False
        self._check_closing()
        self._check_lies(document)
        by_seat = self._seals.by_seat if document is None else document.by_seat
        self._seals.given_up(values[_NUMBER], what, may_be=by_seat)
        if document is not None:
            self.report_game(values, self._seals.unlike(document))
        self._open, self._decided = None, (values[_SHOE], values[_ROUND])
        self.counted.rounds += 1
        self.counted.timeless += values[_UNIX] is None
        return document, True

    def report_rules(self, values: Values, details: Iterable[str]) -> None:
        """Report what is wrong with the round of an event by the rules."""
        where = f"shoe {values[_SHOE]} round {values[_ROUND]}: "
        for detail in details:
            self._report(values[_NUMBER], "rules", where + detail)

    def report_game(self, values: Values, details: Iterable[str]) -> None:
        """Report what contradicts the document of the game."""
        for detail in details:
            self._report(values[_NUMBER], "game", detail)

    def _shoe_ended(self, values: Values) -> None:
        _, rounds, count = values[_OWN : _OWN + 3]
        number = values[_NUMBER]
        self._still_sealed(number, "the shoe of cards ended")
        if self._open is not None:  # after a restart that lost the state; before 0.2 after any
            self._check_given_up(number, "the shoe of cards ended")
            self._open = None
            self.counted.rounds += 1
        for detail in self._shoe.unlike_end(rounds, count) if self._whole else ():
            self._report(number, "rules", detail)
        self._shoe.ended = True
        self.not_composed = self._whole

    def _composition(self, values: Values) -> None:
        counts, unread, expected = values[_OWN : _OWN + 3]
        if self._whole and not self._shoe.ended:
            detail = "the composition of a shoe of cards that has not ended"
            self._report(values[_NUMBER], "cards", detail)
        elif self._whole:
            differing = self._shoe.drawn.wrong_composition(counts, unread, expected)
            if differing:
                self._report(values[_NUMBER], "cards", f"the composition says {differing}")
        if self._shoe.closed:
            self.counted.closed.shoes += 1
            self._shoe.closed = 0
        self._whole = self.not_composed = False  # later cards belong to no shoe of cards
