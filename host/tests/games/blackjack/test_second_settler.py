"""Random rounds are settled as by a second settler, written from the document and from common
practice; and money is neither made nor lost."""

import json
import os
import random
from dataclasses import asdict
from typing import Any

import pytest

from host.tests.support.random_table import random_table
from sabot.errors import BadWagers, Forbidden, ImpossibleDeal
from sabot.games.blackjack import table_file
from sabot.games.blackjack.settle import settle

_ROUNDS = int(os.environ.get("SABOT_ROUNDS", "500"))
_FIRST_SEED = 20


@pytest.mark.slow
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


def test_a_damaged_round_is_refused_or_its_money_adds_up() -> None:
    """A random part of random rounds is removed, repeated or changed."""
    refused = 0
    for seed in range(_ROUNDS // 2):
        rng = random.Random(seed)
        fields = random_table(seed).fields
        _damage(fields, rng)
        try:
            done = settle(table_file.parse(json.dumps(fields).encode()))
        except (BadWagers, Forbidden, ImpossibleDeal) as error:
            assert str(error)
            refused += 1
            continue
        totals = done.totals()
        assert totals["staked_cents"] == totals["returned_cents"] + totals["collected_cents"]
        assert totals["house_cents"] == totals["collected_cents"] - totals["paid_cents"]
    assert refused > _ROUNDS // 5, refused


_ODD = [None, True, -1, 0, 10**15, 1.5, "", "split", "KS", "hit", [], {}, ["AS"], {"x": 1}, "\x1b["]


def _damage(fields: dict[str, Any], rng: random.Random) -> None:
    at: Any = fields
    while True:
        keys = list(range(len(at)) if isinstance(at, list) else at)
        key = rng.choice(keys)
        inner = at[key]
        if not isinstance(inner, (list, dict)) or not inner or rng.random() < 0.15:
            break
        at = inner
    how = rng.random()
    if how < 0.4:
        del at[key]
    elif how < 0.6 and isinstance(at, list):
        at.insert(key, at[key])
    else:
        at[key] = rng.choice(_ODD)
