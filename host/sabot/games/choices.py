"""A choice of the house: its values, and who limits them, the rule document or Sabot itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
