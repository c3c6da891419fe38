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


def _tries(
    path: Path,
    errors: list[SabotError],
    *,
    after: SabotError | None = None,
    once: bool = False,
    took_s: float = 0.0,
) -> int:
    """How often a forwarder tried to connect, until it was stopped by the last of `errors` being
    used up. With `after` each attempt connects first, and fails then; each takes `took_s`."""
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
        clocks = Clocks(lambda: tried * took_s, lambda event, s: event.is_set())
        back_off = BackOff(random.Random(1))
        Forwarder(
            log, connect, (), Mock(), stopping, once=once, clocks=clocks, back_off=back_off
        ).run()
    return tried


@pytest.mark.parametrize("kind", [NoDatabaseServer, DatabaseLocked])
def test_a_centre_that_is_not_there_when_the_site_starts_is_waited_for(
    tmp_path: Path, kind: type[SabotError]
) -> None:
    assert _tries(tmp_path / "log", [kind("gone") for _ in range(20)]) == 20


def test_a_role_that_the_centre_does_not_know_ends_it(tmp_path: Path) -> None:
    """Not at once: a link may have changed its name on the way."""
    no_role = DatabaseUnusable("no such role")
    gone = NoDatabaseServer("gone")
    assert _tries(tmp_path / "log", [no_role, no_role, gone, no_role, no_role, gone]) == 6
    with pytest.raises(DatabaseUnusable, match="no such role"):
        _tries(tmp_path / "log", [no_role, no_role, no_role, gone])


def test_what_a_link_makes_of_a_message_ends_nothing(tmp_path: Path) -> None:
    errors: list[SabotError] = [DatabaseUnusable("syntax error at or near") for _ in range(5)]
    assert _tries(tmp_path / "log", errors, after=errors[0]) == 5


def test_once_ends_at_once_without_a_centre_and_after_a_while_if_it_had_one(
    tmp_path: Path,
) -> None:
    gone = [NoDatabaseServer("gone") for _ in range(20)]
    with pytest.raises(NoDatabaseServer, match=r"gone$"):
        _tries(tmp_path / "log", [*gone], once=True)
    left: list[SabotError] = [*gone]
    with pytest.raises(NoDatabaseServer, match="given up after 60 s"):
        _tries(tmp_path / "log", left, after=gone[0], once=True, took_s=10.0)
    assert len(left) == 20 - 7
