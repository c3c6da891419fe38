"""Settling neither creates nor loses money, with any wagers on the table of any game."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from host.tests.support.table import BANKER_WINS, game, of_three, scored
from sabot.audit.checks.rules import judge
from sabot.games import catalogue, wager_file
from sabot.games.settle import Settlement, settle
from sabot.games.wager_rules import WAGER_CLAUSES

pytestmark = pytest.mark.slow

NAMES = [each.name for each in catalogue.GAMES]
LEAST, MOST = 1000, 500_000

some_cents = some.one_of(
    some.integers(LEAST, MOST + 10),
    some.integers(MOST - 10, wager_file.MAX_CENTS),
    some.sampled_from([LEAST, MOST, MOST + 1, wager_file.MAX_CENTS]),
)
CARDS = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]


@some.composite
def some_hands(draw: some.DrawFn) -> tuple[str, str]:
    """Cards of a round, dealt by the rules of the host's verifier."""
    if draw(some.booleans()):  # otherwise totals of 7 to 9 with three cards would be rare
        return of_three(draw(some.integers(0, 9)), draw(some.integers(0, 9)))
    cards = draw(some.lists(some.sampled_from(CARDS), min_size=6, max_size=6))
    tries = [
        (cards[:2] + cards[4 : 4 + more], cards[2:4] + cards[4 + more : 4 + more + other])
        for more in (0, 1)
        for other in (0, 1)
    ]
    ((player, banker),) = [each for each in tries if judge(*each).wrong is None]
    return " ".join(player), " ".join(banker)


@some.composite
def some_table(draw: some.DrawFn) -> tuple[str, dict[str, Any], tuple[str, str] | str]:
    """A game, a WAGERS.json as written by people, and a round; the rules allow all of it."""
    name = draw(some.sampled_from(NAMES))
    choices = {each.name: each for each in catalogue.find_game(name).choices}
    when = draw(some.sampled_from(choices["vigorish_when"].allowed))
    rounding = draw(some.sampled_from(choices["vigorish_rounding"].allowed))
    house = {"vigorish_when": when, "vigorish_rounding": rounding}
    extra = [each for each in game(name).wagers if each not in ("player", "banker", "tie")]
    seats = draw(some.sets(some.integers(1, 9), min_size=1))
    lines: set[int] = set()
    if choices["gallery"].default and len(seats) == 9:
        lines = draw(some.sets(some.integers(1, 8)))
    honoured_once = WAGER_CLAUSES[catalogue.find_game(name).rules].honoured_once is not None
    cents = some.integers(1, LEAST) | some_cents if honoured_once else some_cents
    positions: list[dict[str, Any]] = []
    for kind, number in [("seat", n) for n in seats] + [("line", n) for n in lines]:
        own = {draw(some.sampled_from(["player", "banker", "tie"]))} | draw(
            some.sets(some.sampled_from(extra or ["tie"]))
        )
        if "dragon_bonus_player" in own:
            own.discard("dragon_bonus_banker")
        wagers = {wager: draw(cents) for wager in sorted(own)}
        positions.append({kind: number, "player": f"{kind} {number}", "wagers": wagers})
    names = [each["player"] for each in positions]
    file: dict[str, Any] = {"positions": positions, "house": house}
    file["warned"] = sorted(draw(some.sets(some.sampled_from(names))))
    if when == "marked":
        file["markers"] = [
            {"seat": n, "player": f"seat {n}", "owed_cents": draw(some.integers(1, 10_000))}
            for n in draw(some.sets(some.sampled_from(sorted(seats))))
        ]
        file["leaving"] = sorted(draw(some.sets(some.sampled_from(names))))
        file["last_of_shoe"] = draw(some.booleans())
    hands = draw(some.one_of(some_hands(), some.just("misdeal")))
    return name, file, hands


def _settle(
    name: str, file: dict[str, Any], hands: tuple[str, str] | str
) -> tuple[wager_file.WagerFile, Settlement]:
    wagers = wager_file.parse(json.dumps(file).encode())
    dealt = hands if isinstance(hands, str) else scored(name, hands)
    return wagers, settle(game(name, **wagers.house), wagers, dealt)


