"""The groups of shoes of cards whose figures are looked at together."""

from collections.abc import Iterator

from sabot.integrity.dealt_shoe import DealtShoe

ALL = "all units"


def groups_of(shoe: DealtShoe) -> Iterator[str]:
    """The groups that a shoe of cards belongs to, by the names that findings have for them."""
    yield f"unit {shoe.unit}"
    if shoe.table:
        yield f"table {shoe.table}"
    for kind, name in shoe.also.items():
        yield f"{kind} {name}"
    yield ALL
