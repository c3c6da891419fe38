"""Rounds of blackjack that a simulated dealer deals on a simulated shoe: log, tables, verify."""

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sabot.cli import app

pytestmark = pytest.mark.slow


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(app(), [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    "choices",
    [
        ("decks=2",),
        ("decks=2", "surrender=early", "looks=ace", "split_by=value", "resplit_aces=yes"),
        ("decks=2", "hole_card=none", "looks=never", "soft_17=hits", "surrender=late"),
    ],
)
def test_a_shoe_of_blackjack_is_dealt_logged_listed_and_verified(
    choices: tuple[str, ...], tmp_path: Path, rng: random.Random
) -> None:
    db, seed = tmp_path / "log.sqlite", rng.randrange(1000)
    chosen = [word for choice in choices for word in ("--choose", choice)]
    said = _run("demo", "--game", "blackjack", *chosen, "--seed", seed, "--pace", 0, "--db", db)
    assert "0 findings" in said, said
    rounds = [json.loads(line) for line in _run("rounds", "--db", db, "--json").splitlines()]
    assert rounds and all(each["family"] == "blackjack" for each in rounds)
    for each in rounds:
        assert all(hand["outcome"] for box in each["boxes"] for hand in box), each
        assert each["sealed"] == 0 and each["void"] is None
    assert f"{len(rounds[0]['boxes'])} box" in _run("rounds", "--db", db)
    ends = _run("events", "--db", db, "--kind", "blackjack_result")
    assert ends.count("the dealer has") == len(rounds)
    assert "nothing to find fault with" in _run(
        "verify", "--db", db, "--keys", db.with_suffix(".keys")
    )
