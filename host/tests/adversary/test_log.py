"""A log whose file was tampered with.

What must hold in every case: every command that lists shows the same as of the untouched log, and
`verify` finds nothing; or `verify` finds something, and each command lists or refuses, with its
documented exit code and one line. No case ends with a traceback.

The verifier has what it needs to prove more than that a chain continues: the keys, the operator's
public key, and checkpoints that were kept elsewhere. It cannot prove when a host received an event
or had a session, and the minimum of days (docs/laboratory.md): these are left out of what is
compared.
"""

import io
import json
import random
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from argon2 import profiles

from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.log_tampering import REFUSED, WAYS, Way, tamper
from host.tests.support.commands import dealt
from host.tests.support.helpers import new_log
from sabot.audit import prune
from sabot.audit.retention import DAY_MS
from sabot.command import main
from sabot.desk import passwords
from sabot.desk.desk import Desk
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.log.logger import Logger, LogWatcher
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

LISTINGS = (
    "rounds --with-void --json",
    "rounds --unit SHOE-1 --shoe 2 --round 3 --json",
    "events --json",
    "events --shoe 2 --round 3 --json",
    "events --unit SHOE-2 --kind card --kind result --json",
    "events --from 2000-01-01T00:00 --to 2100-01-01T00:00 --json",
    "incidents --json",
    "units --json",
    "checkpoints",
    "users list --json",
    "desk --json",
    "retention --json",
)
VERIFY = "verify --json --keys keys --operator house.pub.pem --checkpoints kept.jsonl"
TIMEOUT_S = 200.0
NOT_PROVEN = re.compile(
    r'"last_seen": "[^"]*"|"minimums": \[[^]]*\]|.*"kind": "(?:away|not_logged)".*\n'
)

LOGS = ("whole", "pruned", "killed")


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code, or the exception that ended it."""

    code: object
    out: str
    problems: str


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Folders with a log of two simulated shoes, as `sabot log` wrote it; with the first shoe of
    cards removed; and with lists that lack the newest events, as after the log was killed."""
    with pytest.MonkeyPatch.context() as patched:
        runtime = tmp_path_factory.mktemp("run")
        patched.setenv("XDG_RUNTIME_DIR", str(runtime))
        patched.setattr(passwords, "PARAMETERS", profiles.CHEAPEST)
        whole = tmp_path_factory.mktemp("whole")
        for unit in ("SHOE-1", "SHOE-1", "SHOE-2"):
            _log(whole, unit)
    signing.make_key_pair(whole / "house")
    with open_store(whole / "log.sqlite") as store:
        desk = Desk.make(store, whole / "keys", "ada", "four words of hers")
        desk.add_user("bob", "floor", "four other words", by="ada")
        desk.sign_in("bob", "four other words", origin="10.0.0.7")
        desk.opened_round("SHOE-1", 1, 1, by="bob")
    folders = {"whole": whole}
    for name in ("pruned", "killed"):
        folders[name] = shutil.copytree(whole, tmp_path_factory.mktemp("logs") / name)
    _prune(folders["pruned"])
    with closing(sqlite3.connect(folders["killed"] / "log.sqlite")) as connection, connection:
        connection.execute("DELETE FROM events WHERE number > 100")
    for folder in folders.values():
        (folder / "kept.jsonl").write_text(answer(folder, "checkpoints").out)
    return folders


def _log(folder: Path, unit: str) -> None:
    """Log a shoe of cards."""
    state = folder / unit
    with dealt(folder, unit, state) as shoe, new_log(folder / "log.sqlite") as store:
        logger = Logger(store, [shoe.port], LogWatcher(), once=True)
        logger.start()
        try:
            assert logger.wait(TIMEOUT_S) and not logger.failures
        finally:
            logger.stop()
            logger.wait()
    lines = {path.read_text() for path in folder.glob("*/sabot.keys")}
    (folder / "keys").write_text("".join(lines))
    (folder / "keys").chmod(0o600)


