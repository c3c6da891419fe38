"""Scores and settles a round as the rule documents say. Shares no code with sabot.games."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

STANDARD = ("player", "banker", "tie")
DRAGON = ("dragon_bonus_player", "dragon_bonus_banker")
TREASURES = ("fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all")
LOSE, PUSH = "lose", "push"
MARGINS = {  # Maryland 12 F: for a win by 9, 8, 7, 6, 5 and 4 points
    "A": (30, 10, 6, 4, 2, 1),
    "B": (20, 8, 7, 4, 3, 1),
    "C": (30, 10, 4, 4, 2, 2),
}


def total(cards: list[str]) -> int:
    """Aces count 1, tens and pictures 0; only the last digit counts."""
    return sum("A23456789".find(card[0]) + 1 for card in cards) % 10


def deal(cards: list[str]) -> tuple[list[str], list[str]]:
    """The hands of a round dealt from the front of `cards`, at least six."""
    player, banker = [cards[0], cards[2]], [cards[1], cards[3]]
    if total(player) >= 8 or total(banker) >= 8:
        return player, banker
    if total(player) >= 6:
        return player, banker + cards[4:5] * (total(banker) <= 5)
    player, third = [*player, cards[4]], total([cards[4]])
    lowest_highest = {3: (0, 9), 4: (2, 7), 5: (4, 7), 6: (6, 7), 7: (10, 10)}
    lowest, highest = lowest_highest.get(total(banker), (0, 9))
    draws = lowest <= third <= highest and not (total(banker) == 3 and third == 8)
    return player, banker + cards[5:6] * draws


@dataclass
class Round:
    """The hands of a round, with what the documents call them."""

    player: list[str]
    banker: list[str]

    def __post_init__(self) -> None:
        self.p, self.b = total(self.player), total(self.banker)
        self.p3, self.b3 = len(self.player) == 3, len(self.banker) == 3
        self.p_natural = not self.p3 and self.p >= 8
        self.b_natural = not self.b3 and self.b >= 8
        self.dragon_7 = self.b3 and self.b == 7 > self.p
        self.panda_8 = self.p3 and self.p == 8 > self.b


def outcome(name: str, house: dict[str, Any], wager: str, dealt: Round) -> str | int:
    """What becomes of a wager: "lose", "push", or its odds to one."""
    p, b, ez = dealt.p, dealt.b, name.startswith("ez")
    if wager == "tie":
        return house["tie_pays"] if p == b else LOSE
    if wager in ("player", "banker"):
        if p == b or (ez and wager == "banker" and dealt.dragon_7):
            return PUSH
        return 1 if (p > b) == (wager == "player") else LOSE
    if wager in ("player_pair", "banker_pair"):
        first, second = (dealt.player if wager == "player_pair" else dealt.banker)[:2]
        return 11 if first[0] == second[0] else LOSE
    if wager == "dragon_7":
        return 40 if dealt.dragon_7 else LOSE
    if wager == "panda_8":
        return 25 if dealt.panda_8 else LOSE
    if wager in DRAGON:
        return _dragon_bonus(house, wager, dealt)
    return _treasure(house, wager, dealt) or LOSE


def _dragon_bonus(house: dict[str, Any], wager: str, dealt: Round) -> str | int:
    own, other, natural = dealt.p, dealt.b, dealt.p_natural
    if wager == "dragon_bonus_banker":
        own, other, natural = dealt.b, dealt.p, dealt.b_natural
    if dealt.p_natural and dealt.b_natural and own == other:
        return PUSH if house.get("natural_tie", PUSH) == PUSH else LOSE
    if natural:
        return 1 if own > other else LOSE
    return MARGINS[house["dragon_bonus"]][9 - (own - other)] if own - other >= 4 else LOSE


def _treasure(house: dict[str, Any], wager: str, dealt: Round) -> int:
    """The odds of a wager of the 5 Treasures; 0 if it loses."""
    if wager == "fortune_7":
        return house["fortune_7_pays"] if dealt.b3 and dealt.b == 7 and dealt.b > dealt.p else 0
    if wager == "golden_8":
        return house["golden_8_pays"] if dealt.p3 and dealt.p == 8 and dealt.p > dealt.b else 0
    if wager == "heavenly_9":
        nines = (dealt.p3 and dealt.p == 9) + (dealt.b3 and dealt.b == 9)
        return (0, house["heavenly_9_pays"], house["heavenly_9_both_pays"])[nines]
    if wager == "blazing_7s":
        if not dealt.p == dealt.b == 7:
            return 0
        kind = ("two", "mixed", "three")[dealt.p3 + dealt.b3]
        return house[f"blazing_7s_{kind}_pays"]
    return house["cover_all_pays"] * any(_treasure(house, other, dealt) for other in TREASURES[:4])


def vigorish(name: str, house: dict[str, Any], won_cents: int) -> int:
    """Vigorish of a Banker wager that won, in cents."""
    share = won_cents * house["vigorish_permille"]  # in thousandths of a cent
    if house["vigorish_rounding"] == "up_25":
        return -(-share // 25_000) * 25
    least = 1 if share and name != "mini" else 0  # only Washington's rate is "up to"
    return max(share // 1000, least)


def offered(name: str, house: dict[str, Any]) -> set[str]:
    wagers = set(STANDARD)
    if name.startswith("ez"):
        wagers |= {"dragon_7", "panda_8"}
    if house["pairs"]:
        wagers |= {"player_pair", "banker_pair"}
    if house["dragon_bonus"] != "none":
        wagers |= set(DRAGON)
    return wagers | (set(TREASURES) if house["treasures"] else set())


def limits(house: dict[str, Any], wager: str) -> tuple[int, int]:
    """The minimum and the maximum of a wager: its own, those of side wagers, or the table's."""
    own = dict(each.strip().split(":") for each in house["limits_cents"].split(",") if each)
    found = own.get(wager) or (own.get("side") if wager not in STANDARD else None)
    if not found:
        return house["minimum_cents"], house["maximum_cents"]
    least, most = found.split("-")
    return int(least), int(most)


