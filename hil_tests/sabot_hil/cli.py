"""`sabot hil`: the suites of the test bench on a simulated, emulated or real shoe.

The `sabot` command finds it through its entry point. pytest, and modules that need it, are imported
only after a check that it is installed.
"""

import hashlib
import importlib.util
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sabot.cli.view import console, print_json, problems, verdict
from sabot.errors import (
    FINDINGS,
    INTERRUPTED,
    InternalError,
    NothingTested,
    ReportUnusable,
    RigBroken,
    SuitesMissing,
)
from sabot.link import ports
from sabot.text import counted, printable
from sabot_hil.report import junit, last_failed

_OWN_TESTS = "sabot own tests"


class _OrTests(TyperGroup):
    """A group whose first word may also be a file or folder of tests; options may follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words that are no subcommand in `ctx.meta`."""
        _, words, _ = self.make_parser(ctx).parse_args(args=list(args))
        if not words or words[0] in self.commands:
            return super().parse_args(ctx, args)
        ctx.allow_interspersed_args = True
        rest = super().parse_args(ctx, args)
        ctx.meta[_OWN_TESTS] = [*ctx._protected_args, *rest]
        ctx._protected_args, ctx.args = [], []
        return []


app = typer.Typer(
    cls=_OrTests,
    subcommand_metavar="[MY_TESTS... | COMMAND [ARGS]...]",
    invoke_without_command=True,
    no_args_is_help=False,
)

_WRONG_USE, _NOTHING_RAN = 4, 5  # pytest's exit codes
_ENDED_WITH = {0: 0, 1: FINDINGS, 2: INTERRUPTED, _WRONG_USE: 2}  # from pytest's code to ours
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # command_run.py unblocks them

PYTEST = (
    sys.executable,
    "-u",  # what goes into a pipe is seen as it comes
    *("-m", "pytest", "-c", "/dev/null", "-q", "-rN", "-o", "console_output_style=classic"),
    *("-p", "no:cacheprovider"),  # it writes among the tests; report/last_failed.py does not
    *("-p", "no:hypothesispytest"),  # where it is installed, it imports all of Hypothesis
    *("-p", "sabot_hil.pytest_plugin.plugin", "-p", "sabot_hil.pytest_plugin.command_run"),
)
"""The command that runs tests. What they are and where their results go follows."""


class Suite(StrEnum):
    """How much is tested."""

    SMOKE = "smoke"
    ACCEPTANCE = "acceptance"
    SOAK = "soak"
    BARE = "bare"


_FOLDERS = {
    Suite.SMOKE: ("smoke",),
    Suite.ACCEPTANCE: ("smoke", "acceptance"),
    Suite.SOAK: ("soak",),
    Suite.BARE: ("bare",),
}


_Image = Annotated[
    Path | None,
    typer.Option(help="MicroPython for an emulated Pico; default: SABOT_UF2, or else a download."),
]


