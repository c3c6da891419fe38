import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# A pytest run within this process unloads the modules that it loaded first. If another test has
# loaded a part of matplotlib, the rest would be loaded twice and not fit together.
import matplotlib.figure  # noqa: F401
import pytest

import sabot_firmware
from sabot.release import layout
from sabot.release.compiling import modules
from sabot_hil import cli
from sabot_hil.kit import releases
from sabot_hil.kit.witness import Witness
from sabot_hil.pytest_plugin import plugin
from sabot_hil.targets import choice_of

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]


def _run(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(tests)
    return pytester.runpytest_inprocess("-p", "sabot_hil.pytest_plugin.plugin", "-rs", *arguments)


def _results(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    document = json.loads((pytester.path / "report" / "results.json").read_text())
    found: list[dict[str, Any]] = document["results"]
    return found


def test_what_a_target_cannot_do_is_a_skip_with_the_reason(pytester: pytest.Pytester) -> None:
    ran = _run(
        pytester,
        """
        def test_a_cut_within_a_flash_operation(power):
            power.off_in_flash(0, 0.5)
        """,
    )
    ran.assert_outcomes(skipped=1)
    ran.stdout.fnmatch_lines(["SKIPPED*chosen flash operation*"])


def test_after_the_rig_broke_every_test_fails_with_the_first_cause(
    pytester: pytest.Pytester,
) -> None:
    ran = _run(
        pytester,
        """
        from sabot_hil.capabilities import BrokenRig

        def test_a(): raise BrokenRig("no bench board answers")
        def test_b(): raise BrokenRig("nor does it now")
        def test_c(): pass
        """,
        "--report",
        "report",
    )
    assert ran.parseoutcomes()["failed"] + ran.parseoutcomes()["errors"] == 3
    assert "Traceback" not in ran.stdout.str() and "BrokenRig(" not in ran.stdout.str()
    assert [result["outcome"] for result in _results(pytester)] == ["stopped"] * 3
    reasons = [str(result["reason"]) for result in _results(pytester)[1:]]
    assert all("no bench board answers" in reason for reason in reasons), reasons


def test_a_measurement_beyond_its_limit_fails_and_is_in_the_report(
    pytester: pytest.Pytester,
) -> None:
    ran = _run(
        pytester,
        """
        def test_within(measure): measure("lock", 4.0, "ms", at_most=5)
        def test_beyond(measure): measure("lock", 6.5, "ms", "7S at 300 mm/s", at_most=5)
        def test_below(measure): measure("heap", 10, "bytes", at_least=20)
        """,
        "--report",
        "report",
        "--junit-xml",
        "junit.xml",
    )
    ran.assert_outcomes(passed=1, failed=2)
    (_, beyond, below) = [result["reason"] for result in _results(pytester)]
    assert beyond == "lock: 6.5 ms, allowed: at most 5 (7S at 300 mm/s)"
    assert below == "heap: 10 bytes, allowed: at least 20"
    measured = [result["measurements"] for result in _results(pytester)]
    assert [each[0]["value"] for each in measured] == [4.0, 6.5, 10]
    page = (pytester.path / "report" / "report.html").read_text()
    assert "6.5 ms" in page and "at most 5" in page and "Not to be accepted" in page
    assert 'name="lock" value="6.5 ms (at most 5)"' in (pytester.path / "junit.xml").read_text()


def test_a_failure_shows_what_passed_the_head_what_the_link_said_and_how_to_repeat_it(
    pytester: pytest.Pytester,
) -> None:
    ran = _run(
        pytester,
        """
        from sabot_hil.capabilities import session_with

        def test_no_card_is_ever_read(target, seed):
            target.bench.switch("lid_open", True)
            target.bench.switch("lid_open", False)
            with session_with(target.shoe) as client:
                client.begin(1)
                target.bench.pull("7H")
                for _ in range(9):
                    client.receive(0.2)
            assert False, "it was read"
        """,
        "--report",
        "report",
        "--seed",
        "77",
    )
    ran.assert_outcomes(failed=1)
    (result,) = _results(pytester)
    assert "it was read" in str(result["reason"]) and "--seed 77" in str(result["repeat"])
    link = "\n".join(result["link"])
    assert "host  hello" in link and "shoe  welcome" in link and " burn count=7" in link
    page = (pytester.path / "report" / "report.html").read_text()
    assert 'src="data:image/png;base64,' in page and "shoe  welcome" in page
    assert "http" not in page.replace("http-equiv", ""), "it needs nothing from elsewhere"


def test_a_summary_comes_into_the_report_and_progress_onto_the_terminal(
    pytester: pytest.Pytester,
) -> None:
    ran = _run(
        pytester,
        """
        def test_for_hours(summary, progress):
            summary["Dealt: shoes of cards"] = "12"
            summary["Cable"] = "left out: <no port>"
            progress("1 of 2 minutes")
            print("what only a failure shows")
        """,
        "--report",
        "report",
    )
    ran.assert_outcomes(passed=1)
    assert "1 of 2 minutes" in ran.stdout.lines
    assert "what only a failure shows" not in ran.stdout.lines
    (result,) = _results(pytester)
    assert result["summary"] == [["Dealt: shoes of cards", "12"], ["Cable", "left out: <no port>"]]
    page = (pytester.path / "report" / "report.html").read_text()
    assert "<h2>For hours</h2>" in page and "left out: &lt;no port&gt;" in page


def test_the_report_names_what_was_handed_in_and_not_what_a_test_has_put_on_the_shoe(
    pytester: pytest.Pytester,
) -> None:
    ran = _run(
        pytester,
        """
        from sabot_hil.suite.acceptance import test_update

        def test_updates(target): test_update.test_a_shoe_deals_is_updated_and_deals(target)
        """,
        "--report",
        "report",
    )
    ran.assert_outcomes(passed=1)
    about = json.loads((pytester.path / "report" / "results.json").read_text())["about"]
    version, _, build = about["Firmware"].partition(", ")
    assert version == sabot_firmware.VERSION
    assert build == layout.build_of(releases.compiled("sim")).hex()


def test_the_report_names_what_was_handed_in_if_no_test_talks_to_a_shoe(
    pytester: pytest.Pytester,
) -> None:
    _run(pytester, "def test_a(): pass", "--report", "report").assert_outcomes(passed=1)
    about = json.loads((pytester.path / "report" / "results.json").read_text())["about"]
    assert about["Firmware"].startswith(f"{sabot_firmware.VERSION}, ") and about["Board"] == "sim"


def test_a_test_that_begins_with_another_firmware_than_was_handed_in_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin, "handed_in", lambda choice: {"Firmware": "0.0.9, ab"})
    ran = _run(
        pytester,
        """
        from sabot_hil.capabilities import session_with

        def test_talks(shoe):
            with session_with(shoe): pass

        def test_is_silent(): pass
        """,
        "--report",
        "report",
    )
    ran.assert_outcomes(passed=2, errors=1)
    assert [result["outcome"] for result in _results(pytester)] == ["failed", "passed"]
    reason = str(_results(pytester)[0]["reason"])
    assert reason.startswith(f"the test began with firmware {sabot_firmware.VERSION}, ")
    assert reason.endswith("; handed in was 0.0.9, ab")


def test_a_test_that_leaves_another_firmware_on_a_real_shoe_fails() -> None:
    config: Any = SimpleNamespace(stash=pytest.Stash())
    config.stash[plugin._CHOICE] = choice_of("board:SHOE-7", bench="B")
    config.stash[plugin._HANDED_IN] = {"Firmware": "0.1.0, ab"}
    seen = Witness()
    seen.about["Firmware"], seen.runs = "0.1.0, ab", "0.2.0, cd"
    assert plugin._other_firmware(config, [seen]) == (
        "the test left firmware 0.2.0, cd on the shoe; put 0.1.0, ab back"
    )
    seen.runs = "0.1.0, ab"
    assert plugin._other_firmware(config, [seen, Witness()]) == ""


def test_several_workers_write_one_report(pytester: pytest.Pytester) -> None:
    ran = _run(
        pytester,
        """
        import pytest

        @pytest.mark.parametrize("n", range(4))
        def test_each(measure, n): measure("n", n, "")
        """,
        "--report",
        "report",
        "-n",
        "2",
    )
    ran.assert_outcomes(passed=4)
    assert len(_results(pytester)) == 4


def test_without_a_report_nothing_is_written(pytester: pytest.Pytester, tmp_path: Path) -> None:
    _run(pytester, "def test_a(): pass").assert_outcomes(passed=1)
    assert not list(pytester.path.glob("*.json"))


@pytest.mark.parametrize("board", ["sim", releases.BENCH])
def test_the_command_says_what_it_compiles_and_nothing_if_that_is_done(
    board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the simulator and for a bench board it was silent for seconds."""
    monkeypatch.setattr(releases, "cache", lambda: tmp_path)
    monkeypatch.setattr(modules, "modules_of", lambda board: {})
    monkeypatch.setattr(modules, "bench_modules", dict)
    cli._compile(board)
    assert capsys.readouterr().out.startswith("The firmware, compiled once for each version ... ")
    cli._compile(board)
    assert capsys.readouterr().out == ""
