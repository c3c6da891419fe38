"""The faults of `losses.py`. Each function makes one happen while records are on their way, puts
everything right again, and returns whether it met what it was to meet: a byte that came, a
statement that ran."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import psycopg

from sabot_hil.kit.centre.link_faults import DOWN, KINDS, UP, Kind, LinkFault
from sabot_hil.kit.centre.postgres import OWNER
from sabot_hil.kit.centre.site import Site
from sabot_hil.kit.waiting import wait_until
from sabot_hil.sweeps.loss_world import World

SiteFault = Callable[[World, Site, random.Random], bool]
CentreFault = Callable[[World, random.Random], bool]

_MOST_LOGGED = 150
_MEET_S = 4.0
_LOOK_S = 0.002
_FARTHEST_BYTE = 40_000
_MOST_MANGLED = 3000
_HANGS_S = 1.5
_FLOWS_S = 3.0
_STARTS_S = 8.0
_LONGEST_LIFE_S = 0.8
_HOUR_MS = 3600 * 1000
_COMMIT_DELAY_US = 100_000
_MOST_ROOM = 300_000
_NOBODY = "nobody"


# Faults of one site and its link.


def forwarder_killed(world: World, site: Site, rng: random.Random) -> bool:
    """SIGKILL at any time."""
    _make_flow(world, site, rng)
    site.log_some(rng, _MOST_LOGGED)
    time.sleep(rng.uniform(0, _LONGEST_LIFE_S))
    site.kill_forwarder()
    site.start_forwarder()
    return True


def forwarder_killed_at_byte(world: World, site: Site, rng: random.Random) -> bool:
    """SIGKILL when a certain byte is on its way, which does not arrive."""

    def kill() -> bool:
        site.kill_forwarder()
        return False

    _make_flow(world, site, rng)
    fault = LinkFault("call", rng.choice((UP, DOWN)), _byte(rng), call=kill)
    met = _met_on_link(site, fault, rng)
    site.start_forwarder()
    return met


def logger_killed(world: World, site: Site, rng: random.Random) -> bool:
    """SIGKILL of the process that logs at the site."""
    site.log_some(rng, _MOST_LOGGED)
    site.kill_logger()
    site.log_some(rng, _MOST_LOGGED)
    return True


def link_fault(kind: Kind) -> SiteFault:
    """A fault of the link, at some byte of either direction."""

    def happen(world: World, site: Site, rng: random.Random) -> bool:
        _make_flow(world, site, rng)
        fault = LinkFault(
            kind, rng.choice((UP, DOWN)), _byte(rng),
            size=round(_MOST_MANGLED ** rng.random()), for_s=rng.uniform(0.05, 1.0),
        )  # fmt: skip
        met = _met_on_link(site, fault, rng)
        if met and kind in ("doubled", "swapped", "changed", "dropped"):
            # Who waits for bytes that do not come waits until the link fails altogether.
            time.sleep(rng.uniform(0.1, _HANGS_S))
            site.link.reset()
        site.start_forwarder()
        return met

    return happen


def site_disk_full(world: World, site: Site, rng: random.Random) -> bool:
    """The site's disk is full, for the logger as for the forwarder."""
    assert site.hardship is not None
    site.start_forwarder()
    site.hardship.fill_disk(rng.randrange(_MOST_ROOM // 4))
    met = False
    end_s = time.monotonic() + _MEET_S
    while not met and time.monotonic() < end_s:
        site.log_some(rng, _MOST_LOGGED)
        met = site.hardship.room_bytes() == 0
    time.sleep(rng.uniform(0, 0.5))
    site.hardship.free_disk()
    site.start_forwarder()
    site.log_some(rng, _MOST_LOGGED)
    return met


def site_clock_off(world: World, site: Site, rng: random.Random) -> bool:
    """The site's clock is off by hours."""
    assert site.hardship is not None
    site.hardship.set_clock(_hours(rng))
    site.start_forwarder()
    _log_for(site, rng, 0.6)
    site.hardship.set_clock(0)
    return True


def two_forwarders(world: World, site: Site, rng: random.Random) -> bool:
    """A second forwarder of the same log; one of the two is killed later."""
    site.start_forwarder()
    second = site.second_forwarder()
    _log_for(site, rng, rng.uniform(0.3, 1.5))
    if rng.random() < 0.5:
        site.kill_forwarder()
        _log_for(site, rng, 0.3)
    second.kill()
    site.start_forwarder()
    return True


# Faults of the centre, which meet every site.


def server_killed(world: World, rng: random.Random) -> bool:
    """SIGKILL of the server, at any time."""
    _log_everywhere(world, rng)
    time.sleep(rng.uniform(0, 0.4))
    _kill_and_start(world)
    return True


def server_killed_in_statement(world: World, rng: random.Random) -> bool:
    """SIGKILL while a site's statement waits for a row that another holds."""
    with psycopg.connect(world.server.address(OWNER)) as blocker:
        blocker.execute("SELECT 1 FROM sabot.units FOR UPDATE")
        met = _log_until(world, rng, "wait_event_type = 'Lock'")
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
    met = _log_until(world, rng, "state = 'active'")
    time.sleep(rng.uniform(0, _COMMIT_DELAY_US / 1e6))
    _kill_and_start(world)
    world.server.change("commit_delay", "0")
    return met


def server_killed_before_answer(world: World, rng: random.Random) -> bool:
    """SIGKILL after a site's batch is durable, before the site is told."""
    world.server.change("synchronous_standby_names", _NOBODY)
    met = _log_until(world, rng, "wait_event = 'SyncRep'")
    _kill_and_start(world)
    world.server.change("synchronous_standby_names", "")
    return met


def backend_killed(world: World, rng: random.Random) -> bool:
    """SIGKILL of one process of the server, which then starts again by itself."""
    _log_everywhere(world, rng)
    children = list(world.server.children())
    with suppress(ProcessLookupError, psycopg.OperationalError):
        query = "SELECT pid FROM pg_stat_activity WHERE usename LIKE 'site%'"
        backends = [pid for (pid,) in world.server.sql(query)] or children
        os.kill(rng.choice(backends), signal.SIGKILL)
    return wait_until(world.server.ready, 30.0)


def backend_ended(world: World, rng: random.Random) -> bool:
    """The server ends the connections of the sites, as an administrator would."""
    _log_everywhere(world, rng)
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
    end_s = time.monotonic() + 2 * _MEET_S
    while not met and time.monotonic() < end_s:
        _log_everywhere(world, rng)
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
    world.hardship.set_clock(_hours(rng))
    for _ in range(3):
        _log_everywhere(world, rng)
        time.sleep(0.4)
    world.hardship.set_clock(0)
    return True


def notary_killed(world: World, rng: random.Random) -> bool:
    """SIGKILL of the notary at any time."""
    world.start_notary()
    _log_everywhere(world, rng)
    time.sleep(rng.uniform(0, 1.5))
    world.kill_notary()
    world.start_notary()
    return True


def notary_killed_at_byte(world: World, rng: random.Random) -> bool:
    """SIGKILL of the notary when a certain byte is on its way, which does not arrive."""

    def kill() -> bool:
        world.kill_notary()
        return False

    fault = LinkFault("call", rng.choice((UP, DOWN)), _byte(rng), call=kill)
    world.start_notary()
    world.notary_link.arm(fault)
    met = _log_everywhere_until(world, rng, lambda: fault.hit)
    world.notary_link.arm(None)
    world.start_notary()
    return met


def notary_link_cut(world: World, rng: random.Random) -> bool:
    """The link of the notary is cut at some byte."""
    fault = LinkFault("cut", rng.choice((UP, DOWN)), _byte(rng))
    world.start_notary()
    world.notary_link.arm(fault)
    met = _log_everywhere_until(world, rng, lambda: fault.hit)
    world.notary_link.arm(None)
    return met


def backup_restored(world: World, rng: random.Random) -> bool:
    """The centre is replaced by a backup of some time before."""
    backup = world.next_folder()
    world.server.backup(backup)
    _log_for_all(world, rng, rng.uniform(1.0, 3.0))
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
    _log_for_all(world, rng, 0.5)
    standby.change("primary_conninfo", "")
    _log_for_all(world, rng, rng.uniform(1.0, 3.0))
    before = world.set_back_units
    with world.set_back():
        old = world.server
        old.kill()
        standby.promote()
        world.server = standby
        shutil.rmtree(old.data)
    return world.set_back_units > before


SITE_FAULTS: Mapping[str, SiteFault] = {
    "forwarder killed": forwarder_killed,
    "forwarder killed at a byte": forwarder_killed_at_byte,
    "logger killed": logger_killed,
    **{f"link {kind}": link_fault(kind) for kind in KINDS},
    "site's disk full": site_disk_full,
    "site's clock off": site_clock_off,
    "two forwarders": two_forwarders,
}
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
NEED_HARDSHIP = frozenset(
    ("site's disk full", "site's clock off", "centre's disk full", "centre's clock off")
)


def _make_flow(world: World, site: Site, rng: random.Random) -> None:
    """Wait until a site sends. If it sends nothing for seconds, though it could, start it again."""
    site.start_forwarder()
    for patience_s in (_FLOWS_S, _STARTS_S):
        site.log_some(rng, _MOST_LOGGED)
        if wait_until(partial(_sends, site, site.link.bytes[UP]), patience_s):
            return
        site.kill_forwarder()
        site.start_forwarder()
        world.restarted += 1


def _sends(site: Site, before: int) -> bool:
    return site.link.bytes[UP] > before


def _byte(rng: random.Random) -> int:
    """Which byte: often one of the first, sometimes one far into a batch."""
    return int(_FARTHEST_BYTE ** rng.random()) - 1


def _hours(rng: random.Random) -> int:
    return rng.choice((-1, 1)) * rng.randint(1, 12) * _HOUR_MS


def _met_on_link(site: Site, fault: LinkFault, rng: random.Random) -> bool:
    """Arm a fault and log until it happens; new connections are made if need be."""
    if rng.random() < 0.3:
        site.link.reset()  # so that it meets the first bytes of a connection too
    site.link.arm(fault)
    end_s = time.monotonic() + _MEET_S
    while not fault.hit and time.monotonic() < end_s:
        site.log_some(rng, _MOST_LOGGED)
        time.sleep(0.05)
    site.link.arm(None)
    return fault.hit


def _log_for(site: Site, rng: random.Random, seconds: float) -> None:
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        site.log_some(rng, _MOST_LOGGED // 5)
        time.sleep(0.05)


def _log_for_all(world: World, rng: random.Random, seconds: float) -> None:
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        _log_everywhere(world, rng, _MOST_LOGGED // 5)
        time.sleep(0.1)


def _log_everywhere(world: World, rng: random.Random, most: int = _MOST_LOGGED) -> None:
    for site in world.sites:
        site.log_some(rng, most)


def _log_everywhere_until(
    world: World, rng: random.Random, met: Callable[[], bool], within_s: float = _MEET_S
) -> bool:
    end_s = time.monotonic() + within_s
    while not met() and time.monotonic() < end_s:
        _log_everywhere(world, rng, _MOST_LOGGED // 5)
        time.sleep(0.05)
    return met()


def _log_until(world: World, rng: random.Random, state: str) -> bool:
    """Log until a statement of a site is in a certain state at the server."""
    query = f"SELECT 1 FROM pg_stat_activity WHERE usename LIKE 'site%' AND {state}".encode()
    with psycopg.connect(world.server.address(OWNER), autocommit=True) as connection:

        def met() -> bool:
            end_s = time.monotonic() + 0.3
            while time.monotonic() < end_s:
                if connection.execute(query).fetchone() is not None:
                    return True
                time.sleep(_LOOK_S)
            return False

        return _log_everywhere_until(world, rng, met)


def _kill_and_start(world: World) -> None:
    world.server.kill()
    world.server.start()
