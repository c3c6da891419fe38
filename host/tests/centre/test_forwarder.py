"""When a forwarder goes on trying, and when it ends."""

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from host.tests.support.helpers import new_log
from sabot.centre.forwarder import Clocks, Forwarder
from sabot.centre.pace import BackOff
from sabot.centre.site_log import SiteLog
from sabot.errors import DatabaseLocked, DatabaseUnusable, NoDatabaseServer, SabotError


def _tries(path: Path, errors: list[SabotError], *, after: SabotError | None = None) -> int:
    """How often a forwarder tried to connect, until it was stopped by the last of `errors` being
    used up. With `after` each attempt connects first, and fails then."""
    tried, stopping = 0, threading.Event()

    @contextmanager
    def connect() -> Iterator[Mock]:
        nonlocal tried
        tried += 1
        error = errors.pop(0)
        if not errors:
            stopping.set()
        if after is None:
            raise error
        centre = Mock()
        centre.heads.side_effect = error
        centre.holes.side_effect = error
        yield centre

    with new_log(path) as store, closing(SiteLog(store)) as log:
        clocks = Clocks(lambda: 0.0, lambda event, s: event.is_set())
        back_off = BackOff(random.Random(1))
        Forwarder(log, connect, (), Mock(), stopping, clocks=clocks, back_off=back_off).run()
    return tried


@pytest.mark.parametrize("kind", [NoDatabaseServer, DatabaseLocked])
def test_a_centre_that_is_not_there_when_the_site_starts_is_waited_for(
    tmp_path: Path, kind: type[SabotError]
) -> None:
    assert _tries(tmp_path / "log", [kind("gone") for _ in range(20)]) == 20


def test_a_role_that_the_centre_does_not_know_ends_it(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="no such role"):
        _tries(tmp_path / "log", [DatabaseUnusable("no such role"), NoDatabaseServer("gone")])


def test_what_a_link_makes_of_a_message_ends_nothing(tmp_path: Path) -> None:
    errors: list[SabotError] = [DatabaseUnusable("syntax error at or near") for _ in range(5)]
    assert _tries(tmp_path / "log", errors, after=errors[0]) == 5
