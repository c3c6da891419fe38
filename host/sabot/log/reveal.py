"""Which round's cards must not be shown yet: in midi, and if they are dealt face down, they are
secret until the dealer presses `reveal`.

Firmware from 0.2 on records such cards sealed, and no one can know them before their key comes with
`unsealed`; `SealedCards` finds the cards of those whose key has come. Logs of older firmware have
them as soon as they are drawn, and for these the rest of this module decides.

Only the records themselves have them earlier. Every list, page and table asks here. The document of
the game decides (`shown`), by the SHA-256 in the events, never the game's name: a house chooses
whether `mini` is dealt face down. If it is not known by which document a round is dealt, its cards
are hidden until the reveal, unless they come from firmware that seals what must not show.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sabot.link.events import (
    DECIDED,
    DECIDED_KINDS,
    BettingOpenEvent,
    BootEvent,
    ButtonEvent,
    CardEvent,
    DecisionEvent,
    ErrorClearedEvent,
    ErrorEvent,
    Event,
    GameLoadedEvent,
    GapEvent,
    GhostHandEvent,
    LidEvent,
    LockEvent,
    LongPassEvent,
    ResultEvent,
    RoundVoidEvent,
    SealedCardEvent,
    SealEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
    UnknownEvent,
    UnsealedEvent,
)
from sabot.link.seals import KINDS, RoundSeal, is_sealing
from sabot.link.wire import WireError
from sabot.log.found import LARGEST
from sabot.log.store import Filter, Store
from sabot_protocol.games import SHOWN, GameError, game_of

SECRET = (CardEvent, DecisionEvent, ResultEvent, LongPassEvent)
"""Events that give cards, totals or the winner away. An `error` may name a card too."""

SECRET_CARD = -1
"""In place of the number of a card that must not be shown yet."""

KeptGame = Callable[[bytes], bytes | None]
"""Returns the game document with a SHA-256, as `Store.game` does; None if it is not kept."""


def shows_at_once(document: bytes) -> bool:
    """Whether cards dealt by this game may be shown as they are drawn; no if it is not a game."""
    try:
        return game_of(document).shown == SHOWN[0]
    except GameError:
        return False


class ShownGames:
    """Whether cards may be shown as they are drawn, by the SHA-256 of the game that deals them."""

    def __init__(self, kept: KeptGame) -> None:
        self._kept = kept
        self._known: dict[bytes, bool] = {}

    def at_once(self, sha256: bytes) -> bool | None:
        """Whether they may; None if the game's document is not kept."""
        known = self._known.get(sha256)
        if known is None:
            document = self._kept(sha256)
            if document is not None:  # one that is missing may be kept later
                known = self._known[sha256] = shows_at_once(document)
        return known


_END_OR_SEAL = (
    "seal", "sealed_card", "unsealed", "round_void", "shoe_ended", *DECIDED_KINDS
)  # fmt: skip

NONE_KEPT = ShownGames(lambda _: None)
"""For events without a log, of which no game document is kept."""


