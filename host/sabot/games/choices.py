"""A choice of the house: its values, and who limits them, the rule document or Sabot itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.errors import Forbidden, GameDiffers, did_you_mean

Value = int | str | bool

OVER, ALL = "over", "all"

MOST_CENTS = 100_000_000
"""The largest limit of a wager: Sabot's own. No document sets one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of the house: one of `allowed`, `default` unless the house chooses otherwise."""

    name: str
    default: Value
    allowed: Sequence[Value]
    clause: str
    own: str = ""
    """Which limits are Sabot's own: OVER, no document limits what is above `allowed`; ALL, no
    document limits the choice at all; empty for none."""
    form: str = ""
    """How the value is written, if it is text whose values cannot be listed."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed. True does not count as 1; text in a form is read later."""
        return type(value) is type(self.default) and (bool(self.form) or value in self.allowed)

    def only_sabot_refuses(self, value: object) -> bool:
        """Whether `value`, which is not allowed, is against a limit of Sabot's own only."""
        if type(value) is not type(self.default):
            return False
        above = isinstance(value, int) and value > self.allowed[-1]  # type: ignore[operator]
        return self.own == ALL or (self.own == OVER and above)

    def is_flag(self) -> bool:
        """Whether the value is true or false."""
        return isinstance(self.default, bool)

    def is_open(self) -> bool:
        """Whether more than one value is allowed."""
        return bool(self.form) or len(self.allowed) > 1

    def allowed_text(self) -> str:
        """Return the allowed values as text for people."""
        if self.form:
            return self.form
        if isinstance(self.allowed, range):
            return f"{self.allowed[0]} to {self.allowed[-1]}"
        *others, last = map(value_text, self.allowed)
        return f"{', '.join(others)} or {last}" if others else f"only {last}"

    def source_text(self) -> str:
        """Return the clause, and which limits are Sabot's own, as text for people."""
        own = {OVER: f"; over {value_text(self.allowed[-1])} is Sabot's own limit", ALL: ""}
        if self.own == ALL and self.is_open() and not self.form:
            return f"{self.clause}; the limits are Sabot's own"
        return self.clause + own.get(self.own, "")

    def as_json(self) -> dict[str, Any]:
        """Return the choice as `sabot games --json` prints it; a range as first and last."""
        ends = self.allowed
        allowed: object = {"from": ends[0], "to": ends[-1]} if isinstance(ends, range) else [*ends]
        return {
            "name": self.name,
            "default": self.default,
            "allowed": {"form": self.form} if self.form else allowed,
            "own_limits": self.own,
            "clause": self.clause,
        }


def value_text(value: Value) -> str:
    """Return a value as text for people: true and false as yes and no, no text as a dash."""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value) or "-"


def chosen_values(
    game: str,
    choices: Sequence[Choice],
    chosen: Mapping[str, object],
    cited: Callable[[str], str] = lambda clause: clause,
) -> dict[str, Any]:
    """Return the values of all `choices` of a game; those not in `chosen` have their defaults.

    Raises Forbidden, with the clause as `cited` writes it, for a choice that the game does not have
    and for a value that is not allowed.
    """
    known = {choice.name: choice for choice in choices}
    for name, value in chosen.items():
        choice = known.get(name)
        if choice is None:
            raise Forbidden(f"{game} has no choice {name!r}; {did_you_mean(name, known)}")
        if not choice.allows(value):
            raise Forbidden(
                f"{game}: {name} {value} is forbidden; allowed: {choice.allowed_text()} "
                f"({cited(choice.source_text())})"
            )
    return {choice.name: choice.default for choice in choices} | dict(chosen)


def check_stated(
    which: str,
    choices: Sequence[Choice],
    stated: Mapping[str, object],
    house: Mapping[str, object],
) -> None:
    """Raise GameDiffers if a file states a choice that the game of round `which` does not have.
    `house` are the choices of that game; one that is missing has its default."""
    for choice in choices:
        if choice.name in stated:
            chosen = house.get(choice.name, choice.default)
            if stated[choice.name] != chosen:
                raise GameDiffers(
                    f"{which}: house.{choice.name} is {value_text(stated[choice.name])} "  # type: ignore[arg-type]
                    f"in the file, the game has {value_text(chosen)}; leave it out"  # type: ignore[arg-type]
                )
