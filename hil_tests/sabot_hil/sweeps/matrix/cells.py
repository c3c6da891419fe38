"""What a host of one version does with a shoe of another, each on a simulated shoe of its own.

Each function checks everything that must hold, and returns in few words how it went. It raises
AssertionError for anything else.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sabot.keys.chain_keys import Keys
from sabot.link.messages import UpdateStatusCommand
from sabot.sim.process import SimulatedShoe
from sabot_hil.capabilities import session_with
from sabot_hil.kit.versions.tomorrow import EVENT, EVENT_KIND, GRAMS
from sabot_hil.kit.waiting import wait_until
from sabot_hil.sweeps.matrix.judging import (
    check_prefix,
    check_rounds,
    check_whole,
    kinds_of,
    logged,
    recorded,
    verified,
)
from sabot_hil.sweeps.matrix.table import UNIT, Table
from sabot_hil.sweeps.matrix.versions_made import HOUSE, Version
from sabot_protocol import events

TOLD = "told to update, then logged"
"""How it went with a host that does not know what the shoe records, and says so."""

SILENT = "waits without a word until it is updated, then logged"
"""How it went with a host of the released version, at a shoe that was led back to that version with
events of a later one in its journal."""

_READ = """\
import sys
from sabot.link.wire import WireError, parse_event

for line in sys.stdin:
    try:
        parse_event(bytes.fromhex(line))
    except WireError as error:
        print("cannot", error)
"""
"""What a host says of the records on its input."""

_WEIGH = """\
import sys
from sabot.errors import CommandRefused
from sabot.link.client import Client
from sabot.link.messages import WeighCommand
from sabot.link.ports import Port

with Port(sys.argv[1]) as port:
    client = Client(port)
    try:
        print(client.ask(WeighCommand()).grams)
    except CommandRefused as refused:
        print(refused)
"""
"""Asks a shoe what only tomorrow's knows."""

_SAYS = "update the older of the two"
_OTHER_HISTORY = 10  # exit code
_TRIAL_S = 150.0
_START_S = 30.0
_STUCK_S = 90.0
_TRYING = "starting it on trial"  # what a host says when it has the shoe do that
_BOARD = "BARE-1"
_NEVER_HAD = {"test card", "clock"}  # what a new shoe was never given: doctor names it
_CUTS: Sequence[tuple[str, float]] = (
    ("sending", 0.1),
    ("sending", 0.7),
    ("the shoe is checking it", 0.0),
)
"""Where the power is cut during an update: what the host is doing, and the share that is sent."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A host of one version and a shoe that runs another, or the same; all versions by name.
    `target` is the version that the shoe is updated to."""

    versions: Mapping[str, Version]
    host: Version
    shoe: Version
    target: Version
    seed: int

    @property
    def newest(self) -> Version:
        """The newest version."""
        return max(self.versions.values(), key=lambda version: version.age)


def log(pair: Pair, folder: Path) -> str:
    """A shoe of cards is dealt and logged meanwhile."""
    with Table(pair.shoe, folder, pair.seed) as table:
        how = _log_while(table, pair, table.deal)
        _judge(table, pair)
    return how


def doctor(pair: Pair, folder: Path) -> str:
    """The shoe is found, and tests itself. A command that it does not know is refused."""
    host = pair.host.host
    with Table(pair.shoe, folder, pair.seed) as table:
        found = host.run("ports", "--json", cwd=table.house).stdout
        (listed,) = [json.loads(line) for line in found.splitlines()]
        wanted = (UNIT, pair.shoe.host.firmware, "ready")
        assert (listed["unit"], listed["firmware"], listed["state"]) == wanted, listed
        done = host.run("doctor", UNIT, "--json", cwd=table.house, code=None)
        assert done.returncode == 1, done.stdout + done.stderr
        checks = {check["check"]: check for check in _checks(done.stdout)}
        wrong = {name for name, check in checks.items() if not check["ok"]} - _NEVER_HAD
        assert wrong <= ({"version"} if pair.host is not pair.shoe else set()), wrong
        assert checks["version"]["found"] == pair.shoe.host.firmware, checks["version"]
        if pair.host is pair.newest:
            said = host.python("-c", _WEIGH, UNIT, cwd=table.house).stdout
            knows = said.strip() == str(GRAMS)
            assert knows == (pair.shoe is pair.newest), said
            assert knows or f"sabot update {UNIT}" in said, said
    return "examined"


