"""A log whose file was tampered with.

What must hold in every case: every command that lists, and the API of `sabot serve`, shows the
same as of the untouched log, and `verify` finds nothing; or `verify` finds something, and each
command lists or refuses, with its documented exit code and one line. No case ends with a traceback.

The verifier has what it needs to prove more than that a chain continues: the keys, the operator's
public key, and checkpoints that were kept elsewhere. It cannot prove when a host received an event
or had a session, and the minimum of days (docs/laboratory.md): these are left out of what is
compared.
"""

import io
import json
import random
import re
import shlex
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import pytest
from argon2 import profiles

from host.tests.adversary import api_answers
from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.log_file import TABLES
from host.tests.adversary.log_tampering import REFUSED, WAYS, Way, tamper
from host.tests.support.commands import dealt
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.audit import bundle_file, prune
from sabot.audit.checks.seam_checks import chain_of
from sabot.audit.context import mac_before
from sabot.audit.retention import DAY_MS
from sabot.command import main
from sabot.desk import passwords
from sabot.desk.desk import Desk
from sabot.keys import chain_keys, signing
from sabot.keys.chain_keys import Keys
from sabot.log import seam
from sabot.log.logger import Logger, LogWatcher
from sabot.log.store import SeamRow, Store, open_store
from sabot.receipts import receipt
from sabot_firmware import VERSION
from sabot_protocol import baccarat

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
    "receipts --json",
    "tables --json",
    "settle --wager '3 banker 100' --unit SHOE-1 --shoe 2 --round 3 --json",
    "score --unit SHOE-1 --shoe 2 --round 3 --json",
    "export --unit SHOE-1 --shoe 2 -o bundle.sabot --key house.pem --keys keys --html page.html",
)
RECEIPTS, TABLES_NOW, EXPORT = "receipts --json", "tables --json", LISTINGS[-1]
API = "serve: the API"
SHOWN = (*LISTINGS, API)
VERIFY = (
    "verify --json --keys keys --operator house.pub.pem --checkpoints kept.jsonl"
    " --notary notary.pub.pem"
)
TIMEOUT_S = 200.0
NOT_PROVEN = re.compile(
    r'"last_seen": "[^"]*"|"minimums": \[[^]]*\]|.*"kind": "(?:away|not_logged)".*\n'
    r'|"(?:newest_on_shoe|newest_stored|held|held_since|damaged_from_shoe|damaged_to_shoe)": [^,}]*'
)
_YEAR = 365 * DAY_MS
SECOND_KEY = bytes(range(100, 132))
"""The first key of the second board of SHOE-2."""

_USAGE = 2
REFUSALS = (0, _USAGE, 8, 18, 19, 20, 21, 22, 34, 35)
"""Exit codes with which a command may end that reads a log with findings: also because it does not
have the round, the shoe of cards or the desk any more (docs/exit-codes.md)."""

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
    for name in ("house", "notary"):
        signing.make_key_pair(whole / name)
    with open_store(whole / "log.sqlite", create=True) as store:
        _second_board(store, whole)
        _receipts(store, whole)
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


def _second_board(store: Store, folder: Path) -> None:
    """Another board has taken the place of that of SHOE-2, and has dealt a little."""
    log = FirmwareLog(SECOND_KEY, firmware=VERSION).load().draw("AS", "2C", "9S", "KC", "KD", "7D")
    first = chain_of(store, "SHOE-2")
    assert first is not None
    last = store.last_number("SHOE-2")
    made = seam.make(
        signing.load_private(folder / "house.pem"),
        unit="SHOE-2", board=2, chain=log.chain.id, old_chain=first, last=last,
        mac=mac_before(store, "SHOE-2", last + 1), by="ada", unix_ms=1_795_000_000_000,
    )  # fmt: skip
    store.keep_seam(SeamRow("SHOE-2~2", last, made))
    store.append("SHOE-2~2", stored(log.records))
    store.keep_game(baccarat.document_of(baccarat.MINI_NAME))
    chain_keys.add(folder / "keys", "SHOE-2", SECOND_KEY)