@dataclass
class Paper:
    """What is to be done: (what, "seat 3" or "line 2", wager, cents), in any order."""

    steps: Counter[tuple[str, str, str | None, int]] = field(default_factory=Counter)
    left: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    owed: Counter[tuple[str, str]] = field(default_factory=Counter)
    warned: set[str] = field(default_factory=set)
    stakes: list[tuple[float, str, str, int]] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)

    def do(self, what: str, where: str, wager: str | None, cents: int) -> None:
        self.steps[what, where, wager, cents] += 1
        self.totals[what] += cents


def where(position: dict[str, Any]) -> str:
    return next(f"{kind} {position[kind]}" for kind in ("seat", "line") if kind in position)


def settle(name: str, house: dict[str, Any], file: dict[str, Any], dealt: Round | None) -> Paper:
    """Settle WAGERS.json, with all choices of the house in `house`; a void round is None."""
    paper = Paper(warned=set(file.get("warned", ())))
    for marker in file.get("markers", ()):
        paper.owed[where(marker), marker["player"]] += marker["owed_cents"]
    refused = set() if dealt is None else _refused(name, house, file)
    for position in file["positions"]:
        area, who = where(position), position["player"]
        for wager, cents in position["wagers"].items():
            paper.totals["wagered"] += cents
            if dealt is None:
                paper.do("returned", area, wager, cents)
            elif (area, who, wager) in refused:
                paper.left[area, wager, cents] += 1
                paper.totals["left"] += cents
            else:
                _settle_wager(paper, (name, house, file), position, wager, dealt)
    for (area, who), cents in list(paper.owed.items()):
        if file.get("last_of_shoe") or who in file.get("leaving", ()):
            paper.do("marker collected", area, None, cents)
            del paper.owed[area, who]
    return paper


