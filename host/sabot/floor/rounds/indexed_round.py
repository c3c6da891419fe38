"""A round as the index of rounds has it: what can be searched for, in columns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sabot.errors import SabotError
from sabot.games.baccarat.score import score_unchecked
from sabot.games.baccarat.wagers import STANDARD, outcome_of
from sabot.games.blackjack.house import House, house_of
from sabot.games.blackjack.shoe_game import house_in
from sabot.games.blackjack.side_wagers import SIDE
from sabot.log.families.boxes import BOX, BlackjackRound
from sabot.log.families.hands import Hand
from sabot.log.reveal import KeptGame
from sabot.log.rounds import Dealt, Round, as_dealt
from sabot_protocol import games
from sabot_protocol.baccarat import Game
from sabot_protocol.blackjack import BlackjackGame
from sabot_protocol.games import FamilyGame, GameError, game_of

NATURAL = "natural"
PLAYER_DREW, BANKER_DREW = "player_drew", "banker_drew"
"""A third card."""
DOUBLED, SPLIT, DEALER_BLACKJACK, DEALER_BUST = (
    "doubled",
    "split",
    "dealer_blackjack",
    "dealer_bust",
)
RUN_TWICE = "run_twice"
_MOST = 21


class IndexedRound(NamedTuple):
    """A round that has ended, as it may be shown. Text with several words has a space before,
    between and after them."""

    first_event: int
    last_event: int
    shoe: int
    round: int
    family: str
    started_unix_ms: int | None
    ended_unix_ms: int | None
    winner: str | None
    void: str | None
    ghost_hand: int | None
    by_hand: int
    """How many of its cards the supervisor entered."""
    sealed: int
    """How many of its cards are not known."""
    totals: str
    """For people: "8 to 5"; of blackjack the dealer's."""
    outcomes: str
    """Its hits, the wagers and prizes that won, what the hands did."""
    hands: str
    """Each with its name: "Player:7H9D,Banker:KS2C"."""
    dealt: str
    """The cards in the order in which they came out."""
    not_understood: int | None
    """As of a round (log/rounds.py)."""

    @property
    def hands_by_name(self) -> list[tuple[str, list[str]]]:
        """The cards of each hand, in the order of the table."""
        named = (each.partition(":") for each in self.hands.split(",") if each)
        return [(name, [cards[n : n + 2] for n in range(0, len(cards), 2)])
                for name, _, cards in named]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _OfFamily:
    """What the row of a round has by its family."""

    name: str
    totals: str
    outcomes: Sequence[str]
    hands: Sequence[tuple[str, Sequence[str]]]
    order: Sequence[str]
    """Its cards, as they came out."""
    winner: str | None = None
    ghost_hand: int | None = None


