"""Random rounds are settled as by a second settler, written from the document and from common
practice; and money is neither made nor lost."""

import json
import os
from dataclasses import asdict

from host.tests.support.random_table import random_table
from sabot.blackjack import table_file
from sabot.blackjack.settle import settle

_ROUNDS = int(os.environ.get("SABOT_ROUNDS", "2000"))
_FIRST_SEED = 20


def test_random_rounds_are_settled_as_by_a_second_settler() -> None:
    for seed in range(_FIRST_SEED, _FIRST_SEED + _ROUNDS):
        made = random_table(seed)
        done = settle(table_file.parse(json.dumps(made.fields).encode()))
        found: dict[int, list[tuple[str, int, int]]] = {}
        for line in done.lines:
            shown = (line.wager, line.returned_cents, line.paid_cents)
            found.setdefault(line.box.number, []).append(shown)
        expected = {
            number: [(each.wager, each.returned, each.paid) for each in of_box]
            for number, of_box in made.expected.items()
        }
        assert found == expected, (seed, made.fields, [asdict(line.box) for line in done.lines])
        totals = done.totals()
        assert totals["staked_cents"] == totals["returned_cents"] + totals["collected_cents"]
        assert totals["house_cents"] == totals["collected_cents"] - totals["paid_cents"]
        for line in done.lines:
            assert 0 <= line.returned_cents <= line.stake_cents
            assert line.paid_cents == 0 or line.returned_cents == line.stake_cents
