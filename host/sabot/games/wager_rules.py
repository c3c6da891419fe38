"""What may lie on the table: each rule of the documents by the clause that states it.

A game is under the rules of its document (`catalogue.HouseGame.rules`). What the house may choose
has its clause with the choice, and what a wager pays with the wager (`sabot.games.wagers`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sabot.errors import BadWagers, Forbidden
from sabot.games import catalogue
from sabot.games.wager_file import Area, Placed, Position
from sabot_protocol.games import Game

MOST_AREAS_OF_A_PLAYER = 9
"""Wagering areas, seats and lines together: Washington, item 4(e)."""

MARKED = "marked"
"""The value of house.vigorish_when by which vigorish is owed: Maryland, Chapter 12 D(2)(b)."""

STANDARD = ("player", "banker", "tie")
"""The standard wagers: Pennsylvania, paragraph 1. All others are bonus or side wagers."""

_SILENT = "not in the document"


@dataclass(frozen=True, slots=True)
class Placing:
    """The clauses of a document on placing wagers; None where it has no such rule."""

    one_player: str
    """Two players may not wager in one area."""
    closed_by: Mapping[str, str]
    """By what nothing more may be wagered or changed: "no_more_bets", "first_card"."""
    not_offered: str
    """A wager that the game does not offer may not be made."""
    void: str
    """The wagers of a round without a result are returned."""
    one_hand: str | None = None
    """A player may not wager on Player and on Banker."""
    one_bonus_hand: str | None = None
    """The Dragon Bonus is for Player or for Banker, not for both."""
    bonus_beside_standard: str | None = None
    """A bonus wager needs a standard wager beside it."""
    lines: str | None = None
    """The item on gallery betting; its (a) to (e) are the conditions."""
    honoured_once: str | None = None
    """What is below the minimum is honoured the first time and returned the second."""
    called: str = f"{_SILENT}: as Maryland, Chapter 7 C"
    """A wager may be called out if the dealer confirms it and its cash becomes chips."""
    maximum: str = f"{_SILENT}: common practice"
    """What is over the maximum is returned, the rest honoured."""
    markers: str = f"{_SILENT}: as Maryland, Chapter 12 D(2)(b)(i)"
    """Marked vigorish is collected before a new shoe of cards, or when the player leaves."""


PLACING: Mapping[str, Placing] = {
    "washington": Placing(
        one_player="item 3",
        closed_by={"first_card": "item 3"},
        not_offered="item 2",
        void="Irregularities: by internal controls; as Mini Baccarat (pairs), misdeal",
        one_hand="item 3",
        lines="item 4",
    ),
    "pairs": Placing(
        one_player=f"{_SILENT}: common practice",
        closed_by={"first_card": "paragraph 2"},
        not_offered="side wagers",
        void="misdeal",
        one_hand="paragraph 2",
        honoured_once="minimum",
        maximum="maximum",
    ),
    "maryland": Placing(
        one_player="Chapter 2 B(2)",
        closed_by={"no_more_bets": "Chapter 7 D", "first_card": "Chapter 7 D"},
        not_offered="Chapter 7 A",
        void=f"{_SILENT}: as Mini Baccarat (pairs), misdeal",
        called="Chapter 7 C",
        markers="Chapter 12 D(2)(b)(i)",
    ),
    "pennsylvania": Placing(
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
"""By the name that the catalogue has for the document."""


@dataclass(frozen=True, slots=True)
class Stake:
    """A wager as the dealer takes it, in cents."""

    wager: str
    cents: int
    """What is in action."""
    returned_cents: int = 0
    why: str = ""
    """Why it is returned."""
    notice: str = ""
    """What the floor supervisor is to be told of it: it is below the minimum."""


class Rules:
    """What may lie on the table of a game: the document's rules and the house's choices."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._house_game = catalogue.find_game(game.name)
        self._placing = PLACING[self._house_game.rules]

    def check(self, placed: Placed) -> None:
        """Raises Forbidden, with the clause, for the first thing that is not allowed."""
        self._check_ghost_hand(placed)
        for position in placed.positions:
            self._check_area(position.area)
        for marker in placed.markers:
            self._check_area(marker.area)
        for position in placed.positions:
            self._check_closed(position)
            self._check_wagers(position)
        self._check_areas_apart(placed.positions)
        self._check_gallery(placed.positions)
        self._check_hands(placed.positions)
        self._check_markers(placed)

    def stakes(self, position: Position, warned: frozenset[str]) -> list[Stake]:
        """What of each wager is in action. `warned`: who has heard of the minimum before.

        Raises Forbidden for what is below the minimum, where the rules do not honour it once.
        """
        return [
            self._stake(position, wager, cents, position.player in warned)
            for wager, cents in position.wagers.items()
        ]

    def why_void(self, reason: str) -> str:
        """Why the wagers of a voided round are returned."""
        return f"void: {reason} ({self._cited(self._placing.void)})"

    def _stake(self, position: Position, wager: str, cents: int, warned: bool) -> Stake:
        least, most = self._game.house["minimum_cents"], self._game.house["maximum_cents"]
        if cents > most:
            why = f"over the maximum of {most} cents ({self._cited(self._placing.maximum)})"
            return Stake(wager, most, cents - most, why)
        if cents >= least:
            return Stake(wager, cents)
        said = f"{wager} of {cents} cents is below the minimum of {least}"
        if self._placing.honoured_once is None:
            self._refuse(position.area, f"{said}; add to it", self._of("minimum_cents"))
        notice = f"{position.area}: {position.player}'s {said}"
        cited = self._cited(self._placing.honoured_once)
        if warned:
            why = f"below the minimum of {least} cents"
            return Stake(wager, 0, cents, why, f"{notice}, again: dead, returned ({cited})")
        notice += f": honoured this once, explain the minimum ({cited})"
        return Stake(wager, cents, notice=notice)

    def _check_ghost_hand(self, placed: Placed) -> None:
        if placed.ghost_hand is None:
            return
        allowed, clause = self._game.house["ghost_hands"], self._of("ghost_hands")
        if placed.ghost_hand > allowed:
            said = f"number {placed.ghost_hand} of this shoe, the house deals {allowed} at the most"
            self._refuse("ghost hand", said, clause)
        for position in placed.positions:
            said = f"{position.player} wagers on a ghost hand, which is dealt without wagers"
            self._refuse(position.area, said, clause)

    def _check_area(self, area: Area) -> None:
        areas = self._game.house["areas"]
        if area.kind == "seat":
            if not 1 <= area.number <= areas:
                self._refuse(area, f"the table has seats 1 to {areas}", self._of("areas"))
        elif self._placing.lines is None or not self._game.house["gallery"]:
            self._refuse(area, "no line wagers at this table; wager at a seat", self._of("gallery"))
        elif not 1 <= area.number < areas:
            said = f"line n lies between seats n and n + 1 of {areas}, outside no wager may lie"
            self._refuse(area, said, f"{self._placing.lines}(d)")

    def _check_closed(self, position: Position) -> None:
        after = position.changed_after
        if after is not None and after in self._placing.closed_by:
            what = {"no_more_bets": '"no more bets"', "first_card": "the first card"}[after]
            said = f"{position.player} placed or changed wagers after {what}; undo it"
            self._refuse(position.area, said, self._placing.closed_by[after])
        if position.called not in (None, "converted"):
            said = "a wager called out needs the dealer's word, and its cash made into chips"
            self._refuse(position.area, said, self._placing.called)

    def _check_wagers(self, position: Position) -> None:
        for wager in position.wagers:
            if wager not in self._game.wagers:
                said = f"{wager} is not offered; there are: {', '.join(self._game.wagers)}"
                self._refuse(position.area, said, self._placing.not_offered)
        bonus = [wager for wager in position.wagers if wager not in STANDARD]
        clause = self._placing.bonus_beside_standard
        if bonus and len(bonus) == len(position.wagers) and clause is not None:
            said = f"{bonus[0]} needs a standard wager beside it: {', '.join(STANDARD)}"
            self._refuse(position.area, said, clause)
        clause = self._placing.one_bonus_hand
        if {"dragon_bonus_player", "dragon_bonus_banker"} <= set(bonus) and clause is not None:
            self._refuse(position.area, "the Dragon Bonus is for either hand, not for both", clause)

    def _check_areas_apart(self, positions: Sequence[Position]) -> None:
        player_in: dict[Area, str] = {}
        for position in positions:
            first = player_in.setdefault(position.area, position.player)
            if first != position.player:
                said = f"{first} and {position.player} in one area; one player each"
                lines = position.area.kind == "line" and self._placing.lines
                self._refuse(
                    position.area, said, f"{lines}(c)" if lines else self._placing.one_player
                )

    def _check_gallery(self, positions: Sequence[Position]) -> None:
        lines = [position.area for position in positions if position.area.kind == "line"]
        if lines and self._placing.lines is not None:
            bet_on = {each.area.number for each in positions if each.area.kind == "seat"}
            empty = [str(n) for n in range(1, self._game.house["areas"] + 1) if n not in bet_on]
            if empty:
                said = f"no wager may lie there while seats are empty: {', '.join(empty)}"
                self._refuse(lines[0], said, f"{self._placing.lines}(b)")
            for player, count in Counter(position.player for position in positions).items():
                if count > MOST_AREAS_OF_A_PLAYER:
                    said = f"{player} wagers in {count} areas, {MOST_AREAS_OF_A_PLAYER} are allowed"
                    self._refuse("gallery", said, f"{self._placing.lines}(e)")

    def _check_hands(self, positions: Sequence[Position]) -> None:
        """Of a player all areas count: else the second hand would only be moved to another."""
        if self._placing.one_hand is None:
            return
        hands_of: dict[str, set[str]] = {}
        for position in positions:
            hands = hands_of.setdefault(position.player, set())
            hands |= {"player", "banker"} & set(position.wagers)
            if len(hands) == 2:
                said = f"{position.player} wagers on Player and on Banker; take one of them back"
                self._refuse(position.area, said, self._placing.one_hand)

    def _check_markers(self, placed: Placed) -> None:
        if placed.markers and self._game.house["vigorish_when"] != MARKED:
            raise BadWagers(
                "markers: this house marks no vigorish; leave them out, or choose "
                '"vigorish_when": "marked"'
            )
        player_in = {position.area: position.player for position in placed.positions}
        for marker in placed.markers:
            now = player_in.setdefault(marker.area, marker.player)
            if now != marker.player:
                said = f"{marker.player} left and owes vigorish; collect it before {now} wagers"
                self._refuse(marker.area, said, self._placing.markers)

    def _of(self, choice: str) -> str:
        return self._house_game.choice(choice).clause

    def _cited(self, clause: str) -> str:
        return f"{self._house_game.rules.title()}, {clause}"

    def _refuse(self, where: Area | str, said: str, clause: str) -> NoReturn:
        raise Forbidden(f"{where}: {said} ({self._cited(clause)})")
