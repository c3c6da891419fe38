"""Why each thing was done in a round: the decisions, each with the rule that made it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sabot.audit.play.rules import total as total_of_baccarat
from sabot.errors import SabotError
from sabot.floor.rounds.rule_card import points
from sabot.games.baccarat.catalogue import find_game
from sabot.games.baccarat.score import score
from sabot.games.baccarat.wagers import WAGERS, outcome_of
from sabot.games.blackjack.house import HITS, NO_HOLE_CARD
from sabot.link.events import (
    BettingClosedEvent,
    BettingEndedEvent,
    BlackjackResultEvent,
    CardEvent,
    DecisionEvent,
    Event,
    HandResultEvent,
    LookedEvent,
    PlayEvent,
    RunTwiceEvent,
)
from sabot.log.rounds import Round
from sabot.text import card_symbol
from sabot_protocol import cards
from sabot_protocol.baccarat import Game
from sabot_protocol.blackjack import BlackjackGame
from sabot_protocol.games import FamilyGame

_NATURAL = "natural"
_UNKNOWN = "the log does not have the game document, so that the rule cannot be shown"


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that was decided in a round."""

    event: int
    who: str
    """ "Player", "Banker", "Dealer", "Box 2 hand 1"."""
    what: str
    why: str
    """The rule, and what it was applied to."""
    clause: str = ""
    """Where the rule stands; empty if that is not known."""


@dataclass(frozen=True, slots=True)
class WagerVerdict:
    """What a wager of the game does after a round."""

    title: str
    outcome: str
    """ "win", "push" or "lose"."""
    pays_to_one: int
    prize: str
    clause: str


_CLOSED_BY = {
    "button": "the dealer pressed the button",
    "card": "the dealer drew the first card",
}


def decisions(events: Iterable[Event], game: FamilyGame | None) -> list[Decision]:
    """The decisions in the events of a round, which may be shown. `game` dealt it."""
    return list(_decisions(list(events), game))


def verdicts(dealt: Round, game: Game) -> list[WagerVerdict]:
    """What each wager of the game does after a round of baccarat; nothing if it was void, or if no
    round can have its cards."""
    if dealt.winner is None or dealt.not_understood is not None:
        return []
    try:
        scored = score(game, dealt.player, dealt.banker)
    except SabotError:  # the proof of the play says what is wrong
        return []
    clauses = {name: _wager_clause(game, name) for name in game.wagers}
    outcomes = {name: outcome_of(name, scored, game) for name in game.wagers}
    return [
        WagerVerdict(WAGERS[name].title, each.outcome, each.pays_to_one, each.prize, clauses[name])
        for name, each in outcomes.items()
    ]


def _decisions(events: list[Event], game: FamilyGame | None) -> Iterator[Decision]:
    third: int | None = None  # the Player's third card
    naturals = [
        each.hand for each in events if isinstance(each, DecisionEvent) and each.action == _NATURAL
    ]
    for event in events:
        if isinstance(event, CardEvent) and event.position == "player_3":
            third = event.card
        elif isinstance(event, BettingClosedEvent):
            by = _CLOSED_BY.get(event.by, "in a way that this version of Sabot does not know")
            yield Decision(event.number, "Dealer", "no more bets", by)
        elif isinstance(event, DecisionEvent):
            yield _of_baccarat(event, third, naturals, game)
        elif isinstance(event, PlayEvent):
            total = f"soft {event.total}" if event.soft else f"{event.total}"
            who = f"Box {event.box} hand {event.hand}"
            yield Decision(event.number, who, event.action, f"the player's choice on {total}")
        elif isinstance(event, LookedEvent):
            yield _looked(event, events, game)
        elif isinstance(event, HandResultEvent):
            yield _hand_result(event, events)
        elif isinstance(event, BlackjackResultEvent):
            yield _dealer(event, game)
        elif isinstance(event, BettingEndedEvent):
            street = "before the flop" if event.street == "preflop" else f"on the {event.street}"
            yield Decision(event.number, "Dealer", f"betting ended {street}", "pressed the button")
        elif isinstance(event, RunTwiceEvent):
            yield Decision(
                event.number, "Players", f"run it twice from the {event.street}",
                "asked for before the river, and confirmed by the dealer",
                "Maryland poker, Chapter 8 L",
            )  # fmt: skip


def _of_baccarat(
    event: DecisionEvent, third: int | None, naturals: Sequence[str], game: FamilyGame | None
) -> Decision:
    who, what = event.hand.capitalize(), f"{event.action} on {event.total}"
    if not isinstance(game, Game):
        return Decision(event.number, who, what, _UNKNOWN)
    clause = _clause(game)
    if event.action == _NATURAL:
        why = "8 or 9 with two cards is a natural: neither hand draws"
        return Decision(event.number, who, f"has a natural {event.total}", why, clause)
    if naturals:
        why = f"the {naturals[0].capitalize()} has a natural: neither hand draws"
    elif event.hand == "player":
        why = f"the Player draws on {points(list(game.player_draws))}, and stands on 6 and 7"
    elif third is None:
        why = (
            "the Player stood: the Banker draws on "
            f"{points(list(game.banker_draws_if_player_stood))}"
        )
    else:
        on = list(game.banker_draws[event.total]) if event.total < len(game.banker_draws) else []
        drawn = f"the Player's third card {card_symbol(cards.name_of(third))}"
        counts = f"counts {total_of_baccarat([cards.name_of(third)])}"
        draws = f"draws to a third card of {points(on)}" if on else "never draws"
        why = f"the Banker on {event.total} {draws}; {drawn} {counts}"
    return Decision(event.number, who, what, why, clause)


def _looked(event: LookedEvent, events: Iterable[Event], game: FamilyGame | None) -> Decision:
    up = next((each for each in events
               if isinstance(each, CardEvent) and each.position == "dealer"), None)  # fmt: skip
    what = "looked: dealer blackjack" if event.blackjack else "looked: no blackjack"
    why = "with such a card up"
    if isinstance(game, BlackjackGame):
        looks = str(game.looks).replace("_", " ")
        why = f"the house looks with {looks} up"
    if up is not None:
        why += f"; {card_symbol(cards.name_of(up.card))} was up"
    return Decision(event.number, "Dealer", what, why)


def _hand_result(event: HandResultEvent, events: Iterable[Event]) -> Decision:
    dealer = next((each for each in events if isinstance(each, BlackjackResultEvent)), None)
    total = f"soft {event.total}" if event.soft else f"{event.total}"
    why = total if dealer is None else f"{total} against the dealer's {dealer.dealer_total}"
    return Decision(event.number, f"Box {event.box} hand {event.hand}", event.outcome, why)


def _dealer(event: BlackjackResultEvent, game: FamilyGame | None) -> Decision:
    total = f"soft {event.dealer_total}" if event.soft else f"{event.dealer_total}"
    why = "the dealer draws to 16 and stands on 17"
    if isinstance(game, BlackjackGame):
        soft = "draws" if game.soft_17 == HITS else "stands"
        why = f"the dealer draws to 16, {soft} on soft 17, and stands on all others"
        why += "; no hole card is dealt" * (game.hole_card == NO_HOLE_CARD)
    return Decision(event.number, "Dealer", f"ends with {total}", why)


def _clause(game: Game) -> str:
    try:
        found = find_game(game.name)
    except SabotError:
        return ""
    return f"{found.rules.capitalize()}, {found.clauses['draws']}"


def _wager_clause(game: Game, name: str) -> str:
    try:
        return WAGERS[name].clauses.get(find_game(game.name).rules, "")
    except SabotError:
        return ""
