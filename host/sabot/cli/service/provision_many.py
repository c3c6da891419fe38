"""`sabot provision --list`: many boards become units, one after the other."""

from collections.abc import Callable
from pathlib import Path

from sabot.cli.view import console, print_json, problems
from sabot.errors import Interrupted, ListFailed, ListUnusable, SabotError
from sabot.link import ports
from sabot.release import provision_list
from sabot.release.provision_list import Defaults, Row
from sabot.terminal import plain
from sabot.text import counted

Work = Callable[[Row, str, Callable[[str], None]], tuple[bool, str]]
"""Makes the board of a row, whose lasting name comes next, its unit, and reports what it does.
Returns whether it did, or had nothing to do, and what was done, for people."""


def provision_list_file(path: Path, defaults: Defaults, work: Work, *, as_json: bool) -> None:
    """Do `work` for all rows of the list at `path`, even if it fails for some.

    The whole list is checked first. Raises ListUnusable if any of it is wrong: then no board was
    touched. Else raises ListFailed with the highest exit code, after each error was printed.
    """
    rows, bad = provision_list.read(path, defaults)
    boards = ports.lasting_names([row.board for row in rows])
    lines: dict[str, int] = {}
    for row in rows:
        lasting = boards[row.board]
        if isinstance(lasting, str) and (line := lines.setdefault(lasting, row.line)) != row.line:
            bad.append(f"{path}, line {row.line}: {row.board} is the board of line {line}")
    for each in bad:
        problems.print(plain(each))
    if bad:
        raise ListUnusable(f"{path}: {counted(len(bad), 'error')}; no board was touched")
    counts = {"provisioned": 0, "left": 0, "failed": 0}
    failed: list[SabotError] = []
    number, left = 0, "interrupted; no board was touched"
    try:
        for number, row in enumerate(rows, 1):
            unit = row.settings.unit
            left = f"{unit}: interrupted; nothing was sent to it"
            of_all = f"{number} of {len(rows)}: {unit} at {row.board}"
            text, code = "", 0
            with problems.status(plain(f"{of_all}: attaching")) as status:

                def on_progress(what: str, status: object = status, of_all: str = of_all) -> None:
                    status.update(plain(f"{of_all}: {what}"))  # type: ignore[attr-defined]

                try:
                    lasting = boards[row.board]
                    if isinstance(lasting, SabotError):
                        raise lasting
                    is_new, text = work(row, lasting, on_progress)
                    result = "provisioned" if is_new else "left"
                except Interrupted:
                    raise
                except SabotError as error:
                    result, text, code = "failed", str(error), error.exit_code
                    failed.append(error)
            left = f"{unit}: interrupted after it {'failed' if code else 'was done'}"
            counts[result] += 1
            if as_json:
                print_json(
                    {
                        "line": row.line,
                        "board": row.board,
                        "unit": unit,
                        "result": result,
                        "text": text,
                        "exit_code": code,
                    }
                )
            elif code:
                problems.print(plain(f"{of_all}: {text}"))
            else:
                console.print(plain(f"{of_all}: {text}"), soft_wrap=True)
    except (Interrupted, KeyboardInterrupt) as error:
        rest = len(rows) - number
        after = f"; {counted(rest, 'unit')} after it not begun" if rest else ""
        raise Interrupted((str(error) or left) + after) from None
    summary = f"{counts['provisioned']} provisioned, {counts['left']} left as they are"
    summary += f", {counts['failed']} failed"
    problems.print(plain(f"{path}: {summary}"))
    if failed:
        failed.sort(key=lambda error: error.exit_code)
        raise ListFailed(f"{path}: {counted(len(failed), 'unit')} failed", failed[-1].exit_code)
