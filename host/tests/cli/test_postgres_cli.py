"""Each command that takes a log says the same of one in PostgreSQL as of the same in a file."""

import random
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.tests.support import example_log, in_postgres
from host.tests.support.chained import FIRST_KEY, ChainedLog
from host.tests.support.commands import output_here
from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import stored
from host.tests.support.postgres import Database, Server, new_log
from sabot.keys import chain_keys, signing
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

_NAME = "log.sqlite"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log of all families of games, and the keys of one of its units."""
    folder = tmp_path_factory.mktemp("both")
    for source, name in ((example_log.LOG, _NAME), (example_log.KEYS, "sabot.keys")):
        shutil.copyfile(source, folder / name)
        (folder / name).chmod(0o600)
    logs = evenings(random.Random(5))
    with open_store(folder / _NAME, create=True) as store:
        keep_games(store, logs)
        for unit, log in logs.items():
            store.append(unit, stored(log.records))
    return folder


@pytest.fixture(scope="module")
def database(postgres: Server, folder: Path) -> Iterator[Database]:
    """The same log in PostgreSQL."""
    with new_log(postgres) as made:
        in_postgres.put(folder / _NAME, made)
        yield made


_COMMANDS = (
    ("rounds",),
    ("rounds", "--json"),
    ("rounds", "--unit", "SHOE-7", "--last", "5", "--csv"),
    ("rounds", "--unit", "SHOE-7", "--shoe", "1", "--round", "3"),
    ("rounds", "--unit", "SHOE-7", "--at", "2026-11-20T21:15", "--zone", "Europe/Malta"),
    ("rounds", "--from", "2026-11-20T21:00", "--to", "2026-11-20T21:20", "--zone", "Europe/Malta"),
    ("rounds", "--unit", "PAIRS", "--winner", "tie", "--json"),
    ("rounds", "--cards", "7H", "--natural"),
    ("rounds", "--table", "12", "--last", "2"),
    ("events", "--json"),
    ("events", "--kind", "decision", "--last", "3"),
    ("events", "--unit", "SHOE-7", "--round", "3", "--csv"),
    ("events", "--from", "2026-11-20T21:00", "--to", "2026-11-20T21:20", "--zone", "Europe/Malta"),
    ("incidents",),
    ("incidents", "--json"),
    ("incidents", "--unit", "SHOE-7", "--from", "2026-11-20T21:00", "--zone", "Europe/Malta"),
    ("integrity",),
    ("units",),
    ("units", "--json"),
    ("tables", "--json"),
    ("verify",),
    ("verify", "--json"),
    ("verify", "--shoe", "1"),
    ("checkpoints",),
    ("retention", "--json"),
    ("desk", "--json"),
    ("users", "list", "--json"),
    ("score", "--unit", "SHOE-7", "--round", "3"),
    ("score", "--unit", "BOXES", "--game", "blackjack"),
    ("settle", "--wager", "1 player 100", "--unit", "SHOE-7", "--shoe", "1", "--round", "3"),
    ("rounds", "--unit", "SHOE-8"),
    ("events", "--kind", "provisioned"),
)


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_a_command_says_the_same_of_both(
    folder: Path, database: Database, command: tuple[str, ...]
) -> None:
    place = str(database.place("reader"))
    of_file = output_here(folder, *command, "--db", _NAME)
    of_database = output_here(folder, *command, "--db", place)
    # How wide a column is depends on how soon its rows come.
    assert re.sub(" +", " ", of_database.replace(place, _NAME)) == re.sub(" +", " ", of_file)
    assert not of_file.endswith(("\n2", "\n15")), of_file  # wrong usage, a fault of sabot


_OLD_MS = 100 * 86_400_000
# When the command ran, which may be another second for the second of two.
_WHEN = re.compile(
    r'(?<="removed_unix_ms": )\d+|(?<="set_unix_ms": )\d+|(?<=made now until )[-\d: ]+'
    r"|[-\d]+ [\d:]+(?=, in force)"
)
_KEEPING = (
    ("retention", "--minimum-days", "30"),
    ("prune", "--keep-days", "29", "--key", "operator.pem"),
    ("prune", "--keep-days", "60", "--key", "operator.pem", "--dry-run"),
    ("prune", "--keep-days", "60", "--key", "operator.pem", "--json"),
    ("prune", "--keep-days", "60", "--key", "operator.pem"),
    ("retention", "--json"),
    ("rounds",),
    ("units", "--json"),
    ("incidents", "--json"),
    ("rebuild",),
    ("verify", "--operator", "operator.pub.pem", "--json"),
    ("export", "--unit", "U1", "--shoe", "3", "--open", "--key", "operator.pem", "-o", "it.sabot"),
    ("verify", "it.sabot"),
)


def test_a_log_is_kept_and_pruned_in_the_same_way(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_ms = time.time_ns() // 1_000_000 - _OLD_MS
    log = ChainedLog(unix_ms=old_ms).power_on().load_game().deal().wait(60_000).deal()
    log.wait(95 * 86_400_000).deal()
    with monkeypatch.context() as patch:  # as it was received then
        patch.setattr(time, "time_ns", lambda: old_ms * 1_000_000)
        with open_store(tmp_path / _NAME, create=True) as store:
            store.append("U1", log.stored())
            store.append("U2", log.stored())
    signing.make_key_pair(tmp_path / "operator")
    chain_keys.add(tmp_path / "sabot.keys", "U1", FIRST_KEY)
    with new_log(postgres) as database:
        in_postgres.put(tmp_path / _NAME, database)
        place = str(database.place())
        for command in _KEEPING:
            at = () if "it.sabot" in command[1:2] else ("--db",)
            both = [
                output_here(tmp_path, *command, *at, *([each] if at else []))
                for each in (_NAME, place)
            ]
            alike = [_WHEN.sub("when", each) for each in both]
            one, other = (re.sub(" +", " ", each.replace(place, _NAME)) for each in alike)
            assert one == other, command
            assert not both[0].endswith(("\n2", "\n15")), both[0]
        with open_store(database.place()) as store, open_store(tmp_path / _NAME) as file:
            assert list(store.raw("U1")) == list(file.raw("U1"))
            assert store.first_from("U1", 1) != 1
            assert store.faults() == []