@app.callback()
def hil(
    context: typer.Context,
    target: Annotated[
        str, typer.Option(help="What to test: sim, emulator, board:SERIAL, pico:SERIAL.")
    ] = "sim",
    suite: Annotated[
        Suite | None,
        typer.Option(
            help="smoke: does it work at all (default); acceptance: all; soak: for hours; bare: "
            "what the emulator assumes, on a Pico without Sabot."
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("-k", metavar="WORDS", help="Only tests with these names, as in pytest."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="A new folder for the report: a page, and data.")
    ] = None,
    bench: Annotated[
        str | None,
        typer.Option(
            metavar="SERIAL",
            help="The bench board that the shoe is wired to, or emulator; default: the only other.",
        ),
    ] = None,
    uf2: _Image = None,
    seed: Annotated[int | None, typer.Option(help="Repeat randomised tests.", min=0)] = None,
    minutes: Annotated[
        float, typer.Option(help="How long to soak; 0: one short shoe of cards.", min=0)
    ] = 0.0,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only tests that failed when they ran last.")
    ] = False,
    test: Annotated[
        list[str],
        typer.Option(
            metavar="TEST", help="Only these, in this order, one at a time; as a report names them."
        ),
    ] = [],  # noqa: B006 - typer copies it
) -> None:
    """Run a suite, or your own tests in MY_TESTS, files or folders, with the same fixtures.

    Exit code 0: all passed, 1: something failed, 130: stopped by Ctrl-C; the report then has the
    tests up to that point.
    """
    if context.invoked_subcommand is not None:
        return
    if only is not None and printable(only) != only:  # pytest would print it as it is
        raise typer.BadParameter("-k has characters that no test's name has")
    suites = _suites()
    own = _own_tests(context.meta.get(_OWN_TESTS, []))
    suite = _suite_for(target, suite, own)
    root = _root_of(own) if own else suites
    run_name = f"{target} {root if own else suite.value}"
    if failed and not last_failed.failed(run_name):
        raise NothingTested(f"{run_name}: no test failed when it ran last; leave --failed out")
    bench = bench or _only_other_board(target)
    if report is not None and report.exists():
        raise _exists_already(report)
    image = _prepared(target, uf2, bench)
    if report is not None:
        _new_folder(report)
    arguments = ["--target", target, "--minutes", str(minutes)]
    named = [*map(str, own)] if own else ["--suite", suite.value]
    arguments += ["--repeat-with", shlex.join(["sabot", "hil", *named])]
    arguments += ["--run-name", run_name, *(["--only-failed"] if failed else [])]
    arguments += ["--own-tests", _described(own)] if own else []
    arguments += [] if bench is None else ["--bench", bench]
    arguments += [] if image is None else ["--uf2", str(image)]
    for each in test:
        arguments += ["--test", each]
    if target == "emulator" and not test and (own or suite is not Suite.SOAK):  # one long test
        arguments += ["--numprocesses", str(os.cpu_count() or 1), "--maxschedchunk", "1"]
    arguments += [] if only is None else ["-k", only]
    # One seed for all tests, so that the report shows how to repeat the whole run.
    arguments += ["--seed", str(random.randrange(2**32) if seed is None else seed)]
    if report is not None:
        arguments += ["--report", str(report), "--junit-xml", str(report / junit.FILE)]
    folders = own or [suites / folder for folder in _FOLDERS[suite]]
    ended = _pytest(["--rootdir", str(root), *arguments, *map(str, folders)])
    code = _ENDED_WITH.get(ended, ended)
    if report is not None and ended in (_NOTHING_RAN, _WRONG_USE):
        shutil.rmtree(report, ignore_errors=True)  # or the next try fails because it exists
    elif report is not None and (report / "report.html").exists():
        junit.leave_times_out(report / junit.FILE)
        problems.print(f"Report: {report / 'report.html'}")
    if ended == _NOTHING_RAN and only is None:
        raise NothingTested(f"{target}: can run no test of this suite; the report would be empty")
    if ended == _NOTHING_RAN:
        raise NothingTested(
            f"{root.name if own else suite.value}: no test named {only!r} that {target} can run; "
            "leave -k out to see all"
        )
    if ended not in _ENDED_WITH and ended != RigBroken.exit_code:
        raise InternalError(f"the tests ended with code {ended}; see pytest's output for the cause")
    raise typer.Exit(code)


def _suite_for(target: str, suite: Suite | None, own: list[Path]) -> Suite:
    """The suite that is meant. What contradicts the target is wrong usage."""
    if own and suite is not None:
        raise typer.BadParameter("name your tests, or a --suite of Sabot, not both")
    on_bare = target.startswith("pico:")
    if suite is not None and on_bare != (suite is Suite.BARE):
        raise typer.BadParameter(
            "--suite bare is for a Pico on its own, --target pico:SERIAL, and it has no other"
        )
    return suite or (Suite.BARE if on_bare else Suite.SMOKE)


def _own_tests(words: list[str]) -> list[Path]:
    """The files and folders of tests that were named. A missing one is wrong usage."""
    for word in words:
        if not Path(word).exists():
            raise typer.BadParameter(
                f"{printable(word)}: no such file or folder of tests, and no command; "
                "the commands are compare and check-bench"
            )
    return [Path(word).resolve() for word in words]


def _root_of(own: list[Path]) -> Path:
    """The folder to which the names of the tests are relative."""
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in own]))


