"""The benchmarks run and give figures; only short ones are run."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import sabot_hil
from host.tests.support.browser import NoBrowser
from sabot.sim.process import environment, interpreter
from sabot_hil.benchmarks import __main__ as bench
from sabot_hil.benchmarks import emulation, listing, verifying
from sabot_hil.benchmarks.floor import following, screens, searching
from sabot_hil.benchmarks.targets import rounds_per_min
from sabot_hil.targets import TargetChoice

pytestmark = pytest.mark.slow

_PACKAGES = Path(sabot_hil.__file__).resolve().parents[1]


def test_the_reader_the_codec_and_the_size_are_measured() -> None:
    figures = {
        figure.name: figure.value
        for figure in [*bench.reader_figures(), *bench.codec_figures(), *bench.size_figures()]
    }
    assert len(figures) >= 10 and all(value >= 0 for value in figures.values()), figures


def test_the_record_that_the_database_is_measured_with_is_an_event() -> None:
    record = bench._card_record(7)
    assert (record.event.kind, record.event.number) == ("card", 7)


def test_the_rounds_of_a_simulator_are_counted() -> None:
    assert rounds_per_min(TargetChoice("sim"), rounds=1) > 0


def test_every_listing_of_a_long_log_is_measured() -> None:
    figures = list(listing.measure_listing(events=2_000))
    assert [figure.command for figure in figures] == list(listing.COMMANDS)
    for figure in figures:
        assert figure.events >= 2_000 and figure.memory_bytes > 1e6, figure
        assert 0 < figure.first_line_s <= figure.elapsed_s and figure.processor_s > 0, figure


def test_the_verifier_is_measured_over_a_log_without_findings() -> None:
    assert verifying.measure_verifying(records=2_000).records >= 2_000


def test_a_floor_that_follows_a_log_is_measured_for_every_commit() -> None:
    done = following.measure_following(units=10, events=2000, seconds=1.0, per_s=20)
    assert 0 < done.first_tile_s <= done.all_tiles_s and done.memory_bytes > 1e6, done
    assert 0 < done.median_ms <= done.most_ms_of_99, done


def test_an_hour_of_a_floor_is_measured_in_parts() -> None:
    hour = following.measure_hour(units=3, events=600)
    assert hour.us_per_event > 0 and len(hour.memory_bytes) == 7 and min(hour.memory_bytes) > 1e6


def test_the_way_from_a_commit_to_the_screen_is_measured_for_every_commit() -> None:
    try:
        done = screens.measure_screens(tables=10, events_per_s=20, minutes=0.05)
    except NoBrowser as why:
        pytest.skip(str(why))
    assert done.commits > 50 and done.lost == 0, done
    assert 0 < done.median_ms <= done.most_ms_of_99 <= done.longest_ms, done


def test_the_pace_of_the_emulator_is_measured_alone_and_wired(image_file: Path) -> None:
    for choice in emulation.CHOICES.values():
        paces = emulation.measured(replace(choice, image=image_file))
        assert len(paces) == 3 and all(pace > 0 for pace in paces.values()), paces


def test_the_heap_that_the_firmware_holds_is_measured(tmp_path: Path) -> None:
    command = [*interpreter(2_000_000), "-m", "sabot_hil.benchmarks.heap", str(tmp_path)]
    done = subprocess.run(
        command, cwd=_PACKAGES, env=environment(), check=True, capture_output=True, text=True
    )
    figures = dict(line.split() for line in done.stdout.splitlines())
    assert int(figures["modules"]) + int(figures["state"]) == int(figures["total"]) > 0


@pytest.mark.slow
def test_searches_are_measured() -> None:
    done = searching.measure_searching(units=3, events=2000)
    assert done.rounds > 0 and {"cards", "table time", "incident"} <= done.queries_ms.keys()
