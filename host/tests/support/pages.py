"""The console blocks of a page of documentation: run in order, and compared with their output."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sabot import errors

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
_TIMEOUT_S = 240
_COLUMNS = "120"


def text_of(page: str) -> str:
    """The text of a page, by its path from the top of the checkout."""
    return (ROOT / page).read_text(encoding="utf-8")


def steps_of(page: str) -> list[tuple[str, list[str]]]:
    """Each command of the console blocks, with the lines that the page shows for it."""
    blocks = re.findall(r"```console\n(.*?)```", text_of(page), re.DOTALL)
    steps: list[tuple[str, list[str]]] = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def agrees(shown: list[str], printed: str) -> bool:
    """Whether `printed` is what the page shows. On the page `...` stands for any text, and alone on
    a line for any lines; several spaces count as one.
    """
    pattern = r"\n".join(
        ".*" if line == "..." else r".*".join(map(re.escape, line.rstrip().split("...")))
        for line in shown
    )
    lines = "\n".join(re.sub(r" +", " ", line.rstrip()) for line in printed.splitlines())
    return re.fullmatch(re.sub(r"(\\ )+", r"\\ ", pattern), lines, re.DOTALL) is not None


def follow(page: str, folder: Path, given: Mapping[str, str], typed: str = "") -> None:
    """Run the page's commands in `folder`, with the variables in `given` in their environment, and
    `typed` on the standard input of each. A command that ends with `&` runs until the end of the
    page; only its first line is compared.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": _COLUMNS} | given
    started = []
    try:
        for command, shown in steps_of(page):
            words = shlex.split(command.removesuffix("&"))
            if command.endswith("&"):
                child = subprocess.Popen(
                    words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
                )
                started.append(child)
                assert child.stdout is not None
                printed = child.stdout.readline()
            else:
                done = subprocess.run(
                    words,
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    input=typed,
                    text=True,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
                printed = done.stdout
                assert done.returncode in (0, errors.FINDINGS), f"$ {command}\n{printed}"
            assert agrees(shown, printed), f"{page}:\n$ {command}\n{printed}"
    finally:
        for child in started:
            child.send_signal(signal.SIGINT)
            assert child.wait(_TIMEOUT_S) == 0