def update(pair: Pair, folder: Path) -> str:
    """The shoe takes the target in the middle of a shoe of cards, and goes on."""
    with Table(pair.shoe, folder, pair.seed) as table:
        table.deal(lambda: table.update(pair.host.host, pair.target, pair.shoe))
        how = _log_while(table, pair, lambda: None, pair.target)
        _judge(table, pair)
        assert events.UPDATED.number in kinds_of(table.state)
    return how


def power_cuts(pair: Pair, folder: Path) -> str:
    """The power is cut at some points of an update, which goes on by itself each time."""
    with Table(pair.shoe, folder, pair.seed) as table:
        table.deal(lambda: _update_with_cuts(table, pair))
        how = _log_while(table, pair, lambda: None, pair.target)
        _judge(table, pair)
    return how


def undo_by_power(pair: Pair, folder: Path) -> str:
    """The power goes while a release is on trial."""
    return _undone(pair, folder, lambda table: table.cut_power())


def undo_by_time(pair: Pair, folder: Path) -> str:
    """No host confirms a release that is on trial."""

    def wait(table: Table) -> None:
        target = pair.target.host.firmware
        undone = wait_until(
            lambda: table.runs().firmware != target,
            _TRIAL_S,
            lambda: table.target.clock.pass_ms(2000),
        )
        assert undone, "it is never undone"

    return _undone(pair, folder, wait)


def replaced(pair: Pair, folder: Path) -> str:
    """A new board takes the place of the shoe's, and deals."""
    host = pair.host.host
    with Table(pair.shoe, folder, pair.seed) as table:
        how = _log_while(table, pair, table.deal)
        before = logged(table.db, UNIT)
    bare = folder / "bare"
    with SimulatedShoe(_BOARD, state=bare, files={}) as board:
        board.power_on()
        house = "--house", HOUSE / "releases.pub.pem"
        release = "--release", pair.shoe.releases / "sim"
        host.run("flash", _BOARD, *release, *house, cwd=table.house)
        given = "--unit", UNIT, "--table", "12", "--replaces"
        host.run("provision", _BOARD, *given, *house, cwd=table.house)
    table.state.rename(folder / "old board")
    bare.rename(table.state)
    with Table(pair.shoe, folder, pair.seed) as second:
        second.deal()
        _refuse_board(pair, second)
        assert logged(second.db, UNIT) == before, "the log has changed"
        bound = _bind(pair, second)
        if not bound:
            return "refused"
        second.log_all(bound.host, f"{UNIT}~2")
        assert logged(second.db, UNIT) == before, "the records of the old board have changed"
        check_whole(logged(second.db, f"{UNIT}~2"), recorded(second.state))
        operator = "--operator", HOUSE / "operator.pub.pem"
        verified(pair.newest.host, second.db, second.keys, second.house, *operator)
        if bound is not pair.host:
            return "refused, bound after an update of the host"
    return f"bound, {how}" if how == TOLD else "bound"


def _refuse_board(pair: Pair, table: Table) -> None:
    """Check that `sabot log` ends because another board has the unit's name.

    A released host that cannot read the board's events must say that it knows less, and try again.
    """
    with table.logged_by(pair.host.host) as process:

        def said() -> bool:
            return process.poll() is not None or _SAYS in table.printed()

        assert wait_until(said, _STUCK_S), f"the board is not refused: {table.printed()}"
        refused = process.poll()
    if refused is None:
        assert _knows_less(pair, table), f"it only says {table.printed()}"
    else:
        assert refused == _OTHER_HISTORY, f"{refused}: {table.printed()}"


def _log_while(
    table: Table, pair: Pair, deal: Callable[[], None], runs: Version | None = None
) -> str:
    """Log the shoe, which `runs` a version, while it deals, until the log has everything.

    A host that does not know what the shoe records must be told so, and try again; the newest then
    gets everything. Of the released version, neither a host nor a shoe says anything then.
    """
    runs = runs or pair.shoe
    with table.logged_by(pair.host.host) as process:
        _wait_for_attachment(table, process)
        deal()
        if not _knows_less(pair, table):
            table.wait_for_all(process)
            return "logged"
        if runs.age > 0:
            told = wait_until(lambda: _SAYS in table.printed(), _STUCK_S)
            assert told, f"it does not say that it knows less: {table.printed()}"
    check_prefix(logged(table.db, UNIT), recorded(table.state))
    table.log_all(pair.newest.host)
    return TOLD if runs.age > 0 else SILENT


