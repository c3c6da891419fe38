"""The smallest and the largest amount of each wager: the table's, or the wager's own.

A house that chooses limits for single wagers writes them as `tie:500-100000,side:100-50000`, in
cents. `side` stands for every wager but the standard ones. So they need little room in the game
document, which a shoe keeps in its memory.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sabot.errors import Forbidden, did_you_mean
from sabot.games.baccarat.wagers import STANDARD
from sabot.games.choices import MOST_CENTS
from sabot_protocol.baccarat import Game

FORM = "WAGER:LEAST-MOST,..."

_SIDE = "side"
_ONE = re.compile(r"(\w+):(\d{1,9})-(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """The smallest and the largest amount of a wager, in cents."""

    least_cents: int
    most_cents: int


def limits_in(game: Game) -> Mapping[str, Limits]:
    """Return the limits of every wager of a game."""
    house = game.house
    table = Limits(house["minimum_cents"], house["maximum_cents"])
    own = _read(house.get("limits_cents", ""))
    return {
        wager: own.get(wager) or own.get("" if wager in STANDARD else _SIDE) or table
        for wager in game.wagers
    }


def checked(text: str, wagers: Sequence[str]) -> str:
    """Return the limits of single wagers as a game document has them.

    Raises Forbidden for text of another form, for a wager that is not in `wagers` or comes twice,
    and for a least amount of 0 or above the most.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    names = [*wagers, _SIDE] if set(wagers) - set(STANDARD) else [*wagers]
    seen: set[str] = set()
    for part in parts:
        found = _ONE.fullmatch(part)
        if found is None:
            raise Forbidden(f"limits_cents: {part!r} is not a limit; write tie:500-100000")
        name, least, most = found[1], int(found[2]), int(found[3])
        if name not in names:
            raise Forbidden(f"limits_cents: {name} is not offered; {did_you_mean(name, names)}")
        if name in seen:
            raise Forbidden(f"limits_cents: {name} has two limits; give it one")
        if not 0 < least <= most <= MOST_CENTS:
            raise Forbidden(
                f"limits_cents: {part} is not 1 to {MOST_CENTS} cents, the least amount first"
            )
        seen.add(name)
    return ",".join(
        f"{name}:{each.least_cents}-{each.most_cents}"
        for name, each in _read(",".join(parts)).items()
    )


def _read(text: str) -> dict[str, Limits]:
    return {name: Limits(int(least), int(most)) for name, least, most in _ONE.findall(text)}
