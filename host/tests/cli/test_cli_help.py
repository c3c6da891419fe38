"""`--help` of every command, at the width of a small terminal."""

import ast
import re
from pathlib import Path
from typing import TypeGuard

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import run
from sabot.cli import app
from sabot.cli.commands import MODULES, imported

COMMANDS = sorted(MODULES)
_ROOT = Path(__file__).resolve().parents[3]


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


def test_every_command_of_a_module_is_registered() -> None:
    """A function with the name of its module is a command."""
    commands = {name.replace("-", "_") for name in MODULES}
    for path in (_ROOT / "host/sabot/cli").rglob("*.py"):
        functions = [each for each in ast.parse(path.read_text()).body if _is_function(each)]
        forgotten = {each.name for each in functions if each.name == path.stem} - commands
        forgotten -= _NOT_COMMANDS
        assert not forgotten, f"add {forgotten} to _BY_TASK in host/sabot/cli/commands.py"


_NOT_COMMANDS = {"measured", "rounds_table"}


def _is_function(statement: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(statement, ast.FunctionDef)


def test_the_page_on_postgres_says_which_role_a_command_needs() -> None:
    page = (_ROOT / "docs/postgres.md").read_text()
    rows = "\n".join(re.findall(r"^\| .*\|$", page, re.MULTILINE))
    for name in sorted(set(MODULES) - _ONLY_FILES):
        opens_log = any("--db" in each.opts for each in imported(name).params)
        named = re.search(rf"`(sabot )?{name}`", rows)
        assert named or not opens_log, f"docs/postgres.md: say which role `{name}` needs"


_ONLY_FILES = {"convert", "demo"}
"""Commands that make or change a file, and refuse a server."""
