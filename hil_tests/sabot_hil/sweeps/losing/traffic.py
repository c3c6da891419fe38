"""Records on their way, for faults to meet: logging until something happens to them."""

import random
import time
from collections.abc import Callable
from functools import partial

import psycopg

from sabot_hil.kit.centre.link_faults import UP, LinkFault
from sabot_hil.kit.centre.postgres import OWNER
from sabot_hil.kit.centre.site import Site
from sabot_hil.kit.waiting import wait_until
from sabot_hil.sweeps.losing.world import World

MOST_LOGGED = 150
"""Events in one transaction of a site."""
MEET_S = 4.0
"""How long a fault waits for what it is to meet."""

_LOOK_S = 0.002
_FARTHEST_BYTE = 40_000
_FLOWS_S = 3.0
_STARTS_S = 8.0
_RECEIPTED_S = 15.0
_CALM_S = 6.0
_HOUR_MS = 3600 * 1000
_NEW_CONNECTION = 0.3  # how often a fault meets the first bytes of one


def make_flow(world: World, site: Site, rng: random.Random) -> None:
    """Wait until a site sends. If it sends nothing for seconds, though it could, start it again."""
    site.start_forwarder()
    for patience_s in (_FLOWS_S, _STARTS_S):
        site.log_some(rng, MOST_LOGGED)
        if wait_until(partial(_sends, site, site.link.bytes[UP]), patience_s):
            return
        site.kill_forwarder()
        site.start_forwarder()
        world.restarted += 1


def _sends(site: Site, before: int) -> bool:
    return site.link.bytes[UP] > before


def some_byte(rng: random.Random) -> int:
    """Which byte: often one of the first, sometimes one far into a batch."""
    return int(_FARTHEST_BYTE ** rng.random()) - 1


def hours_off_ms(rng: random.Random) -> int:
    """By how many milliseconds a clock is off: by hours, either way."""
    return rng.choice((-1, 1)) * rng.randint(1, 12) * _HOUR_MS


def met_on_link(site: Site, fault: LinkFault, rng: random.Random) -> bool:
    """Arm a fault and log until it happens; new connections are made if need be."""
    if rng.random() < _NEW_CONNECTION:
        site.link.reset()
    site.link.arm(fault)
    end_s = time.monotonic() + MEET_S
    while not fault.hit and time.monotonic() < end_s:
        site.log_some(rng, MOST_LOGGED)
        time.sleep(0.05)
    site.link.arm(None)
    return fault.hit


def log_for(site: Site, rng: random.Random, seconds: float) -> None:
    """Log at a site for a time."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        site.log_some(rng, MOST_LOGGED // 5)
        time.sleep(0.05)


def log_everywhere_for(world: World, rng: random.Random, seconds: float) -> None:
    """Log at every site for a time."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        log_everywhere(world, rng, MOST_LOGGED // 5)
        time.sleep(0.1)


def log_until_receipted(world: World, rng: random.Random) -> None:
    """Log until some site has a receipt of an event that was logged since, and a little longer."""
    newest = {unit: site.newest(unit) for site in world.sites for unit in site.units}

    def receipted() -> bool:
        return any(
            number > newest[unit] for site in world.sites for unit, number, _ in site.receipts()
        )

    log_everywhere_until(world, rng, receipted, _RECEIPTED_S)
    log_everywhere_for(world, rng, rng.uniform(0.2, 1.0))


def log_everywhere(world: World, rng: random.Random, most: int = MOST_LOGGED) -> None:
    """Log a little at every site."""
    for site in world.sites:
        site.log_some(rng, most)


def log_everywhere_until(
    world: World, rng: random.Random, met: Callable[[], bool], within_s: float = MEET_S
) -> bool:
    """Log at every site until something is met; return whether it was in time."""
    end_s = time.monotonic() + within_s
    while not met() and time.monotonic() < end_s:
        log_everywhere(world, rng, MOST_LOGGED // 5)
        time.sleep(0.05)
    return met()


def log_until_statement(world: World, rng: random.Random, state: str) -> bool:
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

        return log_everywhere_until(world, rng, met)


def calm(site: Site, rng: random.Random) -> None:
    """Let a site log and forward in peace for a while, so that it asks for its receipts."""
    log_for(site, rng, _CALM_S)
