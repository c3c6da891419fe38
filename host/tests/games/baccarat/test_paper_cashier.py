"""sabot.games settles as a second settler does, written from the documents: paper_cashier.

`SABOT_TABLES=5000` sets how many tables are settled in each game. `SABOT_SEED=...` sets the seed; a
table that is settled in two ways prints the seed that makes it alone, with `SABOT_TABLES=1`.
"""

import os
import random
import time
from typing import Any

import pytest

from host.tests.support import paper_cashier
from host.tests.support.table import game, of_three, scored, with_left
from sabot.errors import Forbidden
from sabot.games.baccarat import catalogue

NAMES = [each.name for each in catalogue.GAMES]
CARDS = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]
EVERY_WAGER = (
    *paper_cashier.STANDARD, *paper_cashier.DRAGON, *paper_cashier.TREASURES,
    "player_pair", "banker_pair", "dragon_7", "panda_8",
)  # fmt: skip
TABLES = int(os.environ.get("SABOT_TABLES", "100"))


def seeds() -> list[int]:
    first = int(os.environ.get("SABOT_SEED", time.time_ns() // 1000 & 0x3FFFFFFF))
    return [first + at for at in range(TABLES)]


def some_house(rng: random.Random, name: str) -> dict[str, Any]:
    """Values for some choices, each of them allowed; together they may contradict each other."""
    house: dict[str, Any] = {}
    for choice in catalogue.find_game(name).as_json()["choices"]:
        allowed = choice["allowed"]
        if choice["name"].endswith("um_cents") or choice["name"] == "limits_cents":
            continue
        if rng.random() < 0.5:
            ends = isinstance(allowed, dict)
            house[choice["name"]] = (
                rng.choice([allowed["from"], allowed["to"], rng.randint(*allowed.values())])
                if ends
                else rng.choice(allowed)
            )
    if rng.random() < 0.5:
        house["minimum_cents"] = rng.choice([1, 19, 500, 1000, 2000])
        house["maximum_cents"] = rng.choice([1000, 1500, 20_000, 100_000_000])
    if rng.random() < 0.3:
        wager = rng.choice(["tie", "player", "banker", "side", rng.choice(EVERY_WAGER)])
        least = rng.choice([1, 100, 3000])
        house["limits_cents"] = f"{wager}:{least}-{rng.choice([least, 2500, 60_000])}"
    return house


def complete(name: str, house: dict[str, Any]) -> dict[str, Any]:
    """All choices: those of the house and the defaults."""
    choices = catalogue.find_game(name).as_json()["choices"]
    return {each["name"]: each["default"] for each in choices} | house


def contradicts(name: str, house: dict[str, Any]) -> bool:
    """Whether choices that are allowed singly may not be made together."""
    offered = paper_cashier.offered(name, house)
    limit = house["limits_cents"]
    wager, _, amounts = limit.partition(":")
    least, _, most = amounts.partition("-")
    sides = offered - set(paper_cashier.STANDARD)
    # A round has 6 cards at most. One that is under way when the cut card comes has 5 more.
    after_cut = max(6, 5 + 6 * house["rounds_after_cut"])
    burnt = {"none": 0, "one": 1, "by_first": 1 + max(10, house["burn_ace"])}[house["burn"]]
    return (
        house["cut_from_end"] < after_cut
        or house["cut_from_end"] + burnt > 52 * house["decks"]
        or house["minimum_cents"] > house["maximum_cents"]
        or (house["turned_by"] == "players" and house["shown"] == "at_once")
        or house.get("heavenly_9_both_pays", 2) <= house.get("heavenly_9_pays", 1)
        or bool(limit and int(least) > int(most))
        or bool(limit and wager not in offered and not (wager == "side" and sides))
    )


def some_cents(rng: random.Random, house: dict[str, Any], wager: str) -> int:
    least, most = paper_cashier.limits(house, wager)
    near = (least - 1, least, least + rng.randint(1, 40), rng.randint(least, most), most, most + 1)
    return max(1, rng.choice(near[rng.random() < 0.7 :]))


def some_wagers(rng: random.Random, name: str, house: dict[str, Any]) -> dict[str, Any]:
    """A WAGERS.json; what lies on the table may be forbidden."""
    gallery = rng.random() < (0.4 if name == "mini" else 0.05)
    many = gallery or rng.random() < 0.1
    seats = set(range(1, house["areas"] + 1))
    if not many:
        seats = set(rng.sample(range(1, 10), rng.randint(1, 6)))
    if rng.random() < 0.1:
        seats ^= {rng.randint(1, 9)}
    areas = [("seat", number) for number in seats or {1}]
    if gallery:
        areas += [("line", number) for number in rng.sample(range(1, 9), rng.randint(1, 8))]
    rng.shuffle(areas)
    few_names = rng.random() < 0.3
    offered = sorted(paper_cashier.offered(name, house))
    positions = []
    for at, (kind, number) in enumerate(areas):
        wagers = set(rng.sample(offered, rng.randint(1, min(4, len(offered)))))
        if rng.random() < 0.7:
            wagers = (wagers - {"player", "banker"}) | {rng.choice(["player", "banker"])}
        if rng.random() < 0.03:
            wagers.add(rng.choice(EVERY_WAGER))
        who = rng.choice(["Ann", "Bob"]) if few_names else f"P{at}"
        amounts = {wager: some_cents(rng, house, wager) for wager in sorted(wagers)}
        position = {kind: number, "player": who, "wagers": amounts}
        if rng.random() < 0.05:
            position["changed_after"] = rng.choice(["no_more_bets", "first_card"])
        if rng.random() < 0.05:
            position["called"] = rng.choice(["unconfirmed", "confirmed", "converted"])
        positions.append(position)
    names = sorted({each["player"] for each in positions})
    file: dict[str, Any] = {"positions": positions}
    file["warned"] = [who for who in names if rng.random() < 0.2]
    if house["vigorish_when"] == "marked":
        owing = rng.sample([each for each in positions if "seat" in each], 1)
        file["markers"] = [
            {"seat": each["seat"], "player": each["player"], "owed_cents": rng.randint(1, 9999)}
            for each in owing
            if each["seat"] <= house["areas"] and rng.random() < 0.7
        ]
        file["leaving"] = [who for who in names if rng.random() < 0.2]
        file["last_of_shoe"] = rng.random() < 0.2
    return file


def some_hands(rng: random.Random, decks: int) -> tuple[str, str]:
    if rng.random() < 0.3:  # otherwise totals of 7 to 9 with three cards would be rare
        return of_three(rng.choice([6, 7, 8, 9]), rng.choice([6, 7, 7, 8, 9]))
    player, banker = paper_cashier.deal(rng.sample(CARDS * decks, 6))
    return " ".join(player), " ".join(banker)


@pytest.mark.parametrize("name", NAMES)
def test_a_round_is_settled_as_the_documents_say(name: str) -> None:
    for seed in seeds():
        print(f"SABOT_TABLES=1 SABOT_SEED={seed}")
        rng = random.Random(f"{name} {seed}")
        chosen = some_house(rng, name)
        house = complete(name, chosen)
        if contradicts(name, house):
            with pytest.raises(Forbidden):
                game(name, **chosen)
            continue
        game(name, **chosen)
        hands = some_hands(rng, house["decks"])
        void = rng.random() < 0.05
        dealt = paper_cashier.Round(hands[0].split(), hands[1].split())
        _compare_scores(scored(name, hands, **chosen), dealt)
        file = some_wagers(rng, name, house)
        print(name, chosen, file, "void" if void else hands)
        done = with_left(name, hands="misdeal" if void else hands, house=chosen, **file)
        paper = paper_cashier.settle(name, house, file, None if void else dealt)
        _compare(done, paper)
        if house["turned_by"] == "players" and not void:
            tied = house.get("equal_largest", "highest_seat")
            for hand, handler in done.handlers.items():
                turns = paper_cashier.who_turns(paper, hand, tied)
                shown = handler and (paper_cashier.place(str(handler.area)), handler.player)
                assert turns == shown


def _compare_scores(shown: Any, dealt: paper_cashier.Round) -> None:
    assert (shown.player_total, shown.banker_total) == (dealt.p, dealt.b)
    assert (shown.player_natural, shown.banker_natural) == (dealt.p_natural, dealt.b_natural)
    winner = "player" if dealt.p > dealt.b else "banker" if dealt.b > dealt.p else "tie"
    assert shown.winner == winner


def _compare(done: Any, paper: paper_cashier.Paper) -> None:
    order, steps = [], paper_cashier.Counter[Any]()
    phases = ("returned", "collected", "vigorish", "pushed", "marker")
    for step in done.steps:
        phase = phases.index(step.do.split()[0].replace("paid", "vigorish"))
        order.append((phase, -paper_cashier.place(str(step.area)), step.do == "paid"))
        steps[step.do, str(step.area), step.wager, step.amount_cents] += 1
    assert order == sorted(order)
    assert steps == paper.steps
    left = paper_cashier.Counter((str(each.area), each.wager, each.cents) for each in done.left)
    assert left == paper.left
    owed = {(str(each.area), each.player): each.owed_cents for each in done.markers}
    assert owed == dict(paper.owed)
    assert set(done.warned) == paper.warned
    sums = paper.totals
    vigorish = sums["vigorish collected"] + sums["marker collected"]
    names = ["wagered", "returned", "collected", "pushed", "won", "left", "paid"]
    expected = {f"{each}_cents": sums[each] for each in names} | {
        "vigorish_collected_cents": vigorish,
        "vigorish_marked_cents": sums["vigorish marked"],
        "house_cents": sums["collected"] + vigorish - sums["paid"],
        "owed_cents": sum(paper.owed.values()),
    }
    assert done.totals() == expected
