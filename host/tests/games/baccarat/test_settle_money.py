"""Settling neither creates nor loses money, with any wagers on the table of any game."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from host.tests.support.table import BANKER_WINS, game, of_three, scored
from sabot.audit.play.rules import judge
from sabot.games import json_fields
from sabot.games.baccarat import catalogue, wager_file
from sabot.games.baccarat.settle import Settlement, settle
from sabot.games.baccarat.wager_rules import WAGER_CLAUSES

pytestmark = pytest.mark.slow

NAMES = [each.name for each in catalogue.GAMES]
LEAST, MOST = 1000, 500_000

some_cents = st.one_of(
    st.integers(LEAST, MOST + 10),
    st.integers(MOST - 10, json_fields.MAX_CENTS),
    st.sampled_from([LEAST, MOST, MOST + 1, json_fields.MAX_CENTS]),
)
CARDS = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]


@st.composite
def some_hands(draw: st.DrawFn) -> tuple[str, str]:
    """Cards of a round, dealt by the rules of the host's verifier."""
    if draw(st.booleans()):  # otherwise totals of 7 to 9 with three cards would be rare
        return of_three(draw(st.integers(0, 9)), draw(st.integers(0, 9)))
    cards = draw(st.lists(st.sampled_from(CARDS), min_size=6, max_size=6))
    tries = [
        (cards[:2] + cards[4 : 4 + more], cards[2:4] + cards[4 + more : 4 + more + other])
        for more in (0, 1)
        for other in (0, 1)
    ]
    ((player, banker),) = [each for each in tries if judge(*each).wrong is None]
    return " ".join(player), " ".join(banker)


@st.composite
def some_table(draw: st.DrawFn) -> tuple[str, dict[str, Any], tuple[str, str] | str]:
    """A game, a WAGERS.json as written by people, and a round; the rules allow all of it."""
    name = draw(st.sampled_from(NAMES))
    choices = {each.name: each for each in catalogue.find_game(name).choices}
    when = draw(st.sampled_from(choices["vigorish_when"].allowed))
    rounding = draw(st.sampled_from(choices["vigorish_rounding"].allowed))
    house = {"vigorish_when": when, "vigorish_rounding": rounding}
    extra = [each for each in game(name).wagers if each not in ("player", "banker", "tie")]
    seats = draw(st.sets(st.integers(1, 9), min_size=1))
    lines: set[int] = set()
    if choices["gallery"].default and len(seats) == 9:
        lines = draw(st.sets(st.integers(1, 8)))
    honoured_once = WAGER_CLAUSES[catalogue.find_game(name).rules].honoured_once is not None
    cents = st.integers(1, LEAST) | some_cents if honoured_once else some_cents
    positions: list[dict[str, Any]] = []
    for kind, number in [("seat", n) for n in seats] + [("line", n) for n in lines]:
        own = {draw(st.sampled_from(["player", "banker", "tie"]))} | draw(
            st.sets(st.sampled_from(extra or ["tie"]))
        )
        if "dragon_bonus_player" in own:
            own.discard("dragon_bonus_banker")
        wagers = {wager: draw(cents) for wager in sorted(own)}
        positions.append({kind: number, "player": f"{kind} {number}", "wagers": wagers})
    names = [each["player"] for each in positions]
    file: dict[str, Any] = {"positions": positions, "house": house}
    file["warned"] = sorted(draw(st.sets(st.sampled_from(names))))
    if when == "marked":
        file["markers"] = [
            {"seat": n, "player": f"seat {n}", "owed_cents": draw(st.integers(1, 10_000))}
            for n in draw(st.sets(st.sampled_from(sorted(seats))))
        ]
        file["leaving"] = sorted(draw(st.sets(st.sampled_from(names))))
        file["last_of_shoe"] = draw(st.booleans())
    hands = draw(st.one_of(some_hands(), st.just("misdeal")))
    return name, file, hands


def _settle(
    name: str, file: dict[str, Any], hands: tuple[str, str] | str
) -> tuple[wager_file.WagerFile, Settlement]:
    wagers = wager_file.parse(json.dumps(file).encode())
    dealt = hands if isinstance(hands, str) else scored(name, hands)
    return wagers, settle(game(name, **wagers.house), wagers, dealt)


@settings(deadline=None, max_examples=80)
@given(some_table())
def test_each_wager_is_accounted_for_once(
    table: tuple[str, dict[str, Any], tuple[str, str] | str],
) -> None:
    wagers, done = _settle(*table)
    accounted_for: Counter[tuple[str, str]] = Counter()
    outcomes: Counter[tuple[str, str]] = Counter()
    for step in done.steps:
        assert step.amount_cents > 0
        if step.wager is None:
            continue
        key = (str(step.area), step.wager)
        if step.do in ("returned", "collected", "pushed"):
            accounted_for[key] += step.amount_cents
        accounted_for[key] += step.stake_cents
        outcomes[key] += step.do in ("collected", "pushed", "paid")
    assert accounted_for == {
        (str(position.area), wager): cents
        for position in wagers.positions
        for wager, cents in position.wagers.items()
    }
    assert max(outcomes.values()) <= 1


@settings(deadline=None, max_examples=80)
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


@settings(deadline=None, max_examples=60)
@given(some_table())
@example(_one_banker_wager("exact", 1))
@example(_one_banker_wager("exact", 20))
@example(_one_banker_wager("up_25", 1))
def test_vigorish_is_a_share_of_what_was_paid_and_the_order_is_the_dealers(
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
                assert exact - 1 < step.amount_cents <= exact or step.amount_cents == 1
    # Only where the rate is "up to 5%" it may come to nothing, for a win of less than 20 cents.
    for won_cents in paid.values():
        exact = won_cents * permille / 1000
        assert exact == 0 or (name == "mini" and exact < 1)
    shown = done.as_json()
    numbers = [
        each["step"]
        for name in ("returned", "collected", "vigorish", "paid", "pushed")
        for each in shown[name]
    ]
    assert sorted(numbers) == list(range(1, len(done.steps) + 1))
    assert shown["totals"] == done.totals()
