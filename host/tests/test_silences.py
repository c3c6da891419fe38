"""The table of what can stop: its rows are whole, and docs/monitoring.md shows them."""

from pathlib import Path

import pytest

from sabot import silences
from sabot.silences import SILENCES, Silence, Where

_PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"
_HEAD = "| what stops | figure | after | words | where |"


def test_the_page_shows_the_table() -> None:
    lines = _PAGE.read_text(encoding="utf-8").splitlines()
    begin = lines.index(_HEAD) + 2
    rows = lines[begin : lines.index("", begin)]
    assert rows == silences.as_table(), "put the lines of sabot.silences.as_table() into the page"


@pytest.mark.parametrize(
    "missing", [{"words": ""}, {"where": ()}, {"ways": {}}], ids=["words", "where", "ways"]
)
def test_a_row_without_words_place_or_way_cannot_be_made(missing: dict[str, object]) -> None:
    whole = {
        "part": "a page",
        "figure": "the newest picture",
        "after_s": 15.0,
        "words": "nothing has been heard",
        "where": (Where.SCREEN,),
        "ways": {"hangs": "its server hangs"},
    }
    Silence(**whole)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a page"):
        Silence(**whole | missing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("alarm", "where"), [("SabotDown", Where.SCREEN), ("", Where.METRIC)], ids=["metric", "rule"]
)
def test_a_rule_is_named_where_a_metric_is_and_nowhere_else(alarm: str, where: Where) -> None:
    with pytest.raises(ValueError, match="a metric and its rule"):
        Silence(
            part="a page", figure="the newest picture", after_s=15.0, words="nothing heard",
            where=(where,), ways={"hangs": "its server hangs"}, alarm=alarm,
        )  # fmt: skip


@pytest.mark.parametrize("row", [each for each in SILENCES.values() if each.alarm])
def test_the_rule_of_a_row_is_among_those_of_the_page(row: Silence) -> None:
    rules = _PAGE.parent.joinpath("monitoring", "rules.yml").read_text(encoding="utf-8")
    assert f"- alert: {row.alarm}\n" in rules


def test_a_part_has_one_row() -> None:
    with pytest.raises(ValueError, match="twice"):
        silences._silence("line")


def test_words_are_told_with_any_figures_and_line_breaks_and_not_in_part() -> None:
    said = silences.LINE.say(unit="SHOE-7", held=240)
    assert said == "SHOE-7 holds 240 events that do not arrive"
    assert silences.LINE.is_told_in(f"sabot: {said.replace(' that', chr(10) + '  that')}: look")
    assert not silences.LINE.is_told_in("SHOE-7 holds 240 events")
    assert all(each.is_told_in(each.words) for each in SILENCES.values())
