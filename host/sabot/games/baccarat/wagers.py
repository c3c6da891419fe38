"""The wagers of the rule documents: when each wins, pushes or loses, and what it pays.

The clauses are cited by the documents' names in `sabot.games.baccarat.catalogue`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sabot.errors import Forbidden, did_you_mean
from sabot.games.baccarat.score import Score
from sabot.games.prize import NamedPrize
from sabot_protocol import enums
from sabot_protocol.baccarat import HITS_OF_WAGER, Game

House = Mapping[str, Any]
"""The house's choices: `Game.house`."""

STANDARD = ("player", "banker", "tie")
"""The standard wagers: Pennsylvania, paragraph 1. All others are bonus or side wagers."""

QUARTER_CENTS = 25
"""The unit that vigorish may be rounded to: Maryland, Chapter 12 D(1)."""

DRAGON_BONUS_PAYS = {
    "A": {
        "win_by_9": 30, "win_by_8": 10, "win_by_7": 6, "win_by_6": 4, "win_by_5": 2,
        "win_by_4": 1, "natural": 1,
    },
    "B": {
        "win_by_9": 20, "win_by_8": 8, "win_by_7": 7, "win_by_6": 4, "win_by_5": 3,
        "win_by_4": 1, "natural": 1,
    },
    "C": {
        "win_by_9": 30, "win_by_8": 10, "win_by_7": 4, "win_by_6": 4, "win_by_5": 2,
        "win_by_4": 2, "natural": 1,
    },
}  # fmt: skip
"""To one, by paytable: Maryland, Chapter 12 F. Pennsylvania, "Dragon Bonus", has only A."""

TREASURES_PAY = {
    "fortune_7": 40, "golden_8": 25, "heavenly_9": 10, "heavenly_9_both": 75, "blazing_7s_two": 50,
    "blazing_7s_three": 200, "blazing_7s_mixed": 0, "cover_all": 6,
}  # fmt: skip
"""To one, by prize, as published by Wizard of Odds. The document gives no amounts, so that they are
the house's choice. 0: the prize is not paid, so it is none."""


@dataclass(frozen=True, slots=True)
class WagerOutcome:
    """The outcome of a wager."""

    outcome: str
    """ "win", "push" (it is returned) or "lose"."""
    pays_to_one: int
    """What is won for each unit wagered, before vigorish; 0 unless it wins."""
    prize: str
    """The name of the prize that it wins; "" unless it wins."""

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as `sabot score --json` prints it."""
        return asdict(self)


DOT = "."
"""The mark of a pair: the roads have a dot for it."""


@dataclass(frozen=True, slots=True)
class Prize(NamedPrize):
    """One way in which a wager wins. Raises ValueError for a hit without a mark, and for a mark
    that no road could show, because the shoe does not record what it is for."""

    holds: Callable[[Score], bool]
    """The rule: whether a round has it."""
    pays_to_one: Callable[[House], int]
    """0 if the house does not pay the prize: then it is none."""
    mark: str = ""
    """How the roads mark the hit that it is for (`enums.HITS`): one to three characters, or DOT."""

    def __post_init__(self) -> None:
        NamedPrize.__post_init__(self)
        if bool(self.mark) != (self.name in enums.HITS):
            wrong = "is no hit, and has a mark" if self.mark else "is a hit, and has no mark"
            raise ValueError(f"the prize {self.name} {wrong}; the roads mark the hits")


@dataclass(frozen=True, slots=True)
class Push(NamedPrize):
    """A result on which a wager is returned."""

    holds: Callable[[Score], bool]


@dataclass(frozen=True, slots=True)
class Wager:
    """A row of WAGERS. A wager that does not push wins its first prize that holds, or loses."""

    title: str
    clauses: Mapping[str, str]
    """The clause on the wager, by each rule document that has it."""
    prizes: tuple[Prize, ...]
    pushes: tuple[Push, ...] = ()
    """The results on which it pushes. "dragon_7" applies only where that wager is offered,
    "natural_tie" only if the house chose it."""
    owes_vigorish: bool = False

    def __post_init__(self) -> None:
        if not self.clauses or not all(self.clauses.values()):
            raise ValueError(f"the wager {self.title} has no clause; cite the document that has it")

    def all_pushes_in(self, game: Game) -> list[Push]:
        """Return the results on which it pushes in this game."""
        return [push for push in self.pushes if _applies(push.name, game)]

    def pushes_in(self, game: Game) -> list[str]:
        """Return their names."""
        return [push.name for push in self.all_pushes_in(game)]

    def paid(self, house: House) -> dict[str, tuple[Prize, int]]:
        """Return the prizes that are paid with the house's choices, by name, and what each pays to
        one. Of prizes with one name, which are for different rounds, the last one that is paid."""
        return {
            prize.name: (prize, to_one)
            for prize in self.prizes
            if (to_one := prize.pays_to_one(house))
        }

    def pays_to_one(self, house: House) -> dict[str, int]:
        """Return what each prize pays with the house's choices, without those that are not paid."""
        return {name: to_one for name, (_, to_one) in self.paid(house).items()}


