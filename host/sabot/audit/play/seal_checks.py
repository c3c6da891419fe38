"""Checks the sealed cards of one unit: their commitments, keys, places and order.

The definition is in protocol/README.md, "Sealed cards". What a sealed card is, is known only at its
`unsealed`: until then the checks of the play wait for it (play_checks.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sabot.audit.checks.decoding import Values
from sabot.audit.checks.findings import ReportFinding
from sabot.audit.play.counted.never_opened import AT_THE_END, MISSING, NO_FIT, NO_KEY, NeverOpened
from sabot.link.seals import card_in, key_fits, seat_key
from sabot.text import counted
from sabot_protocol import enums
from sabot_protocol.cards import DECK_SIZE
from sabot_protocol.games import FamilyGame
from sabot_protocol.holdem import HOLE_CARDS, HoldemGame
from sabot_protocol.seals import BURNED, CARD_SIZE, KEY_SIZE, SEATS

_NUMBER, _OWN = 1, 7
_PLACE = slice(5, 7)
"""Indexes in a record's values: of the shoe of cards and the round, and of its own fields."""

NONE, SEALED, OPENED, NEVER, UNKNOWN = "none", "sealed", "opened", "never", "unknown"
"""What is known of the present round: no card of it is sealed; some are; they were opened; they are
never to be known; events are missing, so that it may be any of these."""

_NOT_DUE, _HOLE, _SEAT_1 = map(enums.POSITIONS.index, ("not_due", "hole", "seat_1"))

_FACE_UP = ("burn", "box", "dealer", "flop", "turn", "river")
"""What the positions begin with in which a card may lie face up in a round with sealed cards. A
card burned between rounds is not one of them."""
_ALWAYS_DOWN = ("hole", "seat", "board")
FACE_UP = [word.startswith(_FACE_UP) for word in enums.POSITIONS]
ALWAYS_DOWN = [word.startswith(_ALWAYS_DOWN) for word in enums.POSITIONS]
"""By the index of a position."""


@dataclass(frozen=True, slots=True)
class SealedCard:
    """A card that was drawn face down."""

    number: int
    """Of its event."""
    place: int
    sealed: bytes
    position: int
    """Index in `enums.POSITIONS`."""
    in_round: bool
    """Whether its round was open."""


