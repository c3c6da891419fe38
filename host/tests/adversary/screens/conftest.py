"""Screens to attack, whose passwords take no time to hash."""

from collections.abc import Iterator

import pytest
from argon2 import profiles

from host.tests.support.screens import Screens, screens_of
from sabot.desk import passwords


@pytest.fixture(scope="package", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """Passwords of the tests take no time to hash."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passwords, "PARAMETERS", profiles.CHEAPEST)
        yield


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory, cheap_hashes: None) -> Iterator[Screens]:
    """The screens of a small floor. Tests of a module share them."""
    with screens_of(tmp_path_factory.mktemp("screens") / "log.sqlite") as made:
        yield made
