"""Every hit and every wager is judged by each module that shares nothing with the firmware."""

from pathlib import Path

import pytest

from host.tests.games.baccarat.test_paper_cashier import EVERY_WAGER
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import enums

_ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    "judge",
    [
        "firmware/tests/support/documents.py",
        "host/sabot/audit/play/rules.py",
        "hil_tests/sabot_hil/kit/dealer.py",
    ],
)
def test_every_hit_is_judged_by_every_second_opinion(judge: str) -> None:
    text = (_ROOT / judge).read_text(encoding="utf-8")
    # Both pairs may be made by one line.
    names = {hit: "_pair" if hit.endswith("_pair") else hit for hit in enums.HITS}
    missing = [hit for hit, name in names.items() if name not in text]
    assert not missing, f"{judge} does not know {missing}: add them, from the rule document"


def test_every_wager_is_paid_by_the_paper_cashier_too() -> None:
    missing = sorted(set(baccarat_game.HITS_OF_WAGER) - set(EVERY_WAGER))
    where = "host/tests/support/paper_cashier.py and EVERY_WAGER of its test"
    assert not missing, f"{where} do not know {missing}: add them, from the rule document"
    cashier = (_ROOT / "host/tests/support/paper_cashier.py").read_text(encoding="utf-8")
    unpaid = [wager for wager in baccarat_game.HITS_OF_WAGER if wager not in cashier]
    assert not unpaid, f"host/tests/support/paper_cashier.py does not pay {unpaid}"


def test_the_schema_has_every_wager_and_every_hit() -> None:
    schema = (_ROOT / "protocol/sabot.cddl").read_text(encoding="utf-8")
    count = len(baccarat_game.HITS_OF_WAGER)
    assert f"wagers: [1*{count} wager]" in schema, (
        f"protocol/sabot.cddl: there are {count} wagers now: `wagers: [1*{count} wager]`"
    )
    missing = [
        wager
        for wager in baccarat_game.HITS_OF_WAGER
        if f"|{wager}" not in schema.replace("(", "|")
    ]
    assert not missing, f"protocol/sabot.cddl: `wager = tstr .regexp` lacks {missing}"
