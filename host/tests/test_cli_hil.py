"""`sabot hil`: a suite on a simulated shoe, its report, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.commands import error_line_here, run


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `report`, of a smoke test that passed."""
    folder = tmp_path_factory.mktemp("hil")
    run(folder, "hil", "-k", "answered or without_cards", "--report", "report")
    return folder


def test_a_report_has_a_page_data_and_junit(accepted: Path) -> None:
    report = accepted / "report"
    assert sorted(path.name for path in report.iterdir()) == [
        "junit.xml",
        "report.html",
        "results.json",
    ]
    document = json.loads((report / "results.json").read_text())
    assert [each["outcome"] for each in document["results"]] == ["passed", "passed"]
    assert {"Target", "Unit", "Firmware", "MicroPython"} <= set(document["about"])


def test_a_report_folder_that_is_there_is_left_as_it_is(accepted: Path) -> None:
    before = (accepted / "report" / "results.json").read_bytes()
    line = error_line_here(accepted, "hil", "--report", "report", code=24)
    assert line == "report: is there already; name a new folder"
    assert (accepted / "report" / "results.json").read_bytes() == before


def test_what_failed_since_is_told_with_exit_code_1(accepted: Path) -> None:
    document = json.loads((accepted / "report" / "results.json").read_text())
    document["results"][0] |= {"outcome": "failed", "reason": "no answer"}
    (accepted / "later").mkdir(exist_ok=True)
    (accepted / "later" / "results.json").write_text(json.dumps(document))
    assert run(accepted, "hil", "compare", "report", "report").stdout == "Nothing changed.\n"
    told = run(accepted, "hil", "compare", "report", "later", code=1).stdout
    assert told.endswith("passed -> failed (no answer)\n") and told.count("\n") == 1


def test_a_folder_without_a_report_is_told(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "hil", "compare", "a", "b", code=24)
    assert line.startswith("a/results.json: cannot be read (No such file or directory)")


def test_no_test_of_that_name_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "hil", "-k", "nosuch", code=26)
    assert done.stderr == "sabot: smoke: no test is named 'nosuch'; leave -k out to see all\n"


def test_a_target_that_there_is_not_is_told(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "hil", "--target", "simm", code=2)
    assert line == "no target is called 'simm'; did you mean sim?"
