"""clauses.csv: every clause of the documents on wagers, with its tests, or why it is not a matter
of this software.

The clauses are numbered as in the documents: Washington, all items; Maryland, Mini and Midi,
Chapters 1, 2, 7, 11 and 12; Pennsylvania and Mini Baccarat (pairs), all.
"""

import csv
import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

from sabot.games.baccarat.wager_rules import WAGER_CLAUSES

_TABLE = Path(__file__).with_name("clauses.csv")
_MODULES = (
    "games.baccarat.test_settle_maryland",
    "games.baccarat.test_settle_pairs",
    "games.baccarat.test_settle_pennsylvania",
    "games.baccarat.test_settle_washington",
    "games.baccarat.test_settle_cli",
    "games.baccarat.test_sign",
)


def _rows() -> list[dict[str, str]]:
    with _TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _tests() -> dict[str, set[str]]:
    """The names of the tests of each clause."""
    found: dict[str, set[str]] = {}
    for name in _MODULES:
        module = importlib.import_module(f"host.tests.{name}")
        for test_name, test in vars(module).items():
            for clause in getattr(test, "clauses", ()):
                assert test_name.startswith("test_"), test_name
                found.setdefault(clause, set()).add(test_name)
    return found


ROWS, TESTS = _rows(), _tests()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['document']} {row['clause']}")
def test_a_clause_has_tests_that_name_it(row: dict[str, str]) -> None:
    named = row["tests"].split()
    assert bool(named) is not bool(row["not_ours"]), (
        "either a test, marked with @clause, or the reason why it is not a matter of this software"
    )
    assert set(named) == TESTS.get(f"{row['document']} {row['clause']}", set())
    assert row["about"]


def test_what_tests_name_is_in_the_table_once() -> None:
    names = [f"{row['document']} {row['clause']}" for row in ROWS]
    assert sorted(set(names)) == sorted(names)
    ours = [f"{row['document']} {row['clause']}" for row in ROWS if not row["not_ours"]]
    assert set(TESTS) == set(ours)


def test_no_clause_was_skipped_in_counting() -> None:
    """If there is a clause (c), there is a (b); if there is a (b)(ii), there is the (b) itself."""
    names = {f"{row['document']} {row['clause']}" for row in ROWS}
    before = {"b": "a", "ii": "i", "iii": "ii"}
    for name in names:
        match = re.fullmatch(r"(.*)\((\w+)\)", name)
        if match is None:
            continue
        above, last = match.groups()
        assert above in names, name
        if last not in ("a", "i", "1"):
            earlier = before.get(last) or chr(ord(last) - 1)
            assert f"{above}({earlier})" in names, name


def test_both_maryland_documents_have_the_same_clauses() -> None:
    mini, midi = (
        [row | {"document": ""} for row in ROWS if row["document"] == f"Maryland {variety}"]
        for variety in ("Mini", "Midi")
    )
    assert mini == midi and len(mini) == 108


def test_every_clause_that_forbids_is_in_the_table() -> None:
    known = {f"{row['document'].split()[0].lower()} {row['clause']}" for row in ROWS}
    for rules, placing in WAGER_CLAUSES.items():
        for field in fields(placing):
            value = getattr(placing, field.name)
            for cited in value.values() if isinstance(value, dict) else [value]:
                if cited is None or cited.startswith("not in the document"):
                    continue
                for clause in cited.split(":")[0].split(" and "):
                    plain = clause.removeprefix("item ").removeprefix("Chapter ")
                    assert any(
                        name == f"{rules} {plain}" or name.startswith(f"{rules} {plain},")
                        for name in known
                    ), clause
