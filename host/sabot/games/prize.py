"""What every prize has, in every family of games: a name, and words for the people at the table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedPrize:
    """A prize of a wager. Raises ValueError if it has no words: it would be a blank row on the sign
    at the table, which a regulator reads."""

    name: str
    """In documents and output, such as "dragon_7"."""
    words: str
    """What it is for, as the sign at the table says it."""

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise ValueError(f"the prize {self.name} has no words; write what it is for")
