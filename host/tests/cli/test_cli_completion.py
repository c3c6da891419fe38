"""Completion in a shell, and `--version`: the options of `sabot` itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sabot
from host.tests.support.commands import SABOT, TIMEOUT_S, environment, run

pytestmark = pytest.mark.slow


def _completed(folder: Path, line: str, shell: str = "bash") -> list[str]:
    """The completions of the last word of `line`, asked for as the shell's script does."""
    words = line.split(" ")
    given = {"_SABOT_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        given |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    else:
        given |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return run(folder, **given).stdout.split()


def _in_bash(folder: Path, script: str) -> str:
    """What a bash with `folder` as its home prints."""
    path = f"{SABOT.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ntrue"],
        cwd=folder,
        env=environment() | {"PATH": path, "HOME": str(folder), "SHELL": "/bin/bash"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_commands_are_completed(tmp_path: Path) -> None:
    assert _completed(tmp_path, "sabot ve") == ["verify"]
    assert {"rounds", "events", "verify", "hil", "games"} <= {*_completed(tmp_path, "sabot ")}
    assert _completed(tmp_path, "sabot nonsense") == []
    assert {
        "rounds", "read", "rebuild", "receipts", "release", "replaced", "retention", "roster"
    } == {*_completed(tmp_path, "sabot r")}  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_options_of_a_command_are_completed(tmp_path: Path, shell: str) -> None:
    completed = " ".join(_completed(tmp_path, "sabot rounds --wi", shell))
    assert "--with-void" in completed and "--unit" not in completed


def test_commands_of_a_group_are_completed(tmp_path: Path) -> None:
    assert _completed(tmp_path, "sabot games sh") == ["show"]


def test_bash_completes_with_the_script_that_show_completion_prints(tmp_path: Path) -> None:
    script = _in_bash(tmp_path, "sabot --show-completion")
    assert "complete -o default -F _sabot_completion sabot" in script
    complete = (
        "COMP_WORDS=(sabot checkp) COMP_CWORD=1; _sabot_completion sabot; echo ${COMPREPLY[@]}"
    )
    assert _in_bash(tmp_path, f"{script}\n{complete}") == "checkpoints\n"


def test_the_script_is_installed_for_the_current_shell(tmp_path: Path) -> None:
    assert "bash completion installed" in _in_bash(tmp_path, "sabot --install-completion")
    (line,) = [each for each in (tmp_path / ".bashrc").read_text().splitlines() if "sabot" in each]
    complete = "COMP_WORDS=(sabot doc) COMP_CWORD=1; _sabot_completion sabot; echo ${COMPREPLY[@]}"
    assert _in_bash(tmp_path, f"{line}\n{complete}") == "doctor\n"


def test_both_ways_to_start_the_command_show_the_version(tmp_path: Path) -> None:
    wanted = f"sabot {sabot.__version__}\n"
    assert run(tmp_path, "--version").stdout == wanted
    done = subprocess.run(
        [sys.executable, "-m", "sabot", "--version"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stdout == wanted
