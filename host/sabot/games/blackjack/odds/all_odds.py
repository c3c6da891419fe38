"""All odds of blackjack with new cards: side wagers, insurance, the dealer's final hands, and what
the blackjack wager is worth."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sabot.games.blackjack.house import House
from sabot.games.blackjack.odds.dealer_odds import (
    BLACKJACK,
    BUST,
    POINTS,
    all_final_odds,
    new_cards,
    points_text,
)
from sabot.games.blackjack.odds.main_odds import UpCardOdds, up_card_odds
from sabot.games.blackjack.odds.side_odds import (
    InsuranceOdds,
    WagerOdds,
    all_insurance,
    insurance_odds,
    side_odds,
)
from sabot.games.blackjack.paytables import odds_text

_NAMES = {BLACKJACK: "blackjack", BUST: "bust"}

UP_CARDS = (*POINTS[1:], POINTS[0])
"""The points of the up cards in the order of tables: from 2 to the ace."""


@dataclass(frozen=True, slots=True)
class Odds:
    """The odds of blackjack with new cards and the choices of a house."""

    house: House
    side: dict[str, WagerOdds]
    insurance: dict[int, InsuranceOdds]
    """By the number of cards of ten points in the box's own hand."""
    dealer: dict[int, dict[int, Fraction]]
    """The probability of each final hand, by the points of the up card; before the dealer looks."""
    up_cards: dict[int, UpCardOdds]

    @property
    def edge(self) -> Fraction:
        """What the house gains on average of each unit of the blackjack wager."""
        return -sum((each.probability * each.worth for each in self.up_cards.values()), Fraction(0))

    def as_json(self) -> dict[str, Any]:
        """Return what `sabot odds --game blackjack --json` prints."""
        whole = all_insurance(self.insurance)
        return {
            "decks": self.house.decks,
            "wagers": {name: _wager_json(odds) for name, odds in self.side.items()},
            "insurance": _insurance_json(whole)
            | {
                "by_tens": [
                    {"tens": tens} | _insurance_json(odds) for tens, odds in self.insurance.items()
                ]
            },
            "dealer": [
                {"up": points_text(up)}
                | {
                    "finals": [
                        {"final": final_text(final)} | number_json("probability", probability)
                        for final, probability in self.dealer[up].items()
                    ]
                }
                for up in UP_CARDS
            ],
            "main": number_json("edge", self.edge)
            | {
                "up_cards": [
                    {"up": points_text(up)}
                    | number_json("worth", self.up_cards[up].worth)
                    | {"plays": [_play_json(pair, self.up_cards[up]) for pair in pairs()]}
                    for up in UP_CARDS
                ]
            },
        }


def odds(house: House, done: Callable[[], None] = lambda: None) -> Odds:
    """Return all odds. It takes seconds; `done` is called after each of its steps, of which there
    are `STEPS`."""
    side = side_odds(house)
    insurance = insurance_odds(house.decks)
    dealer = all_final_odds(new_cards(house.decks), house.soft_17)
    done()
    up_cards: dict[int, UpCardOdds] = {}
    for up in UP_CARDS:
        up_cards[up] = up_card_odds(house, up)
        done()
    return Odds(house, side, insurance, dealer, up_cards)


STEPS = 1 + len(UP_CARDS)
"""How often `odds` calls `done`."""


def pairs() -> list[tuple[int, int]]:
    """Return the points of all first two cards, the lower first."""
    return [(low, high) for low in POINTS for high in range(low, POINTS.stop)]


def final_text(final: int) -> str:
    """Return what the dealer ends with as text."""
    return _NAMES.get(final, str(final))


def number_json(name: str, value: Fraction) -> dict[str, Any]:
    """Return a number as a float, and exactly as a fraction in text."""
    return {name: float(value), f"{name}_exact": str(value)}


def _wager_json(odds: WagerOdds) -> dict[str, Any]:
    pays = [
        {"prizes": list(prizes), "pays": odds_text(to_one), "combinations": count}
        for prizes, (to_one, count) in odds.prizes.items()
    ]
    shown = {"total": odds.total, "win": odds.win, "lose": odds.lose}
    return shown | number_json("edge", odds.edge) | {"pays": pays}


def _insurance_json(odds: InsuranceOdds) -> dict[str, Any]:
    shown = {"total": odds.total, "win": odds.win, "lose": odds.total - odds.win}
    return shown | number_json("edge", odds.edge)


def _play_json(pair: tuple[int, int], against: UpCardOdds) -> dict[str, Any]:
    play = against.plays[pair]
    return {"cards": [*map(points_text, pair)], "does": play.does, "worth": float(play.worth)}
