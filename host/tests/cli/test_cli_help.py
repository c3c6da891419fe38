"""`--help` of every command, at the width of a small terminal."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import run
from sabot.cli import app
from sabot.cli.commands import MODULES, imported

COMMANDS = sorted(MODULES)


@pytest.mark.slow
def test_help_lists_every_command_with_what_it_does(tmp_path: Path) -> None:
    wanted = "capture demo events health log ports rounds sim verify"
    assert set(wanted.split()) <= set(COMMANDS)
    page = run(tmp_path, "--help").stdout
    for name in COMMANDS:
        assert re.search(rf"^\W+{name} +[A-Z]", page, re.MULTILINE), name
    assert "Exit codes:" in page


@pytest.mark.slow
def test_help_groups_the_commands_by_task_in_the_order_of_a_newcomer(tmp_path: Path) -> None:
    page = run(tmp_path, "--help").stdout
    tasks = re.findall(r"^╭─ (.+?) ─+╮$", page, re.MULTILINE)
    assert tasks[0] == "Options" and "Commands" not in tasks and len(tasks) > 5
    listed = [page.index(f"│ {name} ") for name in ("demo", "log", "rounds", "verify", "flash")]
    assert listed == sorted(listed)


@pytest.mark.slow
def test_without_a_command_help_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, code=2)
    assert "Usage: sabot" in done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_help_explains_every_option_and_argument(name: str) -> None:
    page = CliRunner().invoke(app(), [name, "--help"], env={"COLUMNS": "80"}).stdout
    assert all(len(line) <= 80 for line in page.splitlines())
    for parameter in imported(name).params:
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            assert re.search(rf"(^|\s){option}(\s|$)", page, re.MULTILINE), option
        help_text = getattr(parameter, "help", None) or ""
        assert help_text, parameter.name
        words = re.sub(r"[\s│]+", " ", page)
        assert " ".join(help_text.split()[:3]) in words, parameter.name
