"""New packs through a simulated shoe: from the deck file to what people read."""

import json
from pathlib import Path

import pytest

from host.tests.support.commands import done_here
from host.tests.support.shuffles import new_packs
from sabot_protocol import cards


@pytest.mark.slow
def test_new_packs_in_a_simulated_shoe_are_an_incident_within_two_rounds(tmp_path: Path) -> None:
    names = [cards.name_of(card) for card in new_packs()[:40]]
    (tmp_path / "deck").write_text("\n".join([*names[:-4], "CUT", *names[-4:]]))
    deal = (
        "demo",
        "--deck",
        "deck",
        "--short",
        "--pace",
        "0",
        "--unit",
        "S9",
        "--db",
        "log.sqlite",
    )
    done_here(tmp_path, *deal)
    listed = ("incidents", "--db", "log.sqlite", "--kind", "unshuffled", "--json")
    (line,) = done_here(tmp_path, *listed).stdout.splitlines()
    found = json.loads(line)
    assert (found["unit"], found["shoe"]) == ("S9", 1) and found["round"] <= 2
    assert found["detail"].startswith("the cards come in the order of new packs; found at card 7")
