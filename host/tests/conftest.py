"""Fixtures that several test modules of the host share. Helpers without state are in support/."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from host.tests.support.surroundings import (
    collect_seldom,
    same_surroundings,
    temporary_files_in_memory,
)

# What a fixture makes is imported in the fixture: it takes longer than many a test.
if TYPE_CHECKING:
    from host.tests.support.hashes import Hashes
    from host.tests.support.postgres import Database, Server
    from sabot.log.place import Place
    from sabot.log.store import Store
    from sabot.sim.process import SimulatedShoe


def pytest_configure() -> None:
    """Every way to start the tests gives the same verdict."""
    same_surroundings()
    collect_seldom()
    temporary_files_in_memory()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no worker waits for them at the end; mark as slow those
    that start PostgreSQL, which takes a third of the time of all other fast tests."""
    items.sort(key=lambda item: item.path.name != "test_docs.py")
    for item in items:
        if isinstance(item, pytest.Function) and _starts_postgres(item):
            item.add_marker(pytest.mark.slow)


def _starts_postgres(item: pytest.Function) -> bool:
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return "postgres" in item.fixturenames or given.get("log_place") == "postgres"


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a test's simulated shoes are published, hidden from other programs."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> "Hashes":
    """Counts the hashes of SHA-256."""
    import hashlib

    from host.tests.support.hashes import Hashes

    counted = Hashes()
    monkeypatch.setattr(hashlib, "sha256", counted)
    return counted


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords take no time and memory to hash."""
    from argon2 import profiles

    from sabot.desk import passwords

    monkeypatch.setattr(passwords, "PARAMETERS", profiles.CHEAPEST)


@pytest.fixture
def rng() -> random.Random:
    """A generator whose seed pytest prints if the test fails; SABOT_SEED=... sets the seed."""
    given = os.environ.get("SABOT_SEED")
    seed = int(given) if given else time.time_ns() // 1000 & 0x3FFFFFFF
    print(f"SABOT_SEED={seed}")
    return random.Random(seed)


@pytest.fixture(scope="session")
def good_log() -> list[bytes]:
    """The records of one whole shoe of cards, from the firmware's own dealing."""
    from host.tests.support.helpers import FirmwareLog, shuffled_names

    return FirmwareLog().deal_shoe(shuffled_names(5)).records


@pytest.fixture
def good_store(tmp_path: Path, good_log: list[bytes]) -> Iterator["Store"]:
    """A log database with `good_log` as unit U1."""
    from host.tests.support.helpers import new_log, stored

    with new_log(tmp_path / "good.sqlite") as store:
        store.append("U1", stored(good_log))
        yield store


@pytest.fixture(scope="session")
def postgres() -> Iterator["Server"]:
    """A PostgreSQL server, which all tests of this process share."""
    from host.tests.support.postgres import Server, make_template

    with Server() as server:
        make_template(server)
        yield server


@pytest.fixture
def database(postgres: "Server") -> Iterator["Database"]:
    """A new, empty log in PostgreSQL."""
    from host.tests.support.postgres import new_log

    with new_log(postgres) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def log_place(request: pytest.FixtureRequest, tmp_path: Path) -> "Place":
    """Where a new log can be: a file, and then an empty log in PostgreSQL."""
    if request.param == "sqlite":
        return tmp_path / "log.sqlite"
    database: Database = request.getfixturevalue("database")
    return database.place()


@pytest.fixture
def shoe() -> Iterator["SimulatedShoe"]:
    """A simulated shoe with power and without cards."""
    from sabot.sim.process import SimulatedShoe

    with SimulatedShoe("SIM-TEST") as simulated:
        simulated.power_on()
        yield simulated
