"""`sabot health` against a naive shoe."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from host.tests.support.keeping_shoe import KeepingShoe
from host.tests.support.naive_shoe import answering_shoe
from sabot.cli import app
from sabot.text import local_time

MEANS = {"e_permille": 1003, "a_permille": 760, "b_permille": 1012, "x_permille": 999}
CALIBRATED = {
    "calibrated_e_permille": 1002,
    "calibrated_a_permille": 985,
    "calibrated_b_permille": 1012,
    "calibrated_x_permille": 1000,
}
CALIBRATED_MS = 1_764_000_000_000


def lines_for(*options: str, **health: Any) -> list[str]:
    """The lines that `sabot health` prints for this report, with single spaces."""
    with answering_shoe(KeepingShoe({}, health=health)) as port:
        done = CliRunner().invoke(app(), ["health", port.path, *options])
    assert done.exit_code == 0, (done.output, done.exception)
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_each_channel_is_shown_with_its_mean_its_drift_and_what_to_do() -> None:
    given = MEANS | CALIBRATED | {"calibrated_unix_ms": CALIBRATED_MS}
    assert lines_for(**given, cards=312, overruns=2, dirty=2) == [
        "channel mean bounds test card drift state",
        "E entry 100.3 % 85 to 120 % 100.2 % +0.1 % ok",
        "A track 76.0 % 85 to 120 % 98.5 % -22.5 % clean the sensor",
        "B track 101.2 % 85 to 120 % 101.2 % +0.0 % ok",
        "X exit 99.9 % 85 to 120 % 100.0 % -0.1 % ok",
        "U1: means over 312 cards since its start, samples lost 2 times, "
        f"test card: {local_time(CALIBRATED_MS)}",
    ]


def test_a_shoe_that_has_read_no_card_and_no_test_card_shows_no_values() -> None:
    lines = lines_for(e_permille=1000)
    assert lines[1:5] == [
        f"{name} - 85 to 120 % - - ok" for name in ("E entry", "A track", "B track", "X exit")
    ]
    assert lines[5].endswith("test card: never; pull it to calibrate")


def test_a_test_card_without_a_clock_is_shown_so() -> None:
    assert lines_for(**MEANS, **CALIBRATED, cards=1)[5].endswith("test card: no clock")


def test_every_channel_has_its_own_bit() -> None:
    for bit in range(4):
        states = [line.endswith("clean the sensor") for line in lines_for(dirty=1 << bit)[1:5]]
        assert states == [place == bit for place in range(4)]


def test_json_has_the_same_values() -> None:
    (line,) = lines_for("--json", **MEANS, **CALIBRATED, cards=312, overruns=2, dirty=2)
    assert json.loads(line) == {
        "unit": "U1",
        "channels": [
            {
                "channel": channel,
                "mean_permille": MEANS[f"{channel}_permille"],
                "calibrated_permille": CALIBRATED[f"calibrated_{channel}_permille"],
                "dirty": channel == "a",
            }
            for channel in "eabx"
        ],
        "cards": 312,
        "overruns": 2,
        "calibrated_unix_ms": None,
    }


def test_very_large_values_are_shown(tmp_path: Path) -> None:
    most = (1 << 64) - 1
    lines = lines_for(
        a_permille=most, dirty=most, cards=most, overruns=most, calibrated_unix_ms=most
    )
    assert len(lines) == 6 and f"over {most:,} cards" in lines[5]
