"""Sites forward to a centre while everything fails: no record may be lost or doubled, and every
receipt must be true.

    python -m sabot_hil.sweeps.losses [--faults N] [--seed N] [--sites N]

The server, the forwarders and the notary are killed, at any moment and when a certain byte is on
its way; links are cut, fall silent, are slow, and double, exchange, change and lose bytes in the
middle of a message; disks are full, clocks off by hours; a backup is restored, a standby takes
over.
Every site has its faults at the same time as the others, and those of the centre come on top. In
the end everything is put right, and once all is quiet both sides are read by SQL and compared with
what the units recorded. What the programs have printed is kept in build/ if anything is wrong.

The faults and their order are the same for the same seed; when exactly they meet what is on its
way is not.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sabot_hil.kit.centre.postgres import server_folder
from sabot_hil.kit.centre.programs import Programs, SabotPrograms
from sabot_hil.kit.runner import BUILD, Seed, output, progress, run
from sabot_hil.sweeps.losing import judging
from sabot_hil.sweeps.losing.centre_faults import CENTRE_FAULTS
from sabot_hil.sweeps.losing.site_faults import SITE_FAULTS
from sabot_hil.sweeps.losing.traffic import calm
from sabot_hil.sweeps.losing.world import World

SITES = 3
_CENTRE_SHARE = 0.25  # of the faults
_CALM_SHARE = 0.15  # of those of a site, after which it is left alone for a while
_NEED_HARDSHIP = frozenset(
    ("site's disk full", "site's clock off", "centre's disk full", "centre's clock off")
)
_RARE = frozenset(("backup restored", "standby promoted"))
_RARE_WEIGHT, _WEIGHT = 0.35, 1.0
_WEIGHTS = {"forwarder killed": 2.0, "forwarder killed at a byte": 3.0, "logger killed": 0.5}


@dataclass(slots=True)
class Outcome:
    """What a run has done and found."""

    met: Counter[str] = field(default_factory=Counter)
    """How often each fault has happened to something on its way."""
    missed: Counter[str] = field(default_factory=Counter)
    """How often it came when nothing was."""
    found: list[str] = field(default_factory=list)
    records: int = 0
    receipts: int = 0
    set_back_units: int = 0
    restarted: int = 0
    recovered_s: float = 0.0
    """How long it took, after the last fault, until the centre had everything."""

    @property
    def faults(self) -> int:
        """How many have happened."""
        return sum(self.met.values())


def plan(
    faults: int, seed: int, *, sites: int, left_out: frozenset[str]
) -> Sequence[Sequence[str]]:
    """The names of the faults, first those of the centre, then those of each site."""
    rng = random.Random(seed)
    of_centre = round(faults * _CENTRE_SHARE)
    shares = [len(range(at, faults - of_centre, sites)) for at in range(sites)]
    kinds: Sequence[Mapping[str, object]] = [CENTRE_FAULTS, *[SITE_FAULTS] * sites]
    return [
        _mixed(rng, [name for name in names if name not in left_out], count)
        for names, count in zip(kinds, [of_centre, *shares], strict=True)
    ]


def run_losses(
    world: World,
    planned: Sequence[Sequence[str]],
    *,
    progress: Callable[[], None] = lambda: None,
) -> Outcome:
    """Make the planned faults happen in a world that was started; judge it once all is quiet."""
    outcome = Outcome()
    lock = threading.Lock()

    def count(name: str, met: bool) -> None:
        with lock:
            (outcome.met if met else outcome.missed)[name] += 1
            progress()

    def of_centre() -> None:
        rng = random.Random(f"{world.seed} centre")
        for name in planned[0]:
            world.server.wait_until_steady()
            count(name, CENTRE_FAULTS[name](world, rng))
            world.look()

    def of_site(at: int) -> None:
        rng, site = random.Random(f"{world.seed} {at}"), world.sites[at]
        for name in planned[1 + at]:
            count(name, SITE_FAULTS[name](world, site, rng))
            if rng.random() < _CALM_SHARE:
                calm(site, rng)
            world.look()

    threads = [_Checked(of_centre)]
    threads += [_Checked(partial(of_site, at)) for at in range(len(world.sites))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
        if thread.failure is not None:
            raise thread.failure
    begin_s = time.monotonic()
    if not world.caught_up():
        outcome.found += judging.lagging(world)
    outcome.recovered_s = time.monotonic() - begin_s
    outcome.found += judging.findings(world)
    outcome.set_back_units, outcome.restarted = world.set_back_units, world.restarted
    outcome.records = sum(head.records for head in world.heads().values())
    outcome.receipts = sum(len(site.receipts()) for site in world.sites)
    return outcome


def judge(
    programs: Programs,
    faults: int,
    seed: int,
    *,
    sites: int = SITES,
    progress: Callable[[], None] = lambda: None,
) -> Outcome:
    """Make a world, let faults happen in it, and judge it."""
    with server_folder() as folder:
        world = World(folder, programs, sites=sites, seed=seed)
        left_out = frozenset() if world.hardship is not None else _NEED_HARDSHIP
        planned = plan(faults, seed, sites=sites, left_out=left_out)
        try:
            world.start()
            outcome = run_losses(world, planned, progress=progress)
            if outcome.found:
                judging.keep_outputs(world, BUILD / f"losses-{seed}")
            return outcome
        finally:
            world.close()


class _Checked(threading.Thread):
    """A thread whose error is kept."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.failure: BaseException | None = None
        self._work = work

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.failure = error


def _mixed(rng: random.Random, names: Sequence[str], count: int) -> Sequence[str]:
    """`count` of the names in any order, each at its weight, and each at least once if possible."""
    weights = [_RARE_WEIGHT if name in _RARE else _WEIGHTS.get(name, _WEIGHT) for name in names]
    chosen = rng.sample(list(names), min(len(names), count))
    chosen += rng.choices(names, weights, k=count - len(chosen))
    rng.shuffle(chosen)
    return chosen


def main(faults: int = 600, seed: Seed = 1, sites: int = SITES) -> bool:
    """Let faults happen to sites and their centre, and print what was lost, doubled or untrue."""
    console = output()
    console.print(f"Seed {seed}.")
    begin_s = time.monotonic()
    with progress("faults", faults) as advance:
        outcome = judge(SabotPrograms(), faults, seed, sites=sites, progress=advance)
    for name in (*CENTRE_FAULTS, *SITE_FAULTS):
        missed = outcome.missed[name]
        more = f", and {missed} that met nothing" if missed else ""
        console.print(f"{name}: {outcome.met[name]}{more}")
    for finding in outcome.found:
        console.print(finding, markup=False)
    good = "None lost, none doubled, every receipt true"
    result = f"{len(outcome.found)} findings" if outcome.found else good
    console.print(
        f"{outcome.faults} faults in {time.monotonic() - begin_s:.0f} s: "
        f"{outcome.records} records, {outcome.receipts} receipts at the sites; the centre set back "
        f"for {outcome.set_back_units} units; {outcome.restarted} forwarders started again that "
        f"sent nothing for seconds; caught up {outcome.recovered_s:.0f} s after the last "
        f"fault. {result}. Seed {seed}."
    )
    return not outcome.found


if __name__ == "__main__":
    run(main)
