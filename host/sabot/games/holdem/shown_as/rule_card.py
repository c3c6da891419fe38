"""The rule card of hold'em as text for a terminal."""

from collections.abc import Iterator, Mapping

from sabot.games.choices import value_text
from sabot.games.dealt_game import DealtGame
from sabot.games.lines import Line, new_table
from sabot.terminal import LongLine


def card_lines(listed: DealtGame, chosen: Mapping[str, object]) -> Iterator[Line]:
    """Yield what `sabot games show holdem` prints."""
    yield from map(LongLine, (listed.title, listed.source, ""))
    table = new_table("the house chooses", "as shown", "allowed", "clause")
    for each in listed.choices:
        shown = value_text(chosen.get(each.name, each.default))  # type: ignore[arg-type]
        table.add_row(each.name, shown, each.allowed_text(), each.source_text())
    yield table
