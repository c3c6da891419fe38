"""What may be wagered: each rule of the documents, with the clause that states it.

A game follows the rules of its document (`catalogue.HouseGame.rules`). The clause of a house's
choice is with the choice, and the clause of what a wager pays with the wager
(`sabot.games.wagers`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sabot.errors import BadWagers, Forbidden
from sabot.games import catalogue
from sabot.games.wager_file import Area, Position, WagerFile
from sabot_protocol.games import Game

MOST_AREAS_OF_A_PLAYER = 9
"""The most wagering areas of one player, seats and lines together: Washington, item 4(e)."""

MARKED = "marked"
"""The value of house.vigorish_when with which vigorish is marked as owed: Maryland, Chapter
12 D(2)(b)."""

STANDARD = ("player", "banker", "tie")
"""The standard wagers: Pennsylvania, paragraph 1. All others are bonus or side wagers."""

_SILENT = "not in the document"


@dataclass(frozen=True, slots=True)
class WagerClauses:
    """The clauses of a document on placing wagers; None if it does not have the rule."""

    one_player: str
    """Two players may not wager in one area."""
    closed_by: Mapping[str, str]
    """What closes the betting, "no_more_bets" or "first_card"; nothing may be changed after it."""
    not_offered: str
    """A wager that the game does not offer may not be made."""
    void: str
    """The wagers of a round without a result are returned."""
    one_hand: str | None = None
    """A player may not wager on both Player and Banker."""
    one_bonus_hand: str | None = None
    """The Dragon Bonus is for Player or for Banker, not for both."""
    bonus_beside_standard: str | None = None
    """A bonus wager needs a standard wager in the same area."""
    lines: str | None = None
    """The item on gallery betting; its (a) to (e) are the conditions."""
    honoured_once: str | None = None
    """A wager below the minimum is honoured the first time and returned from then on."""
    called: str = f"{_SILENT}: as Maryland, Chapter 7 C"
    """A wager may be called out if the dealer confirms it and changes its cash to chips."""
    maximum: str = f"{_SILENT}: common practice"
    """The part over the maximum is returned, the rest is honoured."""
    markers: str = f"{_SILENT}: as Maryland, Chapter 12 D(2)(b)(i)"
    """Marked vigorish is collected before a new shoe of cards or when the player leaves."""


WAGER_CLAUSES: Mapping[str, WagerClauses] = {
    "washington": WagerClauses(
        one_player="item 3",
        closed_by={"first_card": "item 3"},
        not_offered="item 2",
        void="Irregularities: by internal controls; as Mini Baccarat (pairs), misdeal",
        one_hand="item 3",
        lines="item 4",
    ),
    "pairs": WagerClauses(
        one_player=f"{_SILENT}: common practice",
        closed_by={"first_card": "paragraph 2"},
        not_offered="side wagers",
        void="misdeal",
        one_hand="paragraph 2",
        honoured_once="minimum",
        maximum="maximum",
    ),
    "maryland": WagerClauses(
        one_player="Chapter 2 B(2)",
        closed_by={"no_more_bets": "Chapter 7 D", "first_card": "Chapter 7 D"},
        not_offered="Chapter 7 A",
        void=f"{_SILENT}: as Mini Baccarat (pairs), misdeal",
        called="Chapter 7 C",
        markers="Chapter 12 D(2)(b)(i)",
    ),
    "pennsylvania": WagerClauses(
        one_player=f"{_SILENT}: common practice",
        closed_by={"no_more_bets": "paragraph 2", "first_card": "paragraph 2"},
        not_offered="paragraph 1",
        void=f"{_SILENT}: as Mini Baccarat (pairs), misdeal",
        # "Either for the Player or the Banker hand", where the Treasures allow "any combination"
        # and Maryland, Chapter 7 A(4), says "or both".
        one_bonus_hand="Dragon Bonus",
        bonus_beside_standard="Dragon Bonus and 5 Treasures Bonus",
    ),
}
"""By the catalogue's name of the document."""


