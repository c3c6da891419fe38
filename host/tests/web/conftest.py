"""A server of a log with tables of all families, and visitors of every role."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import profiles

from host.tests.support.screens import Screens, screens_of
from sabot.desk import passwords


@pytest.fixture(scope="module", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """Passwords of the tests take no time to hash."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passwords, "PARAMETERS", profiles.CHEAPEST)
        yield


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory, cheap_hashes: None) -> Iterator[Screens]:
    """The screens of a small floor. Tests of a module share them."""
    path: Path = tmp_path_factory.mktemp("screens") / "log.sqlite"
    with screens_of(path) as made:
        yield made
