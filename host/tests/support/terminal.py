"""A terminal that runs a program and shows what a person would see at its end."""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence

_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)|\x1b")
_WIDTH, _HEIGHT = 120, 50
_TIMEOUT_S = 200


def screen_after(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Run a command in a terminal of 120 columns; return the lines on its screen at the end."""
    return shown(_run(command, env)[1])


def ended_by_ctrl_c(
    command: Sequence[str], env: Mapping[str, str], prompt: bytes
) -> tuple[int, str]:
    """Run a command in a terminal, press Ctrl-C at `prompt`; return its exit code and output."""
    return _run(command, env, prompt)


def _run(command: Sequence[str], env: Mapping[str, str], prompt: bytes = b"") -> tuple[int, str]:
    child, descriptor = pty.fork()
    if child == 0:
        size = {"COLUMNS": str(_WIDTH), "LINES": str(_HEIGHT), "TERM": "xterm"}
        os.execvpe(command[0], list(command), {**env, **size})
    seen, pressed = b"", False
    deadline_s = time.monotonic() + _TIMEOUT_S
    while True:
        if time.monotonic() > deadline_s:
            os.kill(child, signal.SIGKILL)
        if not select.select([descriptor], [], [], 0.1)[0]:
            continue
        try:
            seen += os.read(descriptor, 65_536)
        except OSError:  # the program has ended
            break
        if prompt and prompt in seen and not pressed:
            pressed = True
            os.write(descriptor, b"\x03")
    os.close(descriptor)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), seen.decode(errors="replace")


def shown(output: str) -> list[str]:
    """The lines that a terminal shows after this output, without empty ones at the end."""
    lines, row, column = [""], 0, 0
    for parameters, what, control, text in _PIECE.findall(output):
        if control == "\r":
            column = 0
        elif control == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif what == "A":
            row = max(0, row - int(parameters or 1))
        elif what == "K":
            lines[row] = lines[row][:column] if parameters in ("", "0") else ""
        elif text:
            padded = lines[row].ljust(column)
            lines[row] = padded[:column] + text + padded[column + len(text) :]
            column += len(text)
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]