def outcome_of(wager: str, score: Score, game: Game) -> WagerOutcome:
    """Return the outcome of a wager of `game` after a round; for its vigorish see `vigorish_cents`.

    Raises Forbidden if the game does not offer the wager.
    """
    if wager not in game.wagers:
        raise Forbidden(
            f"{game.name} does not offer the wager {wager!r}; {did_you_mean(wager, game.wagers)}"
        )
    row = WAGERS[wager]
    if any(push.holds(score) for push in row.all_pushes_in(game)):
        return _PUSH
    for prize in row.prizes:
        to_one = prize.pays_to_one(game.house)
        if to_one and prize.holds(score):
            return WagerOutcome("win", to_one, prize.name)
    return _LOSE


def _applies(push: str, game: Game) -> bool:
    if push == "natural_tie":
        return bool(game.house.get("natural_tie", "push") == "push")
    return push not in WAGERS or push in game.wagers


def vigorish_cents(won_cents: int, game: Game) -> int:
    """Return the vigorish in cents on a wager that owes it and won `won_cents`.

    Rounded by house.vigorish_rounding (Maryland, Chapter 12 D(1)): "exact" drops a fraction of a
    cent, so that never more than the rate is taken, and may come to nothing for less than a cent
    (`sabot.games.baccarat.wager_rules` says where it may not); "up_25" rounds up to the next 25
    cents.
    """
    house: House = game.house
    rounding = house["vigorish_rounding"]
    if rounding not in _ROUNDED:  # an older document in a log may have "nearest_25"
        raise Forbidden(
            f"{game.name}: vigorish_rounding {rounding} is forbidden, allowed: "
            f"{' or '.join(_ROUNDED)} (Maryland, Chapter 12 D(1)); settle this round by hand"
        )
    return _ROUNDED[rounding](won_cents * house["vigorish_permille"])