@dataclass(frozen=True, slots=True)
class Stake:
    """A wager as the dealer takes it, in cents."""

    wager: str
    cents: int
    """The part that is in action."""
    returned_cents: int = 0
    why: str = ""
    """Why `returned_cents` are returned."""
    notice: str = ""
    """A message for the floor supervisor that the wager is below the minimum; else empty."""


class Rules:
    """What may be wagered in a game: the document's rules and the house's choices."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._house_game = catalogue.find_game(game.name)
        self._clauses = WAGER_CLAUSES[self._house_game.rules]

    def check(self, on_table: WagerFile) -> None:
        """Raise Forbidden, with the clause, for the first thing that is not allowed."""
        self._check_ghost_hand(on_table)
        for position in on_table.positions:
            self._check_area(position.area)
        for marker in on_table.markers:
            self._check_area(marker.area)
        for position in on_table.positions:
            self._check_closed(position)
            self._check_wagers(position)
        self._check_areas_apart(on_table.positions)
        self._check_gallery(on_table.positions)
        self._check_hands(on_table.positions)
        self._check_markers(on_table)

    def stakes(self, position: Position, warned: frozenset[str]) -> list[Stake]:
        """Return how much of each wager is in action.

        `warned` are the players to whom the minimum has been explained. Raises Forbidden for a
        wager below the minimum, unless the rules honour it once.
        """
        return [
            self._stake(position, wager, cents, position.player in warned)
            for wager, cents in position.wagers.items()
        ]

    def why_void(self, reason: str) -> str:
        """Return why the wagers of a voided round are returned."""
        return f"void: {reason} ({self._cited(self._clauses.void)})"

    def _stake(self, position: Position, wager: str, cents: int, warned: bool) -> Stake:
        least, most = self._game.house["minimum_cents"], self._game.house["maximum_cents"]
        if cents > most:
            why = f"over the maximum of {most} cents ({self._cited(self._clauses.maximum)})"
            return Stake(wager, most, cents - most, why)
        if cents >= least:
            return Stake(wager, cents)
        problem = f"{wager} of {cents} cents is below the minimum of {least}"
        if self._clauses.honoured_once is None:
            self._refuse(
                position.area, f"{problem}; add to it", self._choice_clause("minimum_cents")
            )
        notice = f"{position.area}: {position.player}'s {problem}"
        cited = self._cited(self._clauses.honoured_once)
        if warned:
            why = f"below the minimum of {least} cents"
            return Stake(wager, 0, cents, why, f"{notice}, again: dead, returned ({cited})")
        notice += f": honoured this once, explain the minimum ({cited})"
        return Stake(wager, cents, notice=notice)

    def _check_ghost_hand(self, on_table: WagerFile) -> None:
        if on_table.ghost_hand is None:
            return
        allowed, clause = self._game.house["ghost_hands"], self._choice_clause("ghost_hands")
        if on_table.ghost_hand > allowed:
            problem = f"number {on_table.ghost_hand} of this shoe, the house allows {allowed}"
            self._refuse("ghost hand", problem, clause)
        for position in on_table.positions:
            problem = f"{position.player} wagers on a ghost hand, which is dealt without wagers"
            self._refuse(position.area, problem, clause)

    def _check_area(self, area: Area) -> None:
        areas = self._game.house["areas"]
        if area.kind == "seat":
            if not 1 <= area.number <= areas:
                self._refuse(
                    area, f"the table has seats 1 to {areas}", self._choice_clause("areas")
                )
        elif self._clauses.lines is None or not self._game.house["gallery"]:
            self._refuse(
                area,
                "no line wagers at this table; wager at a seat",
                self._choice_clause("gallery"),
            )
        elif not 1 <= area.number < areas:
            problem = f"line n is between seats n and n + 1 of {areas}, no wager may lie elsewhere"
            self._refuse(area, problem, f"{self._clauses.lines}(d)")

    def _check_closed(self, position: Position) -> None:
        after = position.changed_after
        if after is not None and after in self._clauses.closed_by:
            what = {"no_more_bets": '"no more bets"', "first_card": "the first card"}[after]
            problem = f"{position.player} placed or changed wagers after {what}; undo it"
            self._refuse(position.area, problem, self._clauses.closed_by[after])
        if position.called not in (None, "converted"):
            problem = "the dealer must confirm a called-out wager and change its cash to chips"
            self._refuse(position.area, problem, self._clauses.called)

    def _check_wagers(self, position: Position) -> None:
        for wager in position.wagers:
            if wager not in self._game.wagers:
                problem = f"{wager} is not offered; there are: {', '.join(self._game.wagers)}"
                self._refuse(position.area, problem, self._clauses.not_offered)
        bonus = [wager for wager in position.wagers if wager not in STANDARD]
        clause = self._clauses.bonus_beside_standard
        if bonus and len(bonus) == len(position.wagers) and clause is not None:
            problem = f"{bonus[0]} needs a standard wager in this area: {', '.join(STANDARD)}"
            self._refuse(position.area, problem, clause)
        clause = self._clauses.one_bonus_hand
        if {"dragon_bonus_player", "dragon_bonus_banker"} <= set(bonus) and clause is not None:
            self._refuse(position.area, "the Dragon Bonus is for one hand, not for both", clause)

    def _check_areas_apart(self, positions: Sequence[Position]) -> None:
        player_in: dict[Area, str] = {}
        for position in positions:
            first = player_in.setdefault(position.area, position.player)
            if first != position.player:
                problem = f"{first} and {position.player} in one area; one player each"
                lines = position.area.kind == "line" and self._clauses.lines
                self._refuse(
                    position.area, problem, f"{lines}(c)" if lines else self._clauses.one_player
                )

    def _check_gallery(self, positions: Sequence[Position]) -> None:
        lines = [position.area for position in positions if position.area.kind == "line"]
        if lines and self._clauses.lines is not None:
            bet_on = {each.area.number for each in positions if each.area.kind == "seat"}
            empty = [str(n) for n in range(1, self._game.house["areas"] + 1) if n not in bet_on]
            if empty:
                problem = f"no wager may lie there while seats are empty: {', '.join(empty)}"
                self._refuse(lines[0], problem, f"{self._clauses.lines}(b)")
            for player, count in Counter(position.player for position in positions).items():
                if count > MOST_AREAS_OF_A_PLAYER:
                    problem = f"{player} wagers in {count} areas, allowed: {MOST_AREAS_OF_A_PLAYER}"
                    self._refuse("gallery", problem, f"{self._clauses.lines}(e)")

    def _check_hands(self, positions: Sequence[Position]) -> None:
        """Check all areas of a player together: else a second area would get around the rule."""
        if self._clauses.one_hand is None:
            return
        hands_of: dict[str, set[str]] = {}
        for position in positions:
            hands = hands_of.setdefault(position.player, set())
            hands |= {"player", "banker"} & set(position.wagers)
            if len(hands) == 2:
                problem = f"{position.player} wagers on both Player and Banker; take one back"
                self._refuse(position.area, problem, self._clauses.one_hand)

    def _check_markers(self, on_table: WagerFile) -> None:
        if on_table.markers and self._game.house["vigorish_when"] != MARKED:
            raise BadWagers(
                "markers: this house does not mark vigorish; leave them out, or choose "
                '"vigorish_when": "marked"'
            )
        player_in = {position.area: position.player for position in on_table.positions}
        for marker in on_table.markers:
            now = player_in.setdefault(marker.area, marker.player)
            if now != marker.player:
                problem = f"{marker.player} left and owes vigorish; collect it before {now} wagers"
                self._refuse(marker.area, problem, self._clauses.markers)

    def _choice_clause(self, choice: str) -> str:
        return self._house_game.choice(choice).clause

    def _cited(self, clause: str) -> str:
        return f"{self._house_game.rules.title()}, {clause}"

    def _refuse(self, where: Area | str, problem: str, clause: str) -> NoReturn:
        raise Forbidden(f"{where}: {problem} ({self._cited(clause)})")
