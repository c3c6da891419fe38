"""What can happen to a site and its link. Each function makes it happen while records are on their
way, puts everything right again, and returns whether it met what it was to meet: a byte that came,
a file that was to grow."""

import random
import time
from collections.abc import Callable, Mapping

from sabot_hil.kit.centre.link_faults import DOWN, KINDS, UP, Kind, LinkFault
from sabot_hil.kit.centre.site import Site
from sabot_hil.sweeps.losing.traffic import (
    MEET_S,
    MOST_LOGGED,
    hours_off_ms,
    log_for,
    make_flow,
    met_on_link,
    some_byte,
)
from sabot_hil.sweeps.losing.world import World

SiteFault = Callable[[World, Site, random.Random], bool]

_MOST_MANGLED = 3000  # bytes
_MANGLED: tuple[Kind, ...] = ("doubled", "swapped", "changed", "dropped")
_HANGS_S = 1.5
_LONGEST_LIFE_S = 0.8
_MOST_ROOM = 75_000  # bytes


def forwarder_killed(world: World, site: Site, rng: random.Random) -> bool:
    """SIGKILL at any time."""
    make_flow(world, site, rng)
    site.log_some(rng, MOST_LOGGED)
    time.sleep(rng.uniform(0, _LONGEST_LIFE_S))
    site.kill_forwarder()
    site.start_forwarder()
    return True


def forwarder_killed_at_byte(world: World, site: Site, rng: random.Random) -> bool:
    """SIGKILL when a certain byte is on its way, which does not arrive."""

    def kill() -> bool:
        site.kill_forwarder()
        return False

    make_flow(world, site, rng)
    fault = LinkFault("call", rng.choice((UP, DOWN)), some_byte(rng), call=kill)
    met = met_on_link(site, fault, rng)
    site.start_forwarder()
    return met


def logger_killed(world: World, site: Site, rng: random.Random) -> bool:
    """SIGKILL of the process that logs at the site."""
    site.log_some(rng, MOST_LOGGED)
    site.kill_logger()
    site.log_some(rng, MOST_LOGGED)
    return True


def link_fault(kind: Kind) -> SiteFault:
    """A fault of the link, at some byte of either direction."""

    def happen(world: World, site: Site, rng: random.Random) -> bool:
        make_flow(world, site, rng)
        fault = LinkFault(
            kind, rng.choice((UP, DOWN)), some_byte(rng),
            size=round(_MOST_MANGLED ** rng.random()), for_s=rng.uniform(0.05, 1.0),
        )  # fmt: skip
        met = met_on_link(site, fault, rng)
        if met and kind in _MANGLED:
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
    site.hardship.fill_disk(rng.randrange(_MOST_ROOM))
    met = False
    end_s = time.monotonic() + MEET_S
    while not met and time.monotonic() < end_s:
        site.log_some(rng, MOST_LOGGED)
        met = site.hardship.room_bytes() == 0
    time.sleep(rng.uniform(0, 0.5))
    site.hardship.free_disk()
    site.start_forwarder()
    site.log_some(rng, MOST_LOGGED)
    return met


def site_clock_off(world: World, site: Site, rng: random.Random) -> bool:
    """The site's clock is off by hours."""
    assert site.hardship is not None
    site.hardship.set_clock(hours_off_ms(rng))
    site.start_forwarder()
    log_for(site, rng, 0.6)
    site.hardship.set_clock(0)
    return True


def two_forwarders(world: World, site: Site, rng: random.Random) -> bool:
    """A second forwarder of the same log; one of the two is killed later."""
    site.start_forwarder()
    second = site.second_forwarder()
    log_for(site, rng, rng.uniform(0.3, 1.5))
    if rng.random() < 0.5:
        site.kill_forwarder()
        log_for(site, rng, 0.3)
    second.kill()
    site.start_forwarder()
    return True


SITE_FAULTS: Mapping[str, SiteFault] = {
    "forwarder killed": forwarder_killed,
    "forwarder killed at a byte": forwarder_killed_at_byte,
    "logger killed": logger_killed,
    **{f"link {kind}": link_fault(kind) for kind in KINDS},
    "site's disk full": site_disk_full,
    "site's clock off": site_clock_off,
    "two forwarders": two_forwarders,
}
"""By what they are called in reports."""
