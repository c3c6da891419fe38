"""clauses.csv: every clause of Maryland's poker rules, Chapter 8, with its tests, or why it is not
a matter of this software; and what the code cites is in it."""

import csv
import re
from pathlib import Path

import pytest

from host.tests.games.holdem import test_chapter_8, test_run_twice
from sabot.games.holdem.house import CHOICES

_TABLE = Path(__file__).with_name("clauses.csv")
_CODE = Path(__file__).resolve().parents[3] / "sabot" / "games" / "holdem"


def _rows() -> list[dict[str, str]]:
    with _TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = _rows()
NAMES = [row["clause"] for row in ROWS]


def _tests() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, test in (*vars(test_chapter_8).items(), *vars(test_run_twice).items()):
        for each in getattr(test, "clauses", ()):
            found.setdefault(each, set()).add(name)
    return found


TESTS = _tests()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["clause"]))
def test_a_clause_has_tests_that_name_it(row: dict[str, str]) -> None:
    named = row["tests"].split()
    assert bool(named) is not bool(row["not_ours"])
    assert set(named) == TESTS.get(row["clause"], set())


def test_what_tests_name_is_in_the_table_once() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(TESTS) == {row["clause"] for row in ROWS if not row["not_ours"]}


def test_no_clause_was_skipped_in_counting() -> None:
    """After A comes B; if there is a (c), there is a (b); if there is B(6)(a), there is B(6)."""
    letters = [name for name in NAMES if len(name) == 1]
    assert letters == list("ABCDEFGHIJKL")
    before = {"ii": "i"}
    for name in NAMES:
        match = re.fullmatch(r"(.+)\((\w+)\)", name)
        if match is None:
            continue
        above, last = match.groups()
        assert above in NAMES, name
        if last not in ("a", "i", "1"):
            assert f"{above}({before.get(last) or chr(ord(last) - 1)})" in NAMES, name


def test_every_clause_that_the_code_cites_is_in_the_table() -> None:
    cited = set(re.findall(r'"([A-L](?:\(\w+\))*)"', "".join(map(_text, _CODE.glob("*.py")))))
    assert len(cited) > 15
    for choice in CHOICES:
        head = choice.clause.split(":")[0].split(",")[0]
        if not head.startswith("not in the document"):
            cited |= set(head.split(" and "))
    assert cited <= set(NAMES)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
