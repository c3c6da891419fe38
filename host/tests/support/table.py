"""Tables with wagers to settle, and the decorator that names the clauses that a test covers."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from sabot.errors import Forbidden
from sabot.games.baccarat import catalogue, wager_file
from sabot.games.baccarat.score import Score, score
from sabot.games.baccarat.settle import InShoe, Settlement, settle
from sabot_protocol.baccarat import Game

_Test = TypeVar("_Test", bound=Callable[..., Any])

VARIETIES = ("Mini", "Midi")

# Hands of the Player and of the Banker.
PLAYER_WINS = ("9S KD", "KC 7D")
BANKER_WINS = ("2S 4D", "9C QH")
TIE = ("JD 7C", "AD 6H")
NATURAL_TIES = [("9D QS", "4S 5S"), ("KS 8H", "TD 8D")]
DRAGON_7 = ("6S QH", "5D KH 2D")
PANDA_8 = ("TC JC 8S", "2H AC")

_RANK = "TA23456789"


def clause(*names: str) -> Callable[[_Test], _Test]:
    """Mark a test as a test of these clauses in clauses.csv.

    "Maryland 7 D" means that clause of both documents, "Maryland Mini" and "Maryland Midi".
    """

    def marked(test: _Test) -> _Test:
        test.clauses = [full for name in names for full in _full(name)]  # type: ignore[attr-defined]
        return test

    return marked


def _full(name: str) -> list[str]:
    document, _, rest = name.partition(" ")
    if document != "Maryland":
        return [name]
    return [f"Maryland {variety} {rest}" for variety in VARIETIES]


@lru_cache(maxsize=1000)
def game(name: str, **house: object) -> Game:
    """A game with the house's choices."""
    return Game(catalogue.document(name, house))


def scored(name: str, hands: tuple[str, str], **house: object) -> Score:
    """The score of a round of a game, from the two hands."""
    return score(game(name, **house), hands[0].split(), hands[1].split())


def of_three(player: int, banker: int) -> tuple[str, str]:
    """A round with these totals, in which both hands have three cards."""
    return f"KD QD {_RANK[player]}C", f"KH QH {_RANK[banker]}S"


def seat(
    number: int, who: str = "Ann", /, changed: dict[str, Any] | None = None, **wagers: int
) -> dict[str, Any]:
    """A position at a seat; `changed` are more of its fields."""
    return {"seat": number, "player": who, "wagers": wagers} | (changed or {})


def line(number: int, who: str = "Ann", /, **wagers: int) -> dict[str, Any]:
    """A position on the line between seat `number` and the next."""
    return {"line": number, "player": who, "wagers": wagers}


def full(seats: int = 9) -> list[dict[str, Any]]:
    """Every seat with a wager on the Player, each by a different player."""
    return [seat(number, f"P{number}", player=1000) for number in range(1, seats + 1)]


def settled(
    name: str,
    positions: Sequence[dict[str, Any]],
    hands: tuple[str, str] | str = PLAYER_WINS,
    house: dict[str, object] | None = None,
    in_shoe: InShoe | None = None,
    **more: Any,
) -> Settlement:
    """Settle a round as the command does; for a void round `hands` is the reason. Raises Forbidden
    for the first wager or marker that is left to the floor."""
    done = with_left(name, positions, hands, house, in_shoe, **more)
    if done.left:
        raise Forbidden(str(done.left[0]))
    return done


def with_left(
    name: str,
    positions: Sequence[dict[str, Any]],
    hands: tuple[str, str] | str = PLAYER_WINS,
    house: dict[str, object] | None = None,
    in_shoe: InShoe | None = None,
    **more: Any,
) -> Settlement:
    """Settle as `settled` does, also if something is left to the floor."""
    file = {"positions": list(positions), "house": house or {}} | more
    wagers = wager_file.parse(json.dumps(file).encode())
    played = game(name, **wagers.house)
    if isinstance(hands, str):
        return settle(played, wagers, hands, in_shoe)
    dealt = score(played, hands[0].split(), hands[1].split())
    return settle(played, wagers, dealt, in_shoe)


def steps(done: Settlement) -> list[tuple[str, str, str | None, int]]:
    """The steps as (what the dealer does, where, for which wager, amount in cents)."""
    return [(step.do, str(step.area), step.wager, step.amount_cents) for step in done.steps]


def outcome(name: str, wager: str, hands: tuple[str, str], **house: object) -> str | int:
    """The outcome of a wager of 100.00 next to one on Player: "lose", "push" or its odds."""
    wagers = {"player": 10_000} | {wager: 10_000}
    done = settled(name, [seat(1, **wagers)], hands, house)
    (step,) = [
        step
        for step in done.steps
        if step.wager == wager and step.do in ("collected", "pushed", "paid")
    ]
    if step.do == "paid":
        assert step.amount_cents % 10_000 == 0
        return step.amount_cents // 10_000
    assert step.amount_cents == 10_000
    return {"collected": "lose", "pushed": "push"}[step.do]
