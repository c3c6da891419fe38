import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sabot.errors import ReportUnusable
from sabot.sim.waveform import pass_samples
from sabot_hil.report import page
from sabot_hil.report.compare import differences, worse
from sabot_hil.report.results import (
    FILE,
    Comparison,
    Measurement,
    Result,
    SuiteRun,
    read_results,
    write_results,
)


def _run(
    lock_ms: float = 4.0, outcome: str = "passed", about: Mapping[str, str] | None = None
) -> SuiteRun:
    lock = Measurement("last mark to lock", lock_ms, "ms", at_most=5.0)
    return SuiteRun(
        {"Target": "sim", **(about or {})},
        [
            Result("suite/test_timing.py::test_lock", "passed", 0.5, measurements=[lock]),
            Result("suite/test_draws.py::test_draws[3]", outcome, 1.5, reason="R & <b>"),
        ],
    )


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    run = _run(outcome="failed")
    run.results[1].passes = [(12, "AAAA")]
    run.results[1].summary = [("Dealt: rounds", "70")]
    for unfinished in ("", "stopped"):
        run = replace(run, unfinished=unfinished)
        write_results(run, tmp_path)
        assert read_results(tmp_path) == run


def test_figures_of_a_bare_pico_are_kept_and_shown_beside_the_emulator_s(tmp_path: Path) -> None:
    run = _run()
    run.results[0].comparisons = [
        Comparison("a miss", 61.0, "cycles", 50.0, 1.5, "change MISS_CYCLES from 50 to 61"),
        Comparison("a flush", 1040.0, "cycles", 1050.0, 60.0, "change FLUSH_CYCLES"),
    ]
    write_results(run, tmp_path)
    assert read_results(tmp_path) == run
    shown = page.render_page(run)
    assert "What the emulator assumes" in shown and "change MISS_CYCLES from 50 to 61" in shown
    assert "change FLUSH_CYCLES" not in shown and ">agrees<" in shown
    assert "What the emulator assumes" not in page.render_page(_run())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": "sabot hil report 1"}', "null", "[" * 100_000],
)
def test_a_damaged_report_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ReportUnusable) as refused:
        read_results(tmp_path)
    assert str(refused.value).startswith(str(tmp_path)) and "\n" not in str(refused.value)


def test_a_report_of_another_format_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"format": "sabot hil report 2"}')
    with pytest.raises(ReportUnusable, match="report 2"):
        read_results(tmp_path)


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportUnusable, match="cannot be read"):
        read_results(tmp_path)


def test_what_did_not_change_is_not_shown() -> None:
    assert list(differences(_run(), _run(4.1))) == []


def test_its_time_and_how_to_repeat_it_are_not_differences() -> None:
    first = _run(about={"Begun": "yesterday", "Took": "3 s", "To repeat": "sabot hil --seed 1"})
    again = _run(about={"Begun": "today", "Took": "4 s", "To repeat": "sabot hil --seed 2"})
    assert list(differences(first, again)) == []


def test_changes_of_firmware_outcome_and_figures_are_shown() -> None:
    before, after = _run(about={"firmware": "1"}), _run(4.8, "failed", {"firmware": "2"})
    lines = list(differences(before, after))
    assert lines[0] == "firmware: 1 -> 2"
    assert "test_draws[3]: passed -> failed (R & <b>)" in lines[1]
    assert lines[2].endswith("last mark to lock: 4 -> 4.8 ms, +20%")
    assert worse(before, after) and not worse(after, before) and not worse(after, after)


def test_tests_that_came_or_went_are_shown() -> None:
    before, after = _run(), _run()
    del after.results[1]
    assert list(differences(before, after)) == ["test_draws.py::test_draws[3]: passed -> not there"]
    assert worse(before, after), "a test that vanished proves nothing any more"
    assert not worse(after, before)


def test_tests_of_files_with_the_same_name_are_told_apart_by_their_folders() -> None:
    before, after = _run(), _run()
    for run in (before, after):
        run.results[0].test = "/here/suite/smoke/test_a.py::test_a"
        run.results[1].test = "/here/suite/acceptance/test_a.py::test_a"
    after.results[1].outcome = "failed"
    (line,) = differences(before, after)
    assert line.startswith("acceptance/test_a.py::test_a: passed -> failed")
    assert worse(before, after)


def test_the_folder_in_which_the_suites_are_is_no_difference() -> None:
    before, after = _run(outcome="failed"), _run(4.8, outcome="failed")
    for result in after.results:
        result.test = f"../lib/sabot_hil/{result.test}"
    (figure,) = differences(before, after)
    assert figure.startswith("test_timing.py::test_lock: last mark to lock: 4 -> 4.8 ms")
    assert not worse(before, after)


def test_a_test_that_was_stopped_is_neither_skipped_nor_failed() -> None:
    run = replace(_run(outcome="stopped"), unfinished="stopped before its end")
    text = page.render_page(run)
    assert "1 passed, 0 failed, 1 stopped, 0 not tested here" in text
    assert "<h2>Stopped</h2>" in text and "<h2>Not tested here</h2>" not in text
    assert not worse(_run(), run)
    assert "stopped" not in page.render_page(_run()).partition("</style>")[2]


def test_output_of_a_shoe_or_a_test_is_escaped_on_the_page() -> None:
    run = _run(outcome="failed")
    run.results[1].link = ["shoe <script>alert(1)</script>"]
    text = page.render_page(run)
    assert "<script" not in text and "&lt;script&gt;" in text and "R &amp; &lt;b&gt;" in text


@pytest.mark.slow
def test_the_page_says_what_failed_and_what_was_read() -> None:
    run = _run(outcome="failed")
    run.results[1].passes = [(5_000_000, base64.b64encode(pass_samples(30, 0)).decode())]
    text = page.render_page(run)
    assert "Not to be accepted" in text and "data:image/png" in text
    assert "No test failed" in page.render_page(_run())


def test_a_run_that_was_stopped_is_not_an_acceptance() -> None:
    text = page.render_page(replace(_run(), unfinished="stopped by <hand>"))
    assert "Not judged to the end" in text and "stopped by &lt;hand&gt;" in text
    assert "No test failed" not in text


def test_a_run_without_tests_is_not_an_acceptance() -> None:
    assert "Nothing was tested" in page.render_page(SuiteRun({}, []))


@pytest.mark.parametrize(
    "measured, good, limits, left",
    [
        (Measurement("a", 5, "ms", at_most=5), True, "at most 5", "0 %"),
        (Measurement("a", 5.1, "ms", at_most=5), False, "at most 5", "none"),
        (Measurement("a", 4, "ms", at_least=5), False, "at least 5", "none"),
        (Measurement("a", 3, "ms", at_most=4), True, "at most 4", "25 %"),
        (Measurement("a", 6, "KB", at_least=4), True, "at least 4", "50 %"),
        (Measurement("a", 0, "times", at_most=0), True, "at most 0", ""),
        (Measurement("a", 4, "ms", at_most=5, at_least=3), True, "at least 3 and at most 5", ""),
        (Measurement("a", 4, "ms"), True, "", ""),
    ],
)
def test_limits_are_kept_at_and_not_beyond_them(
    measured: Measurement, good: bool, limits: str, left: str
) -> None:
    assert (measured.good, measured.limits, measured.left) == (good, limits, left)