class Indexing:
    """Makes rounds into rows. `kept` has the documents of the games that dealt them."""

    def __init__(self, kept: KeptGame) -> None:
        self._kept = kept
        self._games: dict[bytes, FamilyGame | None] = {}
        self._houses: dict[bytes, House | None] = {}
        self._of_family: dict[type[Dealt], Callable[[Any, bytes | None], _OfFamily]] = {
            Round: self._baccarat,
            BlackjackRound: self._blackjack,
            Hand: self._holdem,
        }

    def row(self, dealt: Dealt, game: bytes | None) -> IndexedRound:
        """Return the row of a round that has ended. `game` is the SHA-256 of its game document;
        None if its end does not name it."""
        of_family = self._of_family[type(dealt)](dealt, game)
        return IndexedRound(
            dealt.first_event, dealt.last_event, dealt.shoe, dealt.round, of_family.name,
            dealt.started_unix_ms, dealt.ended_unix_ms, of_family.winner, dealt.void,
            of_family.ghost_hand, len(dealt.by_hand), dealt.sealed, of_family.totals,
            f" {' '.join(dict.fromkeys(of_family.outcomes))} ",
            ",".join(f"{name}:{''.join(cards)}" for name, cards in of_family.hands if cards),
            "".join(of_family.order), dealt.not_understood,
        )  # fmt: skip

    def _baccarat(self, dealt: Round, game: bytes | None) -> _OfFamily:
        totals = ""
        if dealt.player_total is not None:
            totals = f"{dealt.player_total} to {dealt.banker_total}"
        return _OfFamily(
            games.BACCARAT,
            totals,
            self._of_baccarat(dealt, game),
            [("Player", dealt.player), ("Banker", dealt.banker)],
            as_dealt(dealt),
            dealt.winner,
            dealt.ghost_hand,
        )

    def _blackjack(self, dealt: BlackjackRound, game: bytes | None) -> _OfFamily:
        totals = "" if dealt.dealer_total is None else f"dealer {dealt.dealer_total}"
        words = self._of_blackjack(dealt, game)
        return _OfFamily(games.BLACKJACK, totals, words, _boxes(dealt), dealt.dealt)

    def _holdem(self, dealt: Hand, game: bytes | None) -> _OfFamily:
        hands = [(f"seat {n}", cards) for n, cards in enumerate(dealt.hands, 1)]
        hands += [("board", dealt.board)] + [("second board", dealt.second)] * bool(dealt.second)
        words = [RUN_TWICE] * (dealt.run_twice is not None)
        return _OfFamily(games.HOLDEM, "", words, hands, dealt.dealt)

    def _game(self, sha256: bytes) -> FamilyGame | None:
        if sha256 not in self._games:
            document = self._kept(sha256)
            if document is None:  # it may be kept later
                return None
            try:
                self._games[sha256] = game_of(document)
            except GameError:
                self._games[sha256] = None
        return self._games[sha256]

    def _of_baccarat(self, dealt: Round, sha256: bytes | None) -> list[str]:
        words = [NATURAL] * dealt.natural + [*dealt.hits]
        words += [PLAYER_DREW] * (len(dealt.player) > 2) + [BANKER_DREW] * (len(dealt.banker) > 2)
        game = None if sha256 is None or dealt.winner is None else self._game(sha256)
        whole = all(2 <= len(hand) <= 3 for hand in (dealt.player, dealt.banker))
        if isinstance(game, Game) and whole:
            words += _winning(game, dealt)
        return words

    def _of_blackjack(self, dealt: BlackjackRound, sha256: bytes | None) -> list[str]:
        every = [hand for box in dealt.boxes for hand in box]
        words = [hand.outcome for hand in every if hand.outcome is not None]
        words += [DOUBLED] * any(hand.doubled for hand in every)
        words += [SPLIT] * any(len(box) > 1 for box in dealt.boxes)
        words += [DEALER_BLACKJACK] * bool(dealt.looked)
        words += [DEALER_BUST] * (dealt.dealer_total is not None and dealt.dealer_total > _MOST)
        house = None if sha256 is None or dealt.void else self._house(sha256)
        return words if house is None else [*words, *_side_wagers(dealt, house)]

    def _house(self, sha256: bytes) -> House | None:
        if sha256 not in self._houses:
            game = self._game(sha256)
            house = None
            if isinstance(game, BlackjackGame):
                try:
                    house = house_of(house_in(game))
                except SabotError:  # a document that this version of Sabot would not make
                    house = None
            self._houses[sha256] = house
        return self._houses[sha256]


def _winning(game: Game, dealt: Round) -> Iterator[str]:
    scored = score_unchecked(game, dealt.player, dealt.banker)
    natural = scored.player_natural or scored.banker_natural
    made = scored.player_total, scored.banker_total, scored.winner, natural
    if made != (dealt.player_total, dealt.banker_total, dealt.winner, dealt.natural):
        return  # records of cards are missing
    for wager in game.wagers:
        if wager in STANDARD:  # the winner says it
            continue
        outcome = outcome_of(wager, scored, game)
        if outcome.outcome == "win":
            yield wager
            yield outcome.prize


def _boxes(dealt: BlackjackRound) -> list[tuple[str, Sequence[str]]]:
    named: list[tuple[str, Sequence[str]]] = []
    for box, hands in enumerate(dealt.boxes, 1):
        for n, hand in enumerate(hands, 1):
            named.append((f"box {box}" if len(hands) == 1 else f"box {box} hand {n}", hand.cards))
    return [*named, ("dealer", dealt.dealer)]


def _side_wagers(dealt: BlackjackRound, house: House) -> Iterator[str]:
    """Yield the side wagers that won at any box, and their prizes."""
    dealer = [*dealt.dealer, None, None][:2]
    for box in range(1, len(dealt.boxes) + 1):
        came = [each for each, event in zip(dealt.dealt, dealt.drawn, strict=True)
                if event.position == f"{BOX}{box}"]  # fmt: skip
        if len(came) < 2 or dealer[0] is None:
            continue
        cards = (came[0], came[1])
        for name, paytable in house.side_wagers.items():
            wager = SIDE[name]
            if dealer[1] is None and wager.needs_hole(cards, dealer[0], paytable.pays):
                continue
            prizes = wager.won(cards, dealer[0], dealer[1], paytable.pays)
            if prizes:
                yield name
                yield from prizes