def _wait_for_attachment(table: Table, process: "subprocess.Popen[bytes]") -> None:
    def listens() -> bool:
        assert process.poll() is None, f"sabot log has ended: {table.printed()}"
        return table.target.bench.outputs.link == "HOST"

    assert wait_until(listens, _START_S), f"no host listens: {table.printed()}"


def _knows_less(pair: Pair, table: Table) -> bool:
    """Whether the host is of the released version, which takes no event that it does not know, and
    cannot read what the shoe has recorded."""
    if pair.host.age > 0:
        return False
    records = "\n".join(record.hex() for _, record, _ in recorded(table.state))
    done = pair.host.host.python("-c", _READ, cwd=table.house, given=records)
    return "cannot" in done.stdout


def _judge(table: Table, pair: Pair) -> None:
    """Check that the log has all that the shoe recorded, and that its chain holds, for the host
    itself and for the newest one, which knows every event."""
    check_whole(logged(table.db, UNIT), recorded(table.state))
    newest = pair.newest.host
    if not _knows_less(pair, table):
        verified(pair.host.host, table.db, table.keys, table.house)
    verified(newest, table.db, table.keys, table.house)
    check_rounds(newest, table.db, UNIT, table.hands, table.house)
    if EVENT_KIND in kinds_of(table.state):
        listed = newest.run("events", "--db", table.db, "--json", cwd=table.house).stdout
        assert f'"{EVENT}"' in listed, "the newest host does not name an event that it knows"


def _update_with_cuts(table: Table, pair: Pair) -> None:
    before = recorded(table.state)
    cuts = list(_CUTS)
    seen = []
    with table.updating(pair.host.host, pair.target.release_for(pair.shoe)) as progress:
        for share, what in progress:
            seen.append(what)
            if cuts and what == cuts[0][0] and share >= cuts[0][1]:
                cuts.pop(0)
                table.cut_power()
    assert not cuts, f"the update never came to {cuts}: {seen[-3:]} {table.printed()}"
    assert seen[-1].endswith("updated"), f"{seen[-1]} {table.printed()}"
    table.check_runs(pair.target)
    check_prefix(before, recorded(table.state))


def _undone(pair: Pair, folder: Path, happens: Callable[[Table], object]) -> str:
    """Something happens to a shoe with a release on trial; it must run the release before again."""
    with Table(pair.shoe, folder, pair.seed) as table:

        def try_and_undo() -> None:
            _leave_on_trial(table, pair)
            happens(table)
            table.check_runs(pair.shoe)

        table.deal(try_and_undo)
        assert events.UPDATE_UNDONE.number in kinds_of(table.state)
        how = _log_while(table, pair, lambda: None)
        _judge(table, pair)
    return how


def _leave_on_trial(table: Table, pair: Pair) -> None:
    """Have the shoe try the target, with a host that is killed before it can confirm."""
    release = pair.target.release_for(pair.shoe)
    with table.updating(pair.host.host, release, dies=_TRYING) as progress:
        said = [what for _, what in progress]
    assert said[-1] == _TRYING, f"{said[-3:]} {table.printed()}"

    def on_trial() -> bool:
        with session_with(table.target.shoe) as client:
            return client.ask(UpdateStatusCommand()).stage == "on_trial"

    assert wait_until(on_trial, _START_S), f"not on trial: {table.printed()}"
    table.check_runs(pair.target)


def _bind(pair: Pair, table: Table) -> Version | None:
    """Have the operator bind the new board's chain to the unit, with the host or, if it cannot,
    with the next later version that can. Return that version; None if there is none."""
    chain = Keys.load(table.keys).chains(UNIT)[-1]
    for version in sorted(pair.versions.values(), key=lambda version: version.age):
        if version.age < pair.host.age:
            continue
        known = version.host.run("--help", cwd=table.house).stdout
        if "replaced" in known.split():
            key = shutil.copy(HOUSE / "operator.pem", table.house)
            given = UNIT, "--chain", chain.hex(), "--key", key, "--db", table.db
            version.host.run("replaced", *given, cwd=table.house)
            return version
    return None


def _checks(printed: str) -> Sequence[Mapping[str, object]]:
    (line,) = printed.splitlines()
    checks: Sequence[Mapping[str, object]] = json.loads(line)["checks"]
    return checks