class Reveal:
    """Follows the events of one unit, in order. `games` are the games by which they were dealt."""

    KINDS = ("boot", "gap", "game_loaded", *DECIDED_KINDS)
    """The kinds of events that decide by which game the next round is dealt."""

    def __init__(self, games: ShownGames) -> None:
        self.hidden: tuple[int, int] | None = None
        """Numbers of the shoe of cards and of the round that must not be shown; None for none."""
        self._games = games
        self._shows_at_once: bool | None = None  # None if the game is not known
        self._started: tuple[str, bytes, bytes] | None = None  # game, firmware, chain
        self._decided = self._lid_open = self._stopped = self._sealed = False
        self._seals = False  # whether the firmware seals what must not show
        self._round = 0, 0  # of the last event that was in one, and its number
        self._last = 0

    def add(self, event: Event) -> None:
        """Take the next event. Events may be missing: a round begins with the first one that there
        is, and what is lost may have stopped play."""
        if isinstance(event, UnknownEvent):  # it says nothing about the reveal, nor does its header
            self._last = event.number
            return
        if event.round:
            self._add_place(event)
        self._last = event.number
        if isinstance(event, DECIDED):
            self._decided = True
            self._shows_at_once = self._games.at_once(event.game)
            if self._shows_at_once or self._sealed:
                self.hidden = None
        elif isinstance(event, SealEvent | SealedCardEvent):
            self._sealed = True  # its result waits for the reveal
            if self._shows_at_once is None:
                self.hidden = None
        elif isinstance(event, RoundVoidEvent | ShoeEndedEvent | GhostHandEvent | UnsealedEvent):
            self.hidden = None  # a ghost hand is dealt face up
        elif isinstance(event, ButtonEvent):
            # While play is stopped the button has another meaning.
            acts = self._decided and not self._stopped and not self._lid_open
            if event.button == "reveal" and acts:
                self.hidden = None
        else:
            self._add_stop(event)
            self._add_game(event)

    def _add_place(self, event: Event) -> None:
        """Note the round of an event, and whether events before it are missing."""
        if (event.shoe, event.round) != self._round:
            self._round = event.shoe, event.round
            self._decided = self._sealed = False
            self._stopped = not isinstance(event, BettingOpenEvent)
            shows = self._shows_at_once or (self._shows_at_once is None and self._seals)
            self.hidden = None if shows else self._round
        elif event.number != self._last + 1:
            self._stopped = True

    def _add_stop(self, event: Event) -> None:
        """Note whether play is stopped."""
        if isinstance(event, LidEvent):
            self._lid_open = event.open
        elif isinstance(event, ShoeLoadedEvent):
            self._lid_open = False  # it was shut, also if the event that says so is missing
        elif isinstance(event, ErrorEvent):
            self._stopped = True
        elif isinstance(event, ErrorClearedEvent):
            self._stopped = False  # it names the first error; those that came after it are over too
        elif isinstance(event, LockEvent):
            self._stopped = self._stopped and not event.released

    def _add_game(self, event: Event) -> None:
        if isinstance(event, GameLoadedEvent):
            self._shows_at_once = self._games.at_once(event.sha256)
            if self._started is not None:
                self._started = (event.game, *self._started[1:])
        elif isinstance(event, GapEvent):
            self._shows_at_once = None
            self._seals = False  # another firmware may have started
        elif isinstance(event, BootEvent):
            # Another firmware may have brought another game, and so may provisioning.
            started = (event.game, event.build, event.chain)
            if self._started != started:
                self._shows_at_once = None
            self._started = started
            self._seals = is_sealing(event.firmware) is True


def shown(event: Event, hidden: tuple[int, int] | None) -> Event | None:
    """Return an event as it may be shown while the round `hidden` must not: whole, without its
    card, or None."""
    if hidden is None or (event.shoe, event.round) != hidden:
        return event
    if isinstance(event, SECRET):
        return None
    event = _without_surplus(event)
    return replace(event, card=None) if isinstance(event, ErrorEvent) else event


def _without_surplus(event: Event) -> Event:
    """Return an event without the values that this version does not know: they may be a card."""
    return replace(event, surplus=None) if event.surplus else event


def hidden_after(events: Iterable[Event], games: ShownGames) -> tuple[int, int] | None:
    """Return the numbers of the shoe of cards and of the round that must not be shown after these
    events of a unit; None for none."""
    reveal = Reveal(games)
    for event in events:
        reveal.add(event)
    return reveal.hidden


def all_shown(events: Sequence[Event], games: ShownGames) -> list[Event]:
    """Return the events of a unit as they may be shown."""
    hidden = hidden_after(events, games)
    as_shown = (shown(event, hidden) for event in events)
    return [event for event in as_shown if event is not None]


def without_secret_card(event: Event, hidden: tuple[int, int] | None) -> Event:
    """Return an event for a reader who needs each: in the round `hidden` no error has a card, each
    card is SECRET_CARD, and none is noted as entered by hand."""
    if hidden is not None and (event.shoe, event.round) == hidden:
        event = _without_surplus(event)
        if isinstance(event, CardEvent):
            return replace(event, card=SECRET_CARD, by_hand=False)
        if isinstance(event, ErrorEvent):
            return replace(event, card=None)
    return event


class SealedCards:
    """The cards of the sealed cards of a unit, as far as its log has the keys of their rounds."""

    def __init__(self, store: Store, unit: str) -> None:
        self._store = store
        self._unit = unit
        self._place = 0, 0  # of the shoe of cards and the round whose cards are known
        self._known: dict[int, int] = {}

    def card_of(self, drawn: SealedCardEvent) -> int | None:
        """The card of a sealed card; None if it is not to be known, or not yet."""
        place = drawn.shoe, drawn.round
        if place != self._place:
            seal, kinds = RoundSeal(), KINDS
            of_round = _readable(self._store, Filter(self._unit, *place, kinds))
            self._known = {card.number: card.card for each in of_round for card in seal.add(each)}
            self._place = place
        return self._known.get(drawn.number)