def _prune(folder: Path) -> None:
    """Remove the first shoe of cards of SHOE-1, a year later."""
    private = signing.load_private(folder / "house.pem")
    now, keys = time.time_ns() // 1_000_000 + 365 * DAY_MS, Keys.load(folder / "keys")
    with open_store(folder / "log.sqlite") as store:
        planned = prune.plan(store, "SHOE-1", keep_days=30, now_unix_ms=now, keys=keys)
        prune.carry_out(store, [planned], private, keep_days=30, now_unix_ms=now)


def answer(folder: Path, command: str) -> Answer:
    """Run a command in this process."""
    out, problems = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(problems),
        patch.object(sys, "argv", ["sabot", *command.split(), "--db", "log.sqlite"]),
        patch("multiprocessing.cpu_count", return_value=1),  # another process costs more
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except Exception as error:  # a traceback, for a user
            code = error
    return Answer(code, NOT_PROVEN.sub("", out.getvalue()), problems.getvalue())


@pytest.fixture(scope="module")
def untouched(logs: Mapping[str, Path]) -> Mapping[tuple[str, str], Answer]:
    """What each command shows of each log."""
    shown = {(log, line): answer(logs[log], line) for log in LOGS for line in LISTINGS}
    assert all(each.code == 0 and each.problems == "" for each in shown.values())
    return shown


@pytest.mark.parametrize("log", LOGS)
def test_the_untouched_logs_are_whole(logs: Mapping[str, Path], log: str) -> None:
    checked = answer(logs[log], VERIFY)
    assert (checked.code, json.loads(checked.out)["findings"]) == (0, [])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_tamper_changes_a_log(
    logs: Mapping[str, Path], tmp_path: Path, way: Way
) -> None:
    changed = 0
    for seed in range(15):
        folder = _copied(logs[LOGS[seed % 3]], tmp_path / "case")
        path = folder / "log.sqlite"
        before = path.read_bytes()
        with suppress(*REFUSED):
            way(path, random.Random(seed))
            beside = [each.name for each in folder.glob("log.sqlite-*")]
            changed += path.read_bytes() != before or beside != []
    assert changed >= 3


def _copied(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in ("log.sqlite", "keys", "kept.jsonl", "house.pub.pem"):
        shutil.copyfile(folder / name, to / name)
    (to / "keys").chmod(0o600)
    return to


def _wrong_with(
    folder: Path, log: str, untouched: Mapping[tuple[str, str], Answer]
) -> Iterator[str]:
    """What does not hold for a log that was tampered with."""
    checked = answer(folder, VERIFY)
    whole = checked.code == 0
    if checked.code not in (0, 1, 8):
        yield f"verify ends with {checked.code!r}: {checked.problems}"
    elif checked.code == 8:
        if checked.out or checked.problems.count("\n") != 1:
            yield f"verify refuses with more than a line: {checked}"
    elif (json.loads(checked.out)["findings"] == []) != whole:
        yield "the exit code of verify is not that of its findings"
    for line in LISTINGS:
        shown = answer(folder, line)
        if whole and shown != untouched[log, line]:
            yield f"verify finds nothing, but `{line}` shows something else: {shown}"
        elif shown.code not in (0, 8):
            yield f"`{line}` ends with {shown.code!r}: {shown.problems}"
        elif shown.code == 8 and not shown.problems.splitlines()[-1].startswith("sabot: "):
            yield f"`{line}` refuses without a line: {shown}"
        if not (shown.out + shown.problems).replace("\n", "").isprintable():
            yield f"`{line}` prints what controls a terminal: {shown}"


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_was_tampered_with_is_found_or_changes_nothing(
    logs: Mapping[str, Path],
    untouched: Mapping[tuple[str, str], Answer],
    tmp_path: Path,
    batch: int,
) -> None:
    missed = []
    for seed, rng in cases(batch):
        log = rng.choice(LOGS)
        folder = _copied(logs[log], tmp_path / "case")
        ways = tamper(folder / "log.sqlite", rng)
        missed += [f"seed {seed}, {log}, {ways}: {e}" for e in _wrong_with(folder, log, untouched)]
    assert not missed, "\n".join(missed)
