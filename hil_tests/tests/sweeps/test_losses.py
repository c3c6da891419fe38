"""The judge of `make losses` is judged: it finds what a naive centre does wrong, nothing else."""

import os
import re
import time
from collections.abc import Sequence

import pytest

from host.tests.support.naive_centre import MUTANTS, RIGHT, NaivePrograms
from sabot_hil.kit.centre.postgres import server_folder
from sabot_hil.kit.centre.programs import SabotPrograms
from sabot_hil.sweeps.losing.centre_faults import CENTRE_FAULTS
from sabot_hil.sweeps.losing.site_faults import SITE_FAULTS
from sabot_hil.sweeps.losing.world import World
from sabot_hil.sweeps.losses import judge, plan, run_losses

pytestmark = pytest.mark.slow

_SAMPLE = 8
_NEEDS_A_FAULT = "believes_what_it_sent"


def test_every_mutant_is_found_and_a_right_site_beside_them_is_not() -> None:
    sites = [RIGHT, *MUTANTS]
    link = ["link cut", "forwarder killed at a byte"]
    planned = [
        ["server killed before its answer", "backup restored"],
        *(link if name in (RIGHT, _NEEDS_A_FAULT) else [] for name in sites),
    ]
    with server_folder() as folder:
        world = World(
            folder, NaivePrograms(sites), sites=len(sites), seed=1,
            hopeless=[f"site_{at}" for at in range(1, len(sites))],
        )  # fmt: skip
        try:
            world.start()
            found = run_losses(world, planned).found
        finally:
            world.close()
    not_found = [
        name for name, what in MUTANTS.items() if not _says(found, sites.index(name), what)
    ]
    assert not not_found, "\n".join(found)
    others = f"site_{sites.index('keeps_any_receipt')}"
    assert not [each for each in _of(found, 0) if not each.startswith(others)]


def test_a_sample_of_faults_loses_nothing_and_doubles_nothing() -> None:
    given = os.environ.get("SABOT_SEED")
    seed = int(given) if given else time.time_ns() // 1000 & 0x3FFFFFFF
    print(f"SABOT_SEED={seed}")
    outcome = judge(SabotPrograms(), _SAMPLE, seed, sites=2)
    assert not outcome.found, "\n".join(outcome.found)
    assert outcome.faults > _SAMPLE // 2 and outcome.records and outcome.receipts


def test_a_plan_is_the_same_for_the_same_seed_and_has_every_fault() -> None:
    planned = plan(600, 5, sites=3, left_out=frozenset())
    assert (
        planned
        == plan(600, 5, sites=3, left_out=frozenset())
        != plan(600, 6, sites=3, left_out=frozenset())
    )
    assert sum(map(len, planned)) == 600
    assert set(planned[0]) == set(CENTRE_FAULTS)
    assert all(set(each) == set(SITE_FAULTS) for each in planned[1:])
    without = plan(600, 5, sites=3, left_out=frozenset(["link cut", "backup restored"]))
    assert not {"link cut", "backup restored"} & {name for each in without for name in each}


def _of(found: Sequence[str], site: int) -> list[str]:
    """The findings that name a site or one of its units."""
    return [each for each in found if re.search(rf"site_{site}\b", each, re.IGNORECASE)]


def _says(found: Sequence[str], site: int, what: str) -> bool:
    return any(re.search(what, each) for each in _of(found, site))
