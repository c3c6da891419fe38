"""What may be wagered: each rule of the documents, with the clause that states it.

A game follows the rules of its document (`HouseGame.rules`). The clause of a house's choice is with
the choice, and the clause of what a wager pays with the wager (`sabot.games.baccarat.wagers`).

When wagers are settled the cards have been dealt, so nothing may be added or taken back. What the
rules do not allow is left to the floor, and the rest of the table is settled.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sabot.errors import BadWagers, Forbidden
from sabot.games.baccarat import catalogue
from sabot.games.baccarat.limits import limits_in
from sabot.games.baccarat.wager_file import Area, Marker, Position, WagerFile
from sabot.games.baccarat.wagers import STANDARD, vigorish_cents
from sabot_protocol.baccarat import Game

MOST_AREAS_OF_A_PLAYER = 9
"""The most wagering areas of one player, seats and lines together: Washington, item 4(e)."""

MARKED = "marked"
"""The value of house.vigorish_when with which vigorish is marked as owed: Maryland, Chapter
12 D(2)(b)."""

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
    whole_vigorish: str | None = None
    """The rate is fixed, so vigorish of less than a cent is a cent. Without it (Washington: "up to
    5%") vigorish of less than a cent is nothing."""
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
        whole_vigorish="paragraph 2",
        honoured_once="minimum",
        maximum="maximum",
    ),
    "maryland": WagerClauses(
        one_player="Chapter 2 B(2)",
        closed_by={"no_more_bets": "Chapter 7 D", "first_card": "Chapter 7 D"},
        not_offered="Chapter 7 A",
        void=f"{_SILENT}: as Mini Baccarat (pairs), misdeal",
        called="Chapter 7 C",
        whole_vigorish="Chapter 12 C",
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
        whole_vigorish="paragraph 1",
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


@dataclass(frozen=True, slots=True)
class Refusal:
    """A wager or marker button that the rules do not allow. The floor decides on it."""

    area: Area
    player: str
    wager: str | None
    """None for a marker button."""
    cents: int
    why: str
    """What is against the rules, what the floor does, and the clause."""

    def __str__(self) -> str:
        if self.why.startswith(f"{self.area} "):  # of a player without a name
            return self.why
        return f"{self.area}: {self.why}"


class Rules:
    """What may be wagered in a game: the document's rules and the house's choices."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._house_game = catalogue.find_game(game.name)
        self._clauses = WAGER_CLAUSES[self._house_game.rules]
        self._limits = limits_in(game)

    def refusals(self, on_table: WagerFile) -> list[Refusal]:
        """Return what is not allowed, in the order of the file, with the first reason for each.

        Raises Forbidden for one ghost hand too many, and BadWagers for markers at a table that has
        none.
        """
        if on_table.markers and not self.marks_vigorish:
            raise BadWagers(
                "markers: this house does not mark vigorish; leave them out, or choose "
                '"vigorish_when": "marked"'
            )
        found = _Found(self._house_game.rules)
        self._check_ghost_hand(on_table, found)
        for position in on_table.positions:
            self._check_area(position, found)
            self._check_closed(position, found)
            self._check_offered(position, found)
        self._check_areas_apart(on_table.positions, found)
        self._check_gallery(on_table.positions, found)
        self._check_hands(on_table.positions, found)
        self._check_least(on_table, found)
        for position in on_table.positions:
            self._check_bonus(position, found)
        places = [(each, wager) for each in on_table.positions for wager in each.wagers]
        return [
            Refusal(each.area, each.player, wager, each.wagers[wager], why)
            for each, wager in places
            if (why := found.why(each, wager)) is not None
        ] + self._refused_markers(on_table)

    def stake(self, position: Position, wager: str, warned: frozenset[str]) -> Stake:
        """Return how much of a wager that is not refused is in action.

        `warned` are the players to whom the minimum has been explained.
        """
        cents, limits = position.wagers[wager], self._limits[wager]
        if cents > limits.most_cents:
            why = f"over the maximum of {limits.most_cents} cents"
            why += f" ({self._cited(self._clauses.maximum)})"
            return Stake(wager, limits.most_cents, cents - limits.most_cents, why)
        if cents >= limits.least_cents or self._clauses.honoured_once is None:
            return Stake(wager, cents)
        notice = f"{position.area}: {position.player}'s {self._too_low(wager, cents)}"
        cited = self._cited(self._clauses.honoured_once)
        if position.player in warned:
            why = f"below the minimum of {limits.least_cents} cents"
            return Stake(wager, 0, cents, why, f"{notice}, again: dead, returned ({cited})")
        notice += f": honoured this once, explain the minimum ({cited})"
        return Stake(wager, cents, notice=notice)

    def vigorish_cents(self, won_cents: int) -> int:
        """Return the vigorish on a wager that owes it and won `won_cents`, in cents."""
        owed_cents = vigorish_cents(won_cents, self._game)
        due = self._clauses.whole_vigorish is not None and self._game.house["vigorish_permille"]
        return max(owed_cents, 1) if due else owed_cents

    @property
    def marks_vigorish(self) -> bool:
        """Whether vigorish is marked as owed, not collected with the payout."""
        return bool(self._game.house["vigorish_when"] == MARKED)

    def why_void(self, reason: str) -> str:
        """Return why the wagers of a voided round are returned."""
        return f"void: {reason} ({self._cited(self._clauses.void)})"

    def cited_markers(self) -> str:
        """Return the clause by which marked vigorish is collected."""
        return self._cited(self._clauses.markers)

    def _too_low(self, wager: str, cents: int) -> str:
        return f"{wager} of {cents} cents is below the minimum of {self._limits[wager].least_cents}"

    def _check_ghost_hand(self, on_table: WagerFile, found: "_Found") -> None:
        if on_table.ghost_hand is None:
            return
        allowed, clause = self._game.house["ghost_hands"], self._choice_clause("ghost_hands")
        if on_table.ghost_hand > allowed:
            raise Forbidden(
                f"ghost hand: number {on_table.ghost_hand} of this shoe, the house allows "
                f"{allowed} ({self._cited(clause)})"
            )
        for position in on_table.positions:
            problem = f"{position.player} wagers on a ghost hand, which is dealt without wagers"
            found.add(position, f"{problem}; {_RETURNED}", clause)

    def _check_area(self, position: Position, found: "_Found") -> None:
        against = self._against(position.area)
        if against is not None:
            found.add(position, f"{against[0]}; {_RETURNED}", against[1])

    def _against(self, area: Area) -> tuple[str, str] | None:
        """Return why no wager may lie in an area, and the clause; None if one may."""
        areas = self._game.house["areas"]
        if area.kind == "seat":
            if not 1 <= area.number <= areas:
                return f"the table has seats 1 to {areas}", self._choice_clause("areas")
        elif self._clauses.lines is None or not self._game.house["gallery"]:
            return "no line wagers at this table", self._choice_clause("gallery")
        elif not 1 <= area.number < areas:
            problem = f"line n is between seats n and n + 1 of {areas}, no wager may lie elsewhere"
            return problem, f"{self._clauses.lines}(d)"
        return None

    def _check_closed(self, position: Position, found: "_Found") -> None:
        after = position.changed_after
        if after is not None and after in self._clauses.closed_by:
            what = {"no_more_bets": '"no more bets"', "first_card": "the first card"}[after]
            problem = f"{position.player} placed or changed wagers after {what}"
            found.add(position, f"{problem}; {_DECIDED}", self._clauses.closed_by[after])
        if position.called not in (None, "converted"):
            problem = "called out, but not confirmed by the dealer and changed to chips"
            found.add(position, f"{problem}; {_DECIDED}", self._clauses.called)

    def _check_offered(self, position: Position, found: "_Found") -> None:
        for wager in position.wagers:
            if wager not in self._game.wagers:
                problem = f"{wager} is not offered; there are: {', '.join(self._game.wagers)}"
                found.add(
                    position, f"{problem}; {_RETURNED}", self._clauses.not_offered, only=[wager]
                )

    def _check_areas_apart(self, positions: Sequence[Position], found: "_Found") -> None:
        players_in: dict[Area, list[str]] = {}
        for position in positions:
            players_in.setdefault(position.area, []).append(position.player)
        for position in positions:
            players = players_in[position.area]
            if len(players) > 1:
                problem = f"{' and '.join(players[:2])} in one area; one player each; {_DECIDED}"
                lines = position.area.kind == "line" and self._clauses.lines
                clause = f"{lines}(c)" if lines else self._clauses.one_player
                found.add(position, problem, clause)

    def _check_gallery(self, positions: Sequence[Position], found: "_Found") -> None:
        lines = [position for position in positions if position.area.kind == "line"]
        if not lines or self._clauses.lines is None:
            return
        bet_on = {each.area.number for each in positions if each.area.kind == "seat"}
        empty = [str(n) for n in range(1, self._game.house["areas"] + 1) if n not in bet_on]
        areas_of = Counter(position.player for position in positions)
        for position in lines:
            if empty:
                problem = f"no wager may lie there while seats are empty: {', '.join(empty)}"
                found.add(position, f"{problem}; {_RETURNED}", f"{self._clauses.lines}(b)")
        for position in positions:
            count = areas_of[position.player]
            if count > MOST_AREAS_OF_A_PLAYER:
                problem = f"{position.player} wagers in {count} areas, allowed: "
                problem += f"{MOST_AREAS_OF_A_PLAYER}; {_DECIDED}"
                found.add(position, problem, f"{self._clauses.lines}(e)")

    def _check_hands(self, positions: Sequence[Position], found: "_Found") -> None:
        """Check all areas of a player together: else a second area would get around the rule."""
        rules = (
            (self._clauses.one_hand, _HANDS, "wagers on both Player and Banker"),
            (
                self._clauses.one_bonus_hand,
                _BONUS_HANDS,
                "has the Dragon Bonus for both hands, not one",
            ),
        )
        for clause, hands, problem in rules:
            if clause is None:
                continue
            hands_of: dict[str, set[str]] = {}
            for position in positions:
                hands_of.setdefault(position.player, set()).update(hands & set(position.wagers))
            for position in positions:
                if hands_of[position.player] == hands:
                    why = f"{position.player} {problem}; {_DECIDED}"
                    found.add(position, why, clause, only=hands)

    def _check_least(self, on_table: WagerFile, found: "_Found") -> None:
        if self._clauses.honoured_once is not None:
            return
        clause = self._choice_clause("minimum_cents")
        for position in on_table.positions:
            for wager, cents in position.wagers.items():
                if wager in self._limits and cents < self._limits[wager].least_cents:
                    problem = f"{self._too_low(wager, cents)}; {_DECIDED}"
                    found.add(position, problem, clause, only=[wager])

    def _check_bonus(self, position: Position, found: "_Found") -> None:
        """Check bonus wagers last: one whose standard wager the floor decides on waits for it."""
        clause = self._clauses.bonus_beside_standard
        standard = [wager for wager in position.wagers if wager in STANDARD]
        if clause is None or any(found.why(position, wager) is None for wager in standard):
            return
        problem = f"a standard wager in this area: {', '.join(STANDARD)}"
        for wager in position.wagers:
            if standard:
                why = f"{wager} needs {problem}, and the floor decides on that; {_DECIDED}"
            else:
                why = f"{wager} needs {problem}; {_RETURNED}"
            found.add(position, why, clause, only=[wager])

    def _refused_markers(self, on_table: WagerFile) -> list[Refusal]:
        refused: list[Refusal] = []
        players_in = {each.area: each.player for each in on_table.positions}
        for marker in on_table.markers:
            now = players_in.get(marker.area, marker.player)
            collected = on_table.last_of_shoe or marker.player in on_table.leaving
            against = self._against(marker.area)
            if against is not None:
                problem = f"{against[0]}; the floor finds out whose vigorish it is"
                refused.append(self._marker(marker, problem, against[1]))
            elif now != marker.player and not collected:
                problem = f"{marker.player} left and owes vigorish, {now} wagers there"
                problem += "; the floor collects it"
                refused.append(self._marker(marker, problem, self._clauses.markers))
        return refused

    def _marker(self, marker: Marker, problem: str, clause: str) -> Refusal:
        why = f"{problem} ({self._cited(clause)})"
        return Refusal(marker.area, marker.player, None, marker.owed_cents, why)

    def _choice_clause(self, choice: str) -> str:
        return self._house_game.choice(choice).clause

    def _cited(self, clause: str) -> str:
        return _cited(self._house_game.rules, clause)


_RETURNED = "the floor returns it"
_DECIDED = "the floor decides what stands"

_HANDS = frozenset({"player", "banker"})
_BONUS_HANDS = frozenset({"dragon_bonus_player", "dragon_bonus_banker"})


class _Found:
    """The first reason against each wager on the table."""

    def __init__(self, rules: str) -> None:
        self._rules = rules
        self._why: dict[tuple[Area, str, str], str] = {}

    def add(
        self, position: Position, problem: str, clause: str, only: Iterable[str] | None = None
    ) -> None:
        """Add a reason against all wagers of a position, or against those in `only`."""
        why = f"{problem} ({_cited(self._rules, clause)})"
        for wager in position.wagers:
            if only is None or wager in only:
                self._why.setdefault((position.area, position.player, wager), why)

    def why(self, position: Position, wager: str) -> str | None:
        """Return the reason against a wager; None if it is allowed."""
        return self._why.get((position.area, position.player, wager))


def _cited(rules: str, clause: str) -> str:
    return f"{rules.title()}, {clause}"