class UnknownValues:
    """Which values that this version does not know may be shown, of the events of a unit.

    They could tell a card. So they are shown once the round in whose course they came is over and
    may be shown, and never if cards of it are never to be known. What the header of such an event
    says of its round is not believed: its number decides.
    """

    def __init__(self, store: Store, unit: str) -> None:
        self._store = store
        self._unit = unit
        self._first, self._next = 1, 1  # the events of the round that was looked at
        self._shown = False

    def as_shown(self, event: Event) -> Event:
        """Return an event without such values, unless they may be shown."""
        return (
            event
            if not event.surplus or self._may_show(event.number)
            else replace(event, surplus=None)
        )

    def _may_show(self, number: int) -> bool:
        if not self._first <= number < self._next:
            self._look_at(number)
        return self._shown

    def _look_at(self, number: int) -> None:
        """Look at the round that was open at event `number`, up to the next one."""
        begins = ("betting_open",)
        before = Filter(self._unit, last=number, kinds=begins, newest_first=True)
        begun = next(iter(self._store.rows(before)), None)
        after = Filter(self._unit, first=number + 1, kinds=begins)
        following = next(iter(self._store.rows(after)), None)
        self._first = 1 if begun is None else begun.number
        self._next = LARGEST if following is None else following.number
        over = begun is None or following is not None
        closed = False
        within = Filter(self._unit, first=self._first, last=self._next - 1, kinds=_END_OR_SEAL)
        for event in _readable(self._store, within):
            if isinstance(event, UnsealedEvent):
                closed = closed and not event.seal_key
            elif isinstance(event, SealEvent | SealedCardEvent):
                closed = True
            else:
                over = True
        hidden = following is None and hidden_round(self._store, self._unit) is not None
        self._shown = over and not closed and not hidden


def hidden_round(store: Store, unit: str) -> tuple[int, int] | None:
    """Return the numbers of the shoe of cards and of the round of `unit` that must not be shown.

    To show a list of events, call this after its first one was read: a round that begins later is
    not in the list.
    """
    shoe, round_ = place_before(store, unit)
    return reveal_before(store, unit, shoe, round_).hidden


def place_before(store: Store, unit: str, before: int | None = None) -> tuple[int, int]:
    """Return the numbers of the shoe of cards and of the round in a log before the event `before`,
    None for its end. An event `gap` may be in neither, and of one that is not known its header is
    not believed."""
    last = None if before is None else before - 1
    for event in _readable(store, Filter(unit, last=last, newest_first=True)):
        if not isinstance(event, GapEvent | UnknownEvent):
            return event.shoe, event.round
    return 0, 0


def reveal_before(
    store: Store, unit: str, shoe: int, round_: int, before: int | None = None
) -> Reveal:
    """Return what the events in a log from this round on decide; `before` is the number of the
    first event that does not count, None for none."""
    reveal = Reveal(ShownGames(store.game))
    if not round_:  # between two shoes of cards: what ended the last round came after it
        shoe, round_ = _last_round(store, unit, before) or (shoe, round_)
    begin = next(_readable(store, Filter(unit, shoe, round_)), None)
    if begin is not None:
        for event in deciding_before(store, unit, begin.number):
            reveal.add(event)
        # All events from there on: a `gap` within the round is not in it.
        last = None if before is None else before - 1
        for event in _readable(store, Filter(unit, first=begin.number, last=last)):
            reveal.add(event)
    return reveal


def _last_round(store: Store, unit: str, before: int | None) -> tuple[int, int] | None:
    """The shoe of cards and the number of the last round before an event; None without any."""
    last = None if before is None else before - 1
    newest = _readable(store, Filter(unit, last=last, newest_first=True))
    known = (event for event in newest if not isinstance(event, UnknownEvent))
    return next(((event.shoe, event.round) for event in known if event.round), None)


def deciding_before(store: Store, unit: str, begin: int) -> list[Event]:
    """Return the events before event `begin` that decide by which game a round is dealt then."""
    found: list[Event] = []
    newest = Filter(unit, last=begin - 1, kinds=Reveal.KINDS, newest_first=True)
    for event in _readable(store, newest):
        found.append(event)
        if isinstance(event, (GameLoadedEvent, *DECIDED)):  # each names its game
            break
    # A start says what firmware runs, and is compared with the one before it.
    if found:
        boots = Filter(unit, last=found[-1].number - 1, kinds=("boot",), newest_first=True)
        found += islice(_readable(store, boots), 1)
    return found[::-1]


def _readable(store: Store, wanted: Filter) -> Iterator[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