def _described(own: list[Path]) -> str:
    """What the tests are, for the report: not ours, and which."""
    digest, count = hashlib.sha256(), 0
    root = _root_of(own)
    files = {each for path in own for each in ([path] if path.is_file() else path.rglob("*.py"))}
    for file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)} {len(content)}\n".encode() + content)
        count += 1
    names = ", ".join(printable(path.name) for path in own)
    return (
        f"not Sabot: own tests in {names} ({counted(count, 'file')}, SHA-256 {digest.hexdigest()})"
    )


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="The folder of a report.")],
    after: Annotated[Path, typer.Argument(help="The folder of a later report.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what changed between two reports. Exit code 1: a test fails that passed before."""
    _suites()
    from sabot_hil.report import compare as comparing
    from sabot_hil.report.results import read_results

    was, now = read_results(before), read_results(after)
    lines, worse = list(comparing.differences(was, now)), comparing.worse(was, now)
    with verdict(worse):
        if as_json:
            print_json({"worse": worse, "differences": lines})
            return
        for line in lines or ["Nothing changed."]:
            console.print(line, soft_wrap=True)


@app.command("check-bench")
def check_rig(
    bench: Annotated[str, typer.Argument(help="The bench board's USB serial number, or emulator.")],
    uf2: _Image = None,
) -> None:
    """Test the rig itself, with its check plug on. Exit code 1: do not judge a shoe with it."""
    _suites()
    from sabot_hil.capabilities import BrokenRig
    from sabot_hil.targets import rig_check

    try:
        edge = None
        if bench == "emulator":
            from sabot_hil.emulation import uf2 as images
            from sabot_hil.targets import wired

            edge = wired.plugged(images.read_image(images.find_image(uf2)))
        fit = rig_check.check_bench(bench, edge=edge)
    except BrokenRig as error:
        raise RigBroken(str(error)) from None
    if not fit:
        raise typer.Exit(FINDINGS)


def _suites() -> Path:
    """Return the folder of the suites. Raises SuitesMissing."""
    if not importlib.util.find_spec("pytest"):
        raise SuitesMissing("pytest")
    return Path(__file__).with_name("suite")


def _prepared(target: str, uf2: Path | None, bench: str | None) -> Path | None:
    """Do what takes long before the first test. Return the image of MicroPython if the target needs
    one. Raise SabotError if the target, or something that it needs, does not exist.
    """
    from sabot_hil.targets import BARE, EMULATED, choice_of

    choice = choice_of(target, uf2, bench=bench)
    if choice.name == BARE and choice.serial == EMULATED:
        from sabot_hil.emulation import package
        from sabot_hil.emulation import uf2 as images

        file = images.find_image(choice.image)
        images.read_image(file)
        with _step("The emulator, compiled once for each user"):
            package.load_emulator()
        return file.resolve()
    if choice.name == BARE:
        from sabot_hil.targets.bare_prompt import RealPrompt

        with _step("The Pico, examined"):
            RealPrompt(choice.serial).close()
    if choice.name == "emulator":
        from sabot_hil.emulation import uf2 as images
        from sabot_hil.kit import releases

        file = images.find_image(choice.image)
        image = images.read_image(file)
        with _step("The emulator, compiled once for each user"):
            from sabot_hil.targets import emulator  # its import compiles it
        _compile("pico")
        if choice.bench:
            _compile(releases.BENCH)
        with _step("A new unit, started with MicroPython once for each version"):
            emulator.started_unit(image, emulator.firmware_files())
        return file.resolve()
    if choice.name == "sim":
        _compile("sim")
    if choice.name == "board":
        from sabot_hil.capabilities import BrokenRig
        from sabot_hil.targets.bench_board import BenchBoard

        try:
            BenchBoard(choice.bench).close()
        except BrokenRig as error:
            raise RigBroken(str(error)) from None
    return None


def _compile(board: str) -> None:
    """Compile what runs on a board, if it was not yet, and say so meanwhile."""
    from sabot_hil.kit import releases

    if not releases.is_compiled(board):
        with _step("The firmware, compiled once for each version"):
            releases.compiled(board)


@contextmanager
def _step(what: str) -> Iterator[None]:
    """Show what is done meanwhile, and how long it took."""
    console.print(f"{what} ... ", end="")
    begun_s = time.monotonic()
    try:
        yield
    except BaseException:
        console.print()
        raise
    console.print(f"{time.monotonic() - begun_s:.1f} s")


def _only_other_board(target: str) -> str | None:
    """Return the bench board if exactly one board is attached beside the shoe; None if `target`
    needs none. Raises RigBroken.
    """
    name, _, shoe = target.partition(":")
    if name != "board" or not shoe:
        return None
    others = [info.serial for info in ports.attached() if info.what != ports.SIMULATED]
    others = sorted({serial for serial in others if serial != shoe})
    if len(others) > 1:
        raise RigBroken(f"{' or '.join(others)} may be the bench board; name it with --bench")
    if not others:
        raise RigBroken(f"no board is attached beside {shoe}; plug the bench board in")
    return others[0]


def _exists_already(report: Path) -> ReportUnusable:
    return ReportUnusable(f"{report}: already exists; name a new folder")


def _new_folder(report: Path) -> None:
    try:
        report.mkdir(parents=True)
    except FileExistsError:
        raise _exists_already(report) from None
    except OSError as error:
        raise ReportUnusable(
            f"{report}: cannot be created ({error.strerror}); name another folder"
        ) from None


def _pytest(arguments: list[str]) -> int:
    """Run pytest in another process and return its exit code. A signal that ends this command is
    passed on to it once: a second Ctrl-C would keep it from making the rig safe.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    run = subprocess.Popen([*PYTEST, *arguments], stdin=subprocess.DEVNULL, start_new_session=True)

    def end(*_: object) -> None:
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        run.send_signal(signal.SIGINT)

    before = {each: signal.signal(each, end) for each in _ENDING}
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    try:
        return run.wait()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