def _up_to_quarter(thousandths: int) -> int:
    return -(-thousandths // (QUARTER_CENTS * 1000)) * QUARTER_CENTS


_ROUNDED: dict[str, Callable[[int], int]] = {
    "exact": lambda thousandths: thousandths // 1000,
    "up_25": _up_to_quarter,
}
"""By house.vigorish_rounding: from thousandths of a cent to cents."""

_PUSH = WagerOutcome("push", 0, "")
_LOSE = WagerOutcome("lose", 0, "")


def _always(pays_to_one: int) -> Callable[[House], int]:
    return lambda house: pays_to_one


def _chosen_tie(house: House) -> int:
    return int(house["tie_pays"])


def _treasure(prize: str) -> Callable[[House], int]:
    """Return what a prize of the 5 Treasures pays. A document has the amounts of all in a text, in
    the order of TREASURES_PAY; older documents in logs have none, and pay those."""
    place = list(TREASURES_PAY).index(prize)
    published = " ".join(map(str, TREASURES_PAY.values()))
    return lambda house: int(house.get("treasures_pay", published).split()[place])


def _won_by(winner: str) -> Callable[[Score], bool]:
    return lambda score: score.winner == winner


def _has_hit(hit: str) -> Callable[[Score], bool]:
    return lambda score: hit in score.hits


def _tied(score: Score) -> bool:
    return score.winner == "tie"


def _naturals_tied(score: Score) -> bool:
    return _tied(score) and score.player_natural and score.banker_natural


def _mixed_7s(score: Score) -> bool:
    """Whether both hands have 7, one with two cards and the other with three."""
    return score.player_total == score.banker_total == 7 and len(score.player) != len(score.banker)


def _dragon_bonus(hand: str, clauses: Mapping[str, str]) -> Wager:
    def natural(score: Score) -> bool:
        own = score.player_natural if hand == "player" else score.banker_natural
        return own and score.winner == hand

    def by(margin: int) -> Callable[[Score], bool]:
        # A natural beats every hand without one, so here no hand of the round has a natural.
        return lambda score: score.winner == hand and score.margin == margin

    def pays(prize: str) -> Callable[[House], int]:
        return lambda house: DRAGON_BONUS_PAYS[house["dragon_bonus"]][prize]

    prizes = [Prize("natural", "natural winner", natural, pays("natural"))]
    for margin in range(9, 3, -1):
        name = f"win_by_{margin}"
        prizes.append(Prize(name, f"win by {margin} points", by(margin), pays(name)))
    equal = Push("natural_tie", "equal naturals", _naturals_tied)
    return Wager(f"Dragon Bonus on the {hand.title()}", clauses, tuple(prizes), (equal,))


def _bonus(title: str, clauses: Mapping[str, str], prize: Prize) -> Wager:
    """Return a wager that wins on a hit (`enums.HITS`) and never pushes."""
    return Wager(title, clauses, (prize,))


def _hit(name: str, words: str, pays: Callable[[House], int], mark: str) -> Prize:
    """Return the prize for a hit (`enums.HITS`)."""
    return Prize(name, words, _has_hit(name), pays, mark)


def _treasures(title: str, *prizes: Prize) -> Wager:
    """Return one of the 5 Treasures, which wins on any of its prizes."""
    return Wager(title, _TREASURES_CLAUSE, prizes)


def _cover_all(score: Score) -> bool:
    return not score.hits.isdisjoint(HITS_OF_WAGER["cover_all"])


def _cover_all_of_mixed_7s(house: House) -> int:
    """What Cover All pays on mixed 7s: nothing if Blazing 7s does not win on them either."""
    return _treasure("cover_all")(house) if _treasure("blazing_7s_mixed")(house) else 0


_EVEN = _always(1)
_TIE_PUSHES = Push("tie", "tie", _tied)

_DRAGON_BONUS_CLAUSES = {
    "maryland": "Chapters 7 A(4), 12 E and F",
    # The document does not mention equal naturals: see the choice `natural_tie`.
    "pennsylvania": "Dragon Bonus",
}
_ANY_TREASURE = "any of the other four wins"
_TREASURES_CLAUSE = {"pennsylvania": "5 Treasures Bonus; the amounts are the house's choice"}

WAGERS: Mapping[str, Wager] = {
    "player": Wager(
        "Player",
        {
            "washington": "item 8",
            "pairs": "paragraph 2",
            "maryland": "Chapters 7 A(2), 12 A",
            "pennsylvania": "paragraph 2",
        },
        (Prize("player", "the Player wins", _won_by("player"), _EVEN),),
        (_TIE_PUSHES,),
    ),
    "banker": Wager(
        "Banker",
        {
            "washington": "item 8",
            "pairs": "paragraph 2",
            "maryland": "Chapters 7 A(1), 12 C",
            "pennsylvania": "paragraphs 1 and 2",
        },
        (Prize("banker", "the Banker wins", _won_by("banker"), _EVEN),),
        # Only EZ Baccarat offers the Dragon 7 wager, so only there a score has this hit.
        (_TIE_PUSHES, Push("dragon_7", "Dragon 7", _has_hit("dragon_7"))),
        owes_vigorish=True,
    ),
    "tie": Wager(
        "Tie",
        {
            "washington": "item 8",
            "pairs": "paragraph 2",
            "maryland": "Chapters 7 A(3), 12 B",
            "pennsylvania": "paragraphs 1 and 2",
        },
        (Prize("tie", "a tie", _won_by("tie"), _chosen_tie),),
    ),
    "player_pair": _bonus(
        "Player pair",
        {"pairs": "paragraph 2"},
        _hit("player_pair", "first two Player cards of one rank", _always(11), DOT),
    ),
    "banker_pair": _bonus(
        "Banker pair",
        {"pairs": "paragraph 2"},
        _hit("banker_pair", "first two Banker cards of one rank", _always(11), DOT),
    ),
    "dragon_7": _bonus(
        "Dragon 7 Insurance",
        {"maryland": "Chapters 7 A(5), 12 G"},
        _hit("dragon_7", "Banker wins with 7 of three cards", _always(40), "D7"),
    ),
    "panda_8": _bonus(
        "Panda 8 Insurance",
        {"maryland": "Chapters 7 A(6), 12 H"},
        _hit("panda_8", "Player wins with 8 of three cards", _always(25), "P8"),
    ),
    "dragon_bonus_player": _dragon_bonus("player", _DRAGON_BONUS_CLAUSES),
    "dragon_bonus_banker": _dragon_bonus("banker", _DRAGON_BONUS_CLAUSES),
    "fortune_7": _treasures(
        "Fortune 7",
        _hit("fortune_7", "Banker wins with 7 of three cards", _treasure("fortune_7"), "F7"),
    ),
    "golden_8": _treasures(
        "Golden 8",
        _hit("golden_8", "Player wins with 8 of three cards", _treasure("golden_8"), "G8"),
    ),
    "heavenly_9": _treasures(
        "Heavenly 9",
        _hit("heavenly_9_both", "both hands 9 of three cards", _treasure("heavenly_9_both"), "HH"),
        _hit("heavenly_9", "one hand 9 of three cards", _treasure("heavenly_9"), "H9"),
    ),
    "blazing_7s": _treasures(
        "Blazing 7s",
        _hit(
            "blazing_7s_three", "both hands 7 of three cards", _treasure("blazing_7s_three"), "777"
        ),
        _hit("blazing_7s_two", "both hands 7 of two cards", _treasure("blazing_7s_two"), "77"),
        Prize(
            "blazing_7s_mixed",
            "7 of two cards against 7 of three",
            _mixed_7s,
            _treasure("blazing_7s_mixed"),
        ),
    ),
    "cover_all": _treasures(
        "Cover All",
        Prize("cover_all", _ANY_TREASURE, _cover_all, _treasure("cover_all")),
        Prize("cover_all", _ANY_TREASURE, _mixed_7s, _cover_all_of_mixed_7s),
    ),
}
"""Every wager, by its name in game documents."""

MARKS: Mapping[str, str] = {
    prize.name: prize.mark
    for wager in WAGERS.values()
    for prize in wager.prizes
    if prize.mark and prize.mark != DOT
}
"""How the roads mark a hit that a wager of the game depends on. Pairs have dots."""