def _receipts(store: Store, folder: Path) -> None:
    """A centre has signed for some events of each board."""
    notary = signing.load_private(folder / "notary.pem")
    for unit in store.units():
        last = store.last_number(unit)
        signed = [
            receipt.make(
                notary, unit=unit, number=number, mac=mac_before(store, unit, number + 1),
                records=number, unix_ms=1_795_000_000_000 + number, checked=receipt.CHAIN,
            )
            for number in (last // 2, last)
        ]  # fmt: skip
        store.keep_receipts(unit, list(zip((last // 2, last), signed, strict=True)))


def _prune(folder: Path) -> None:
    """Remove the first shoe of cards of SHOE-1, a year later."""
    private = signing.load_private(folder / "house.pem")
    now, keys = time.time_ns() // 1_000_000 + _YEAR, Keys.load(folder / "keys")
    with open_store(folder / "log.sqlite") as store:
        planned = prune.plan(store, "SHOE-1", keep_days=30, now_unix_ms=now, keys=keys)
        prune.carry_out(store, [planned], private, keep_days=30, now_unix_ms=now)


def answer(folder: Path, command: str) -> Answer:
    """Run a command in this process; of API ask what it answers."""
    if command == API:
        return _answer_of_api(folder)
    out, problems = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(problems),
        patch.object(sys, "argv", ["sabot", *shlex.split(command), "--db", "log.sqlite"]),
        patch("sabot.audit.verify._now_unix_ms", lambda: time.time_ns() // 1_000_000 + _YEAR),
        patch("multiprocessing.cpu_count", return_value=1),  # another process costs more
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except Exception as error:  # a traceback, for a user
            code = error
    shown = NOT_PROVEN.sub("", out.getvalue())
    if command == TABLES_NOW and code == 0:
        shown = _proven_tiles(out.getvalue())
    if command == EXPORT and code == 0:
        shown = _exported(folder)
    return Answer(code, shown, problems.getvalue())


def _answer_of_api(folder: Path) -> Answer:
    with patch("multiprocessing.cpu_count", return_value=1):
        try:
            return Answer(*api_answers.answers(folder / "log.sqlite"))
        except Exception as error:
            return Answer(error, "", "")


def _proven_tiles(out: str) -> str:
    """What `tables` shows without what nothing proves, by table and unit."""
    tiles = [json.loads(line) for line in out.splitlines()]
    proven = [
        {name: value for name, value in tile.items() if name not in api_answers.OF_A_TABLE}
        for tile in tiles
    ]
    return "".join(sorted(f"{json.dumps(each)}\n" for each in proven))


def _exported(folder: Path) -> str:
    """What is in a bundle and its report, without when it was exported."""
    bundle, _ = bundle_file.read(folder / "bundle.sabot")
    page = (folder / "page.html").read_text(encoding="utf-8")
    return f"{replace(bundle, exported_unix_ms=0)}\n{page}"


@pytest.fixture(scope="module")
def untouched(logs: Mapping[str, Path]) -> Mapping[tuple[str, str], Answer]:
    """What each command shows of each log."""
    shown = {(log, line): answer(logs[log], line) for log in LOGS for line in SHOWN}
    assert all(each.code == 0 and each.problems == "" for each in shown.values())
    for log in LOGS:
        statuses = [line.split()[1] for line in shown[log, API].out.splitlines()]
        assert statuses == ["200"] * len(api_answers.PATHS)
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
    names = ("log.sqlite", "keys", "kept.jsonl", "house.pem", "house.pub.pem", "notary.pub.pem")
    for name in names:
        shutil.copy(folder / name, to / name)  # with its mode
    for name in ("keys", "house.pem"):
        (to / name).chmod(0o600)
    return to


def test_the_tampering_knows_every_table_and_column_of_a_log(tmp_path: Path) -> None:
    new_log(tmp_path / "log").close()
    with closing(sqlite3.connect(tmp_path / "log")) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        columns = {
            name: tuple(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
            for (name,) in names
        }
    assert columns == TABLES


def _line(refused: Answer) -> str:
    return (refused.problems.splitlines() or [""])[-1]


def _same(line: str, shown: Answer, untouched: Answer) -> bool:
    """Whether a command shows what it shows of the untouched log. A log may lack a receipt: the
    centre has them all, and so has the person who kept a copy."""
    if line != RECEIPTS:
        return shown == untouched
    receipts = set(untouched.out.splitlines())
    return shown.code == untouched.code and set(shown.out.splitlines()) <= receipts


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
    for line in SHOWN:
        shown = answer(folder, line)
        if whole and not _same(line, shown, untouched[log, line]):
            yield f"verify finds nothing, but `{line}` shows something else: {shown}"
        elif shown.code not in REFUSALS:
            yield f"`{line}` ends with {shown.code!r}: {shown.problems}"
        elif shown.code not in (0, _USAGE) and not _line(shown).startswith("sabot: "):
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
        for path in folder.glob("log.sqlite*"):  # what others may read is said, each time
            if path.is_file() and not path.is_symlink():
                path.chmod(0o600)
        missed += [f"seed {seed}, {log}, {ways}: {e}" for e in _wrong_with(folder, log, untouched)]
    assert not missed, "\n".join(missed)