@settings(deadline=None, max_examples=400)
@given(some_table())
def test_each_wager_goes_somewhere_and_to_one_place_only(
    table: tuple[str, dict[str, Any], tuple[str, str] | str],
) -> None:
    wagers, done = _settle(*table)
    went: Counter[tuple[str, str]] = Counter()
    ends: Counter[tuple[str, str]] = Counter()
    for step in done.steps:
        assert step.amount_cents > 0
        if step.wager is None:
            continue
        key = (str(step.area), step.wager)
        if step.do in ("returned", "collected", "pushed"):
            went[key] += step.amount_cents
        went[key] += step.stake_cents
        ends[key] += step.do in ("collected", "pushed", "paid")
    assert went == {
        (str(position.area), wager): cents
        for position in wagers.positions
        for wager, cents in position.wagers.items()
    }
    assert max(ends.values()) <= 1


@settings(deadline=None, max_examples=400)
@given(some_table())
def test_what_the_players_lose_the_house_gains(
    table: tuple[str, dict[str, Any], tuple[str, str] | str],
) -> None:
    wagers, done = _settle(*table)
    totals = done.totals()
    purse: Counter[str] = Counter()  # what each player has gained since before the wagers
    for position in wagers.positions:
        purse[position.player] -= sum(position.wagers.values())
    for step in done.steps:
        if step.do in ("returned", "pushed", "paid"):
            purse[step.player] += step.amount_cents + step.stake_cents
        elif step.do in ("vigorish collected", "marker collected"):
            purse[step.player] -= step.amount_cents
    assert sum(purse.values()) == -totals["house_cents"]
    assert totals["wagered_cents"] == sum(
        totals[f"{name}_cents"] for name in ("returned", "collected", "pushed", "won")
    )
    owed = sum(marker.owed_cents for marker in wagers.markers)
    redeemed = sum(step.amount_cents for step in done.steps if step.do == "marker collected")
    assert owed + totals["vigorish_marked_cents"] == redeemed + totals["owed_cents"]


def _one_banker_wager(
    rounding: str, cents: int
) -> tuple[str, dict[str, Any], tuple[str, str] | str]:
    """A table with one wager, on Banker, of any size, which wins."""
    house = {"vigorish_when": "at_once", "vigorish_rounding": rounding, "minimum_cents": 1}
    seat_1 = {"seat": 1, "player": "seat 1", "wagers": {"banker": cents}}
    return "md-mini", {"positions": [seat_1], "house": house, "warned": []}, BANKER_WINS


@settings(deadline=None, max_examples=200)
@given(some_table())
@example(_one_banker_wager("exact", 1))
@example(_one_banker_wager("exact", 20))
@example(_one_banker_wager("nearest_25", 249))
@example(_one_banker_wager("nearest_25", 250))
@example(_one_banker_wager("up_25", 1))
def test_vigorish_is_of_what_was_paid_and_the_order_is_the_dealers(
    table: tuple[str, dict[str, Any], tuple[str, str] | str],
) -> None:
    name, file, _ = table
    wagers, done = _settle(*table)
    order = ("returned", "collected", "vigorish", "pushed", "marker")
    ranks = [order.index(step.do.split()[0].replace("paid", "vigorish")) for step in done.steps]
    assert ranks == sorted(ranks)
    for rank in set(ranks):
        places = [s.area.place for s, own in zip(done.steps, ranks, strict=True) if own == rank]
        assert places == sorted(places, reverse=True)
    paid = {
        step.area: step.amount_cents
        for step in done.steps
        if step.wager == "banker" and step.do == "paid"
    }
    permille = game(name, **wagers.house).house["vigorish_permille"]
    for step in done.steps:
        if step.do.startswith("vigorish"):
            assert step.wager == "banker"
            exact = paid.pop(step.area) * permille / 1000
            assert abs(step.amount_cents - exact) < 25
            if file["house"]["vigorish_rounding"] == "exact":
                assert exact - 1 < step.amount_cents <= exact
    # If no vigorish is taken, it was rounded to 0, for a win of a few cents.
    rounding = game(name, **wagers.house).house["vigorish_rounding"]
    nothing_below_cents = {"exact": 1, "nearest_25": 12.5, "up_25": 0}[rounding]
    for won_cents in paid.values():
        exact = won_cents * permille / 1000
        assert exact == 0 or exact < nothing_below_cents
    shown = done.as_json()
    numbers = [
        each["step"]
        for name in ("returned", "collected", "vigorish", "paid", "pushed")
        for each in shown[name]
    ]
    assert sorted(numbers) == list(range(1, len(done.steps) + 1))
    assert shown["totals"] == done.totals()