def _settle_wager(
    paper: Paper, table: tuple[str, Any, Any], position: dict[str, Any], wager: str, dealt: Round
) -> None:
    name, house, file = table
    area, who, cents = where(position), position["player"], position["wagers"][wager]
    least, most = limits(house, wager)
    if cents < least:  # only the pairs document lets it come this far
        if who in file.get("warned", ()):
            paper.do("returned", area, wager, cents)
            return
        paper.warned.add(who)
    if cents > most:
        paper.do("returned", area, wager, cents - most)
    stake = min(cents, most)
    paper.stakes.append((place(area), who, wager, stake))
    odds = outcome(name, house, wager, dealt)
    if odds == LOSE:
        paper.do("collected", area, wager, stake)
    elif odds == PUSH:
        paper.do("pushed", area, wager, stake)
    else:
        paper.totals["won"] += stake
        paper.do("paid", area, wager, stake * int(odds))
        owed = vigorish(name, house, stake) if wager == "banker" else 0
        if owed and house["vigorish_when"] == "marked":
            paper.do("vigorish marked", area, wager, owed)
            paper.owed[area, who] += owed
        elif owed:
            paper.do("vigorish collected", area, wager, owed)


def place(area: str) -> float:
    """Seats are at whole numbers; line 2 is between seats 2 and 3."""
    kind, number = area.split()
    return int(number) + (0.5 if kind == "line" else 0)


def _refused(name: str, house: dict[str, Any], file: dict[str, Any]) -> set[tuple[str, str, str]]:
    """The wagers that the rules do not allow, as (area, player, wager)."""
    pairs_game, maryland = name == "mini-pairs", name[:2] in ("md", "ez")
    late = ("first_card",) if name in ("mini", "mini-pairs") else ("no_more_bets", "first_card")
    used = Counter(where(each) for each in file["positions"])
    areas_of = Counter(each["player"] for each in file["positions"])
    seats_used = {each["seat"] for each in file["positions"] if "seat" in each}
    full = seats_used >= set(range(1, house["areas"] + 1))
    refused = set()
    for each in file["positions"]:
        area, who = where(each), each["player"]
        wrong = (
            each.get("seat", 1) > house["areas"]
            or ("line" in each and not (house["gallery"] and full))
            or ("line" in each and each["line"] >= house["areas"])
            or used[area] > 1
            or (name == "mini" and areas_of[who] > 9)  # Washington, item 4(e)
            or each.get("changed_after") in late
            or each.get("called") in ("unconfirmed", "confirmed")
        )
        for wager, cents in each["wagers"].items():
            below = not pairs_game and cents < limits(house, wager)[0]
            if wrong or below or wager not in offered(name, house):
                refused.add((area, who, wager))
    if not maryland:
        one, other = DRAGON if name.startswith("pa") else STANDARD[:2]
        both = _players_of(file, one) & _players_of(file, other)
        for each in file["positions"]:
            area, who = where(each), each["player"]
            either = {one, other} & each["wagers"].keys()
            refused |= {(area, who, wager) for wager in either if who in both}
    if name.startswith("pa"):  # a bonus wager needs a standard wager beside it
        for each in file["positions"]:
            area, who = where(each), each["player"]
            if not any((area, who, w) not in refused for w in STANDARD if w in each["wagers"]):
                refused |= {(area, who, w) for w in each["wagers"]}
    return refused


def _players_of(file: dict[str, Any], wager: str) -> set[str]:
    return {each["player"] for each in file["positions"] if wager in each["wagers"]}


def who_turns(paper: Paper, hand: str, if_equal: str) -> tuple[float, str] | None:
    """Place and name of the player with the largest wager on a hand; None is the dealer."""
    on_hand = [stake for stake in paper.stakes if stake[2] == hand]
    largest = max((cents for *_, cents in on_hand), default=0)
    most = sorted((place, who) for place, who, _, cents in on_hand if cents == largest)
    if not most or (len(most) > 1 and if_equal == "dealer"):
        return None
    return most[0] if if_equal == "lowest_seat" else most[-1]
