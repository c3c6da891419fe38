"""clauses.csv: every clause of Maryland's blackjack rules that was available, with its tests, or
why it is not a matter of this software; and what the code cites is in it."""

import csv
import re
from pathlib import Path

import pytest

from host.tests.games.blackjack import test_document
from sabot.games.blackjack.house import CHOICES
from sabot.games.blackjack.paytables import PUBLISHED, SIDE_WAGERS, clause_of

_TABLE = Path(__file__).with_name("clauses.csv")
_CODE = Path(__file__).resolve().parents[3] / "sabot" / "games" / "blackjack"
_CLAUSE = re.compile(r"\b(?:2|13) [AB](?:\(\w+\))*")


def _rows() -> list[dict[str, str]]:
    with _TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = _rows()
NAMES = [row["clause"] for row in ROWS]


def _tests() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, test in vars(test_document).items():
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
    before = {"ii": "i", "iii": "ii", "iv": "iii", "v": "iv"}
    for name in NAMES:
        match = re.fullmatch(r"(.+)\((\w+)\)", name)
        if match is None:
            continue
        above, last = match.groups()
        assert above in NAMES, name
        is_letter = len(last) == 1 and above[-1] in "1234567890)" and above.count("(") < 2
        if last not in ("a", "1") and not (last == "i" and not is_letter):
            assert f"{above}({before.get(last, '') or chr(ord(last) - 1)})" in NAMES, name


def test_every_clause_that_the_code_cites_is_in_the_table() -> None:
    cited = set(_CLAUSE.findall("".join(map(_text, _CODE.rglob("*.py")))))
    cited |= {each for choice in CHOICES for each in _CLAUSE.findall(choice.clause)}
    cited |= {each for wager in SIDE_WAGERS for each in _CLAUSE.findall(clause_of(wager))}
    assert len(cited) > 10
    assert cited <= set(NAMES)


def test_every_side_wager_of_the_layout_is_known() -> None:
    assert [clause_of(wager).split(",")[0] for wager in SIDE_WAGERS if wager in PUBLISHED] == [
        f"2 B(4)({letter})" for letter in "abcdefgi"
    ]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
