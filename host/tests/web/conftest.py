"""A server of a log with tables of all families, and visitors of every role."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from argon2 import profiles

from host.tests.support.screens import Screens, screens_of
from sabot.desk import passwords

if TYPE_CHECKING:
    from host.tests.support.browser import Browser


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


@pytest.fixture(scope="module")
def shown_in() -> "Iterator[Browser]":
    """A browser. Tests of a module share it; without Chromium they are skipped."""
    from host.tests.support.browser import NoBrowser, browser  # other tests need no playwright

    try:
        with browser() as opened:
            yield opened
    except NoBrowser as why:
        pytest.skip(str(why))
