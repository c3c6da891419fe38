"""What can happen to a centre, and so to every site of it. Each function makes it happen while
records are on their way, puts everything right again, and returns whether it met what it was to
meet: a statement that ran, a receipt that the centre has lost."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import psycopg

from sabot_hil.kit.centre.link_faults import DOWN, UP, LinkFault
from sabot_hil.kit.centre.postgres import OWNER
from sabot_hil.kit.waiting import wait_until
from sabot_hil.sweeps.losing.traffic import (
    MEET_S,
    hours_off_ms,
    log_everywhere,
    log_everywhere_for,
    log_everywhere_until,
    log_until_receipted,
    log_until_statement,
    some_byte,
)
from sabot_hil.sweeps.losing.world import World

CentreFault = Callable[[World, random.Random], bool]

_COMMIT_DELAY_US = 100_000
_MOST_ROOM = 300_000  # bytes
_NOBODY = "nobody"  # a standby that there is not


def server_killed(world: World, rng: random.Random) -> bool:
    """SIGKILL of the server, at any time."""
    log_everywhere(world, rng)
    time.sleep(rng.uniform(0, 0.4))
    _kill_and_start(world)
    return True


def server_killed_in_statement(world: World, rng: random.Random) -> bool:
    """SIGKILL while a site's statement waits for a row that another holds."""
    with psycopg.connect(world.server.address(OWNER)) as blocker:
        blocker.execute("SELECT 1 FROM sabot.units FOR UPDATE")
        met = log_until_statement(world, rng, "wait_event_type = 'Lock'")
        with suppress(psycopg.Error):
            if rng.random() < 0.5:
                blocker.rollback()
                time.sleep(rng.uniform(0, 0.01))  # it has just begun again
            _kill_and_start(world)
            blocker.rollback()
    return met


def server_killed_before_commit(world: World, rng: random.Random) -> bool:
    """SIGKILL after a site's statement was carried out, while its commit waits to be written."""
    world.server.change("commit_siblings", "0")
    world.server.change("commit_delay", str(_COMMIT_DELAY_US))
    met = log_until_statement(world, rng, "state = 'active'")
    time.sleep(rng.uniform(0, _COMMIT_DELAY_US / 1e6))
    _kill_and_start(world)
    world.server.change("commit_delay", "0")
    return met


def server_killed_before_answer(world: World, rng: random.Random) -> bool:
    """SIGKILL after a site's batch is durable, before the site has the answer."""
    world.server.change("synchronous_standby_names", _NOBODY)
    met = log_until_statement(world, rng, "wait_event = 'SyncRep'")
    _kill_and_start(world)
    world.server.change("synchronous_standby_names", "")
    return met


def backend_killed(world: World, rng: random.Random) -> bool:
    """SIGKILL of one process of the server, which then starts again by itself."""
    log_everywhere(world, rng)
    children = list(world.server.children())
    with suppress(ProcessLookupError, psycopg.OperationalError):
        query = "SELECT pid FROM pg_stat_activity WHERE usename LIKE 'site%'"
        backends = [pid for (pid,) in world.server.sql(query)] or children
        os.kill(rng.choice(backends), signal.SIGKILL)
    world.server.wait_until_steady()
    return True


def backend_ended(world: World, rng: random.Random) -> bool:
    """The server ends the connections of the sites, as an administrator would."""
    log_everywhere(world, rng)
    time.sleep(rng.uniform(0, 0.2))
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'site%'"
    with suppress(psycopg.OperationalError):
        return bool(world.server.sql(query))
    return False


def centre_disk_full(world: World, rng: random.Random) -> bool:
    """The centre's disk is full for a while."""
    assert world.hardship is not None
    world.hardship.fill_disk(rng.randrange(_MOST_ROOM))
    met = False
    end_s = time.monotonic() + 2 * MEET_S
    while not met and time.monotonic() < end_s:
        log_everywhere(world, rng)
        time.sleep(0.1)
        met = world.hardship.room_bytes() == 0
    time.sleep(rng.uniform(0, 0.8))
    world.hardship.free_disk()
    if not wait_until(world.server.ready, 2.0):
        _kill_and_start(world)
    return met


def centre_clock_off(world: World, rng: random.Random) -> bool:
    """The centre's clock is off by hours, the notary's too."""
    assert world.hardship is not None
    world.hardship.set_clock(hours_off_ms(rng))
    for _ in range(3):
        log_everywhere(world, rng)
        time.sleep(0.4)
    world.hardship.set_clock(0)
    return True


def notary_killed(world: World, rng: random.Random) -> bool:
    """SIGKILL of the notary at any time."""
    world.start_notary()
    log_everywhere(world, rng)
    time.sleep(rng.uniform(0, 1.5))
    world.kill_notary()
    world.start_notary()
    return True


def notary_killed_at_byte(world: World, rng: random.Random) -> bool:
    """SIGKILL of the notary when a certain byte is on its way, which does not arrive."""

    def kill() -> bool:
        world.kill_notary()
        return False

    fault = LinkFault("call", rng.choice((UP, DOWN)), some_byte(rng), call=kill)
    world.start_notary()
    world.notary_link.arm(fault)
    met = log_everywhere_until(world, rng, lambda: fault.hit)
    world.notary_link.arm(None)
    world.start_notary()
    return met


def notary_link_cut(world: World, rng: random.Random) -> bool:
    """The link of the notary is cut at some byte."""
    fault = LinkFault("cut", rng.choice((UP, DOWN)), some_byte(rng))
    world.start_notary()
    world.notary_link.arm(fault)
    met = log_everywhere_until(world, rng, lambda: fault.hit)
    world.notary_link.arm(None)
    return met


def backup_restored(world: World, rng: random.Random) -> bool:
    """The centre is replaced by a backup of some time before."""
    backup = world.next_folder()
    world.server.backup(backup)
    log_until_receipted(world, rng)
    before = world.set_back_units
    with world.set_back():
        world.server.kill()
        world.server.restore(backup)
        world.server.start()
    shutil.rmtree(backup)
    return world.set_back_units > before


def standby_promoted(world: World, rng: random.Random) -> bool:
    """A standby that did not get the last seconds takes over."""
    standby = world.server.standby(world.next_folder())
    standby.start()
    log_everywhere_for(world, rng, 0.5)
    standby.change("primary_conninfo", "")
    log_until_receipted(world, rng)
    before = world.set_back_units
    with world.set_back():
        old = world.server
        old.kill()
        standby.promote()
        world.server = standby
        shutil.rmtree(old.data)
    return world.set_back_units > before


def _kill_and_start(world: World) -> None:
    world.server.kill()
    world.server.start()


CENTRE_FAULTS: Mapping[str, CentreFault] = {
    "server killed": server_killed,
    "server killed in a statement": server_killed_in_statement,
    "server killed before a commit": server_killed_before_commit,
    "server killed before its answer": server_killed_before_answer,
    "backend killed": backend_killed,
    "connections ended by the server": backend_ended,
    "centre's disk full": centre_disk_full,
    "centre's clock off": centre_clock_off,
    "notary killed": notary_killed,
    "notary killed at a byte": notary_killed_at_byte,
    "notary's link cut": notary_link_cut,
    "backup restored": backup_restored,
    "standby promoted": standby_promoted,
}
"""By what they are called in reports."""
