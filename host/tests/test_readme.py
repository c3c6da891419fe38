"""The README's commands do what the README shows."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from sabot import errors
from sabot.cli.key_files import ENVIRONMENT
from sabot.sim.process import HEAP_BYTES

_ROOT = Path(__file__).resolve().parents[2]
_README = (_ROOT / "README.md").read_text()
_TIMEOUT_S = 240


def _session() -> list[tuple[str, list[str]]]:
    """The console blocks: each command with the lines that it prints."""
    blocks = re.findall(r"```console\n(.*?)```", _README, re.DOTALL)
    steps: list[tuple[str, list[str]]] = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def _agrees(shown: list[str], printed: str) -> bool:
    pattern = r"\n".join(
        ".*" if line == "..." else r".*".join(map(re.escape, line.rstrip().split("...")))
        for line in shown
    )
    lines = "\n".join(re.sub(r" +", " ", line.rstrip()) for line in printed.splitlines())
    return re.fullmatch(re.sub(r"(\\ )+", r"\\ ", pattern), lines, re.DOTALL) is not None


def test_the_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path,
        "XDG_RUNTIME_DIR": str(tmp_path),
        ENVIRONMENT: "one that nobody is asked for",
    }
    started = []
    try:
        for command, shown in _session():
            if command.endswith("&"):
                child = subprocess.Popen(
                    command.removesuffix("&").split(),
                    cwd=tmp_path,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                started.append(child)
                assert child.stdout is not None
                printed = child.stdout.readline()
            else:
                done = subprocess.run(
                    command.split(),
                    cwd=tmp_path,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
                printed = done.stdout
                assert done.returncode in (0, errors.FINDINGS), f"$ {command}\n{printed}"
            assert _agrees(shown, printed), f"$ {command}\n{printed}"
        library = re.search(r"```python\n(.*?)```", _README, re.DOTALL)
        assert library is not None
        printed = subprocess.run(
            [sys.executable, "-c", library.group(1)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        ).stdout
        assert re.fullmatch(r"[1-9]\d* ties\n", printed), printed
    finally:
        for child in started:
            child.send_signal(signal.SIGINT)
            assert child.wait(_TIMEOUT_S) == 0


def test_every_exit_code_is_documented() -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", _README, re.MULTILINE)}
    codes = {0, errors.FINDINGS, 2, errors.INTERRUPTED} | {
        kind.exit_code for kind in errors.SabotError.__subclasses__()
    }
    assert documented == codes


def test_the_two_commands_are_in_the_makefile() -> None:
    makefile = (_ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command}" in _README and f"\n{command}:" in makefile


def test_the_simulated_heap_is_what_the_firmwares_readme_derives() -> None:
    text = (_ROOT / "firmware" / "README.md").read_text()
    bits_32, bits_64 = (
        int(
            re.search(rf"^\| {bits} bits .*\| ([\d,]+) \|$", text, re.MULTILINE)[1].replace(",", "")
        )  # type: ignore[index]
        for bits in (32, 64)
    )
    allowed = 241_600 * bits_64 // bits_32
    assert allowed - 1000 < HEAP_BYTES <= allowed
