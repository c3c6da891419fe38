"""The groups of shoes of cards whose figures are looked at together."""

from collections import defaultdict
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


class Members:
    """Which shoes of cards each group has, so that no group is judged twice: if all shoes of a
    table came from one unit, the table says nothing that the unit does not say."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))

    def add(self, shoe: DealtShoe) -> list[str]:
        """Note a shoe of cards; return its groups."""
        groups = list(groups_of(shoe))
        for about in groups:
            count, marks = self._of[about]
            self._of[about] = count + 1, marks ^ hash(shoe.place)
        return groups

    def distinct(self) -> list[str]:
        """The groups; of those with the same shoes of cards the first."""
        first: dict[tuple[int, int], str] = {}
        for about, members in self._of.items():
            first.setdefault(members, about)
        return list(first.values())