@dataclass(slots=True)
class SealState:
    """What the next events are judged by."""

    phase: str = NONE
    number: int = 0
    """Of the event `seal`."""
    place: tuple[int, int] = (0, 0)
    """Of the shoe of cards and the round of the seal."""
    commitment: bytes = b""
    cards: list[SealedCard] = field(default_factory=list)
    whole: bool = True
    """Whether no event is missing since the seal, and all its sealed cards can be judged."""
    lost: bool = False
    """Whether events are missing since the seal."""
    seats: dict[int, bytes] = field(default_factory=dict)
    """Commitments, by seat, if each seat has a key of its own."""
    opened: list[int] = field(default_factory=list)
    """The seats whose cards were opened."""
    escrowed: bool = False
    """Whether the key of the round has left for the escrow."""
    has_escrow: bool = False
    """Whether that of an earlier one has: a unit that has an escrow keeps it."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """What became of the sealed cards of a round."""

    cards: list[tuple[SealedCard, int]] = field(default_factory=list)
    """Those that were opened, each with its card, 0 to 52."""
    never: int = 0
    """How many are never to be known."""
    whole: bool = True
    """Whether the cards of the round can be judged with these."""


class SealChecks:
    """Takes the events about sealed cards, in order, and reports findings of the kind `seal`."""

    def __init__(self, report: ReportFinding, never: NeverOpened) -> None:
        self.state = SealState(UNKNOWN)
        self._report = report
        self._never = never

    @property
    def closed(self) -> bool:
        """Whether there are sealed cards in this round that are not known."""
        phase = self.state.phase
        return phase in (SEALED, NEVER) or (phase == OPENED and not self.state.whole)

    @property
    def by_seat(self) -> bool:
        """Whether each seat of this round has a key of its own."""
        return bool(self.state.seats)

    def events_missing(self) -> None:
        """Note that events are missing here."""
        if self.state.phase == SEALED:
            self.state.whole, self.state.lost = False, True
        else:
            self._begin(UNKNOWN)

    def begin(self, number: int) -> None:
        """Take the event after which no card is sealed: a round, or a shoe of cards, begins."""
        self.not_open(number, "the next round began")
        self._closed_for_ever()
        self._begin(NONE)

    def ended(self) -> None:
        """Take the end of the log."""
        self._closed_for_ever(AT_THE_END)

    def _closed_for_ever(self, why: str = NO_KEY) -> None:
        """Note the round whose cards are sealed as one that was never opened."""
        state = self.state
        if state.phase == SEALED:
            if state.lost:
                why = MISSING
            self._never.add(state.number, state.place, len(state.cards), why)

    def seal(self, values: Values) -> None:
        """Take the values of an event `seal`."""
        number, place, commitment = values[_NUMBER], tuple(values[_PLACE]), values[_OWN]
        phase = self.state.phase
        of_round = self.state.place == place and phase in (SEALED, OPENED, NEVER)
        if of_round or (phase == SEALED and self.state.whole):
            self._report(number, "seal", "a second seal: a round has one")
        if len(commitment) != KEY_SIZE:
            self._report(number, "seal", f"a commitment of {counted(len(commitment), 'byte')}")
        self._closed_for_ever()
        self._begin(SEALED)
        state = self.state
        state.number, state.place, state.commitment = number, place, commitment

    def escrow(self, values: Values) -> None:
        """Take the values of an event `seal_escrow`."""
        number, (public, sealed_key) = values[_NUMBER], values[_OWN : _OWN + 2]
        self._check_round(values)
        state = self.state
        if state.phase == UNKNOWN:
            return
        if state.phase != SEALED or state.escrowed:
            wrong = "for the second time" if state.escrowed else "and no card is sealed"
            self._report(number, "seal", f"a key left for the escrow, {wrong}")
        if (len(public), len(sealed_key)) != (KEY_SIZE, KEY_SIZE):
            self._report(number, "seal", "a key for the escrow of another length")
        state.escrowed = state.has_escrow = True

    def seat_seal(self, values: Values) -> None:
        """Take the values of an event `seat_seal`."""
        number, (seat, commitment) = values[_NUMBER], values[_OWN : _OWN + 2]
        if not self._comes_sealed(values, f"the seal of {_seat_text(seat)}"):
            return
        state = self.state
        if seat > SEATS:
            self._report(number, "seal", f"the seal of seat {seat}, there are {SEATS}")
        if len(commitment) != KEY_SIZE:
            self._report(number, "seal", f"a commitment of {counted(len(commitment), 'byte')}")
        if seat in state.seats:
            self._report(number, "seal", f"a second seal of {_seat_text(seat)}")
        elif state.whole and state.cards and not state.seats:
            self._report(number, "seal", f"the seal of {_seat_text(seat)} after a card without one")
        elif state.whole and any(_seat_of(each.position) == seat for each in state.cards):
            self._report(number, "seal", f"the seal of {_seat_text(seat)} after its first card")
        state.seats.setdefault(seat, commitment)

    def seat_unsealed(self, values: Values) -> Unsealed:
        """Take the values of an event `seat_unsealed`: the seat has shown its cards."""
        number, (seat, key) = values[_NUMBER], values[_OWN : _OWN + 2]
        self._check_round(values)
        state = self.state
        if state.phase == UNKNOWN:
            return Unsealed()
        if state.phase != SEALED:
            wrong = "no card was sealed" if state.phase == NONE else "after the end of its hand"
            self._report(number, "seal", f"{_seat_text(seat)} was opened, {wrong}")
            return Unsealed()
        if seat in state.opened:
            self._report(number, "seal", f"{_seat_text(seat)} was opened for the second time")
            return Unsealed()
        commitment = state.seats.get(seat)
        if commitment is None:
            if state.whole:
                self._report(number, "seal", f"the key of {_seat_text(seat)}, which has no seal")
                state.whole = False
            return Unsealed(whole=False)
        state.opened.append(seat)
        if not key_fits(key, commitment):
            detail = f"the key of {_seat_text(seat)} does not fit its commitment"
            self._report(number, "seal", detail)
            state.whole = False
            return Unsealed(whole=False)
        of_seat = [each for each in state.cards if _seat_of(each.position) == seat]
        state.cards = [each for each in state.cards if each not in of_seat]
        return self._opened(of_seat, key)

    def unlike(self, game: FamilyGame) -> Iterator[str]:
        """Yield what the keys of a round that has its result contradict in the document of its
        game."""
        state = self.state
        if state.phase not in (OPENED, NEVER) or not state.whole:
            return
        if game.by_seat != self.by_seat:
            has = "a key for each seat" if game.by_seat else "one key for the round"
            yield f"{game.name} has {has}, and its cards were not sealed so"
        elif self.by_seat and state.phase == OPENED:
            yield f"all hole cards were opened, of which {game.name} opens only some"
        elif isinstance(game, HoldemGame) and game.hole_cards == HOLE_CARDS[-1]:
            for seat in state.opened:
                yield f"{_seat_text(seat)} was opened, and {game.name} opens no hole cards"

    def voided(self, number: int) -> None:
        """Take the end of a void round: no seat can have shown its cards."""
        for seat in self.state.opened if self.state.whole else ():
            self._report(number, "seal", f"{_seat_text(seat)} was opened in a void round")

    def _begin(self, phase: str) -> None:
        self.state = SealState(phase, has_escrow=self.state.has_escrow)

    def _comes_sealed(self, values: Values, what: str) -> bool:
        """Whether the event `what` comes after the seal of its round and before its key; if not,
        report it. False too where that cannot be known."""
        self._check_round(values)
        phase = self.state.phase
        if phase not in (SEALED, UNKNOWN):
            when = "before the seal of its round" if phase == NONE else "after its key"
            self._report(values[_NUMBER], "seal", f"{what} {when}")
        return phase == SEALED

    def drawn(self, values: Values, *, in_round: bool) -> None:
        """Take the values of an event `sealed_card`; `in_round`: its round is open."""
        number, (card_place, sealed, position) = values[_NUMBER], values[_OWN : _OWN + 3]
        if not self._comes_sealed(values, "a sealed card"):
            return
        state = self.state
        due = state.cards[-1].place + 1 if state.cards else 0
        if card_place != due and (state.whole or card_place < due):
            self._report(number, "seal", f"a sealed card at place {card_place}, {due} is due")
        if len(sealed) != CARD_SIZE:
            self._report(number, "seal", f"a sealed card of {counted(len(sealed), 'byte')}")
        seat = _seat_of(position)
        if state.seats and seat not in state.seats and state.whole:
            self._report(number, "seal", f"a sealed card before the seal of {_seat_text(seat)}")
            state.whole = False
        state.cards.append(SealedCard(number, card_place, sealed, position, in_round))

    def unsealed(self, values: Values) -> Unsealed:
        """Take the values of an event `unsealed`."""
        number, key = values[_NUMBER], values[_OWN]
        if not self.state.whole:
            self._check_round(values)
        state = self.state  # after a start that has lost its state, the key names another round
        self.state = replace(state, phase=OPENED if key else NEVER, cards=[])
        if state.phase == UNKNOWN:
            return Unsealed()
        if state.phase != SEALED:
            wrong = "no card was sealed" if state.phase == NONE else "for the second time"
            self._report(number, "seal", f"unsealed, {wrong}")
            return Unsealed()
        if state.seats and state.has_escrow and state.whole and not state.escrowed:
            detail = "its key has not left for the escrow, as those of earlier rounds have"
            self._report(number, "seal", detail)
        if not key:
            return Unsealed(never=len(state.cards))
        if not key_fits(key, state.commitment):
            wrong = f"the key of {counted(len(key), 'byte')}" if len(key) != KEY_SIZE else "the key"
            self._report(number, "seal", f"{wrong} does not fit the commitment of its round")
            self.state.whole = False
            self._never.add(state.number, state.place, len(state.cards), NO_FIT)
            return Unsealed(whole=False)
        seats = {seat: seat_key(key, seat) for seat in state.seats}
        for seat, commitment in state.seats.items():
            if not key_fits(seats[seat], commitment):
                detail = f"the key of {_seat_text(seat)} is not the one of its round"
                self._report(number, "seal", detail)
                self.state.whole = False
        return self._opened(state.cards, key, seats)

    def _opened(
        self, sealed: list[SealedCard], key: bytes, seats: Mapping[int, bytes] = {}
    ) -> Unsealed:
        """Open cards: with the key of their seat, if it is among `seats`, or with `key`."""
        found = []
        for each in sealed:
            card = card_in(each.sealed, seats.get(_seat_of(each.position), key), each.place)
            if card is None:
                detail = f"the sealed card at place {each.place} opens to no card"
                self._report(each.number, "seal", detail)
            else:
                found.append((each, card))
        closed = len(sealed) - len(found)
        if closed:
            state = self.state
            self._never.add(state.number, state.place, closed, "the key opens them to no card")
        self.state.whole = self.state.whole and len(found) == len(sealed)
        return Unsealed(found, whole=len(found) == len(sealed))

    def not_open(self, number: int, what: str) -> bool:
        """Report that `what` happened at event `number` if cards are sealed, which forbids it.
        Return whether it was reported: then no other finding of this kind follows from it."""
        forbidden = self.state.phase == SEALED and self.state.whole
        if forbidden:
            self._report(number, "seal", f"{what} while cards were sealed")
            self.state.whole = False
        return forbidden

    def given_up(self, number: int, what: str, *, may_be: bool) -> None:
        """Report that `what` happened at event `number` in a round whose cards are never to be
        known, unless that `may_be`."""
        if self.state.phase == NEVER and self.state.whole and not may_be:
            self._report(number, "seal", f"{what}, although its cards are never to be known")
            self.state.whole = False

    def face_up(self, number: int, position: int) -> None:
        """Take a card that was recorded in plain, at a position of a round."""
        name = enums.POSITIONS[position].replace("_", " ")
        if ALWAYS_DOWN[position]:
            self._report(number, "seal", f"a card as {name} in plain, which lies face down")
        elif not FACE_UP[position] and (position != _NOT_DUE or self._all_down()):
            if self.state.phase == SEALED and self.state.whole:
                self._report(number, "seal", f"a card as {name} in plain while cards were sealed")

    def named(self, number: int, what: str, card: int) -> None:
        """Take an event that names a card: `what` is its kind. The cut card and the test card are
        no secret."""
        if card >= DECK_SIZE or not self._all_down():
            return
        if self.state.phase == SEALED and self.state.whole:
            self._report(number, "seal", f"{what} names a card while cards were sealed")

    def _all_down(self) -> bool:
        """Whether every card that comes lies face down: not in blackjack, where the hole card
        does."""
        return any(each.position != _HOLE for each in self.state.cards)

    def _check_round(self, values: Values) -> None:
        """Report an event of another round than the seal's. If events are missing, that round may
        have ended in them."""
        state = self.state
        if state.phase != SEALED or state.place == tuple(values[_PLACE]):
            return
        if state.whole:
            self._report(values[_NUMBER], "seal", "not of the round whose cards are sealed")
            state.whole = False
        self._closed_for_ever()
        self.state = SealState(UNKNOWN)
        self._begin(UNKNOWN)


def _seat_of(position: int) -> int:
    return position - _SEAT_1 + 1 if _SEAT_1 <= position < _SEAT_1 + SEATS else BURNED


def _seat_text(seat: int) -> str:
    return f"seat {seat}" if seat != BURNED else "the burned cards"
