"""The score of a round from its cards, by the same tables that the shoe deals by."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sabot.errors import ImpossibleDeal
from sabot.log.rounds import hit_names
from sabot.text import card_symbol, counted
from sabot_firmware.table import rules
from sabot_protocol import cards, enums
from sabot_protocol.baccarat import Game

_PLAYING_CARDS = [cards.name_of(card) for card in range(cards.DECK_SIZE)]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a possible round. Cards by name, in the order in which the hand got them."""

    player: tuple[str, ...]
    banker: tuple[str, ...]
    player_total: int
    banker_total: int
    winner: str
    """One of `enums.WINNERS`."""
    player_natural: bool
    banker_natural: bool
    margin: int
    """Difference of the totals, 0 to 9."""
    hits: frozenset[str] = frozenset()
    """Those of `enums.HITS` that the round has and that a wager of its game depends on."""

    def as_json(self) -> dict[str, Any]:
        """Return the score as `sabot score --json` prints it."""
        hits = [name for name in enums.HITS if name in self.hits]
        return asdict(self) | {"hits": hits}


def score(game: Game, player: Sequence[str], banker: Sequence[str]) -> Score:
    """Score a round of `game` from its cards, such as "7H" and "TC".

    Raises ImpossibleDeal, with the reason, if no round can have these cards.
    """
    hands = {"Player": _numbers(player), "Banker": _numbers(banker)}
    copies = Counter([*player, *banker])
    for name, count in copies.items():
        if count > game.decks:
            decks = counted(game.decks, "deck")
            raise ImpossibleDeal(f"{count} copies of {name} in a shoe of {decks}")
    for name, hand in hands.items():
        if not 2 <= len(hand) <= 3:
            raise ImpossibleDeal(
                f"{name} has {counted(len(hand), 'card')}; a hand has two or three"
            )
    _check_draws(game, hands["Player"], hands["Banker"])
    return score_unchecked(game, player, banker)


def score_unchecked(game: Game, player: Sequence[str], banker: Sequence[str]) -> Score:
    """Score as `score` does, without checks: the cards must be a whole and possible round."""
    hands = [cards.number_of(name) for name in player], [cards.number_of(name) for name in banker]
    player_total, banker_total = map(rules.total_of, hands)
    player_first, banker_first = (rules.total_of(hand[:2]) for hand in hands)
    return Score(
        player=tuple(player),
        banker=tuple(banker),
        player_total=player_total,
        banker_total=banker_total,
        winner=_winner(player_total, banker_total),
        player_natural=rules.is_natural(player_first),
        banker_natural=rules.is_natural(banker_first),
        margin=abs(player_total - banker_total),
        hits=frozenset(hit_names(rules.hits_of(*hands) & game.hits)),
    )


def _numbers(hand: Sequence[str]) -> list[int]:
    for name in hand:
        if name not in _PLAYING_CARDS:
            raise ImpossibleDeal(f"{name!r} is not a playing card; write 7H, TC")
    return [cards.number_of(name) for name in hand]


def _winner(player_total: int, banker_total: int) -> str:
    if player_total == banker_total:
        return "tie"
    return "player" if player_total > banker_total else "banker"


def _check_draws(game: Game, player: list[int], banker: list[int]) -> None:
    totals = {"Player": rules.total_of(player[:2]), "Banker": rules.total_of(banker[:2])}
    for name, total in totals.items():
        if rules.is_natural(total):
            for hand, held in (("Player", player), ("Banker", banker)):
                _check_third(hand, held, False, f"{name} has a natural {total}")
            return
    total = totals["Player"]
    due = rules.player_draws(game, total)
    _check_third("Player", player, due, f"Player {_acts(due)} on {total}")
    third = player[2] if due else rules.NO_CARD
    drawn = f"Player's third card {card_symbol(cards.name_of(third))}"
    against = drawn if due else "a Player that stood"
    total = totals["Banker"]
    due = rules.banker_draws(game, total, third)
    _check_third("Banker", banker, due, f"Banker {_acts(due)} on {total} against {against}")


def _check_third(name: str, hand: list[int], due: bool, why: str) -> None:
    if due and len(hand) == 2:
        raise ImpossibleDeal(f"{name}'s third card is missing: {why}")
    if not due and len(hand) == 3:
        raise ImpossibleDeal(f"{name}'s third card was not due: {why}")


def _acts(draws: bool) -> str:
    return "draws" if draws else "stands"
