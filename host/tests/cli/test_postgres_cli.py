"""Each command that takes a log says the same of one in PostgreSQL as of the same in a file."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.tests.support import example_log, in_postgres
from host.tests.support.commands import output_here
from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import stored
from host.tests.support.postgres import Database, Server, new_log
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

_NAME = "log.sqlite"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log of all families of games, and the keys of one of its units."""
    folder = tmp_path_factory.mktemp("both")
    shutil.copyfile(example_log.LOG, folder / _NAME)
    shutil.copyfile(example_log.KEYS, folder / "sabot.keys")
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
    place = str(database.place("keeper"))
    of_file = output_here(folder, *command, "--db", _NAME)
    of_database = output_here(folder, *command, "--db", place)
    assert of_database.replace(place, _NAME) == of_file
    assert not of_file.endswith(("\n2", "\n15")), of_file  # wrong usage, a fault of sabot
