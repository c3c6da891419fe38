"""Cuts the power at every operation on the board's own flash during an update.

    python -m sabot_hil.sweeps.update_cuts [--seed N] [--every N] [--from VERSION] [--to VERSION]

A version is one of those that meet in `versions.py`, or `newer`: today's under a later number.
A simulated shoe that runs from a slot takes a release, and its flash, with the file system on it,
is traced: the host's command, the updater, the start on trial and the host's confirmation. Then,
for each operation, a shoe starts on the flash as it was right after the operation, and as it was
after a power cut in the middle of it. It must start with the old release or the new one, complete,
with its journal and its keys unchanged. One in twenty takes the release again.

Prints what was done and each failure; exit code 1 if there is one.
"""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import sabot_firmware
from sabot.keys import signing
from sabot.release.build import Release, load
from sabot.release.layout import build_of, contents
from sabot.release.update import Progress, update
from sabot.sim.process import BOARD_FLASH, JOURNAL
from sabot_firmware.boards.sim.flash import TRACE
from sabot_hil.capabilities import session_with
from sabot_hil.kit import releases
from sabot_hil.kit.flash_image import FlashOperation, read_trace
from sabot_hil.kit.logbook import check_taken
from sabot_hil.kit.runner import Seed, output, run
from sabot_hil.kit.witness import Witness
from sabot_hil.sweeps.flash_cuts import FlashCut, check_cuts, cuts_at, flash_after
from sabot_hil.sweeps.matrix.versions_made import (
    HOUSE,
    RELEASED,
    TODAY,
    TOMORROW,
    all_versions,
    versions_so_far,
)
from sabot_hil.targets.sim import SimTarget
from sabot_protocol.release import Manifest

NEWER = "newer"
"""The name of this firmware under a later number."""

AGAIN_EVERY = 20
"""After one in this many cuts, the shoe takes the release again."""

_UNIT = "CUT-1"
_KEYS = "sabot.keys"
_TITLES = ("LOAD CARDS", "UPDATE")


@dataclass(frozen=True, slots=True)
class Change:
    """What a shoe runs, the modules by path and their version, and the release that it takes."""

    modules: Mapping[str, bytes]
    version: str
    release: Release
    public: bytes
    """The key that the release is checked with."""

    @property
    def builds(self) -> dict[str, bytes]:
        """The builds before and after, by version."""
        return {self.version: build_of(self.modules), self.newer: build_of(self.release.files)}

    @property
    def newer(self) -> str:
        """The version that the release is."""
        return Manifest(self.release.manifest).version


def change_of(before: str = TODAY, after: str = NEWER) -> Change:
    """Return the change from one version to another, by their names."""
    if (before, after) == (TODAY, NEWER):
        release = releases.changed("sim", releases.HOUSE, releases.NEWER)
        public = signing.public_of(releases.HOUSE)
        return Change(releases.compiled("sim"), sabot_firmware.VERSION, release, public)
    later = TOMORROW in (before, after)
    with all_versions() if later else nullcontext(versions_so_far()) as versions:
        old, new = versions[before], versions[after]
        release = load(new.release_for(old))
        public = signing.load_public(HOUSE / "releases.pub.pem")
        return Change(old.files, old.host.firmware, release, public)


@dataclass(frozen=True, slots=True)
class RecordedUpdate:
    """A recorded update: the flash before it and the operations on it; the states of the
    journal's chip, each with its first operation and its number of events; the keys."""

    seed: int
    before: bytes
    operations: Sequence[FlashOperation]
    journals: Sequence[tuple[int, bytes, int]]
    keys: bytes
    change: Change


@dataclass(frozen=True, slots=True)
class UpdateCut:
    """A power cut during the update."""

    flash: FlashCut
    again: bool = False
    """Whether the shoe takes the release again afterwards."""


def record_update(seed: int, folder: Path, change: Change | None = None) -> RecordedUpdate:
    """Update a new shoe, with its files in `folder`, and record that. By default it takes this
    firmware under a later number."""
    change = change or change_of()
    trace = folder / (BOARD_FLASH + TRACE)
    journals: list[tuple[int, bytes, int]] = []
    files = contents(change.modules, change.public)
    target = SimTarget(_UNIT, folder, Witness(), files=files)
    try:
        target.power.on()
        target.power.off()
        before = (folder / BOARD_FLASH).read_bytes()
        trace.touch()

        def look(progress: Progress | None = None) -> None:
            if progress is None or "start" in progress.what:
                with_journal = (folder / JOURNAL).read_bytes()
                journals.append((len(read_trace(trace.read_bytes())), with_journal, held))

        target.power.on()
        held = _held(target)
        look()
        done = update(lambda: session_with(target.shoe), change.release, look)
        assert done.endswith("updated"), done
        held = _held(target)
        target.power.off()
        look()
    finally:
        target.close()
    return RecordedUpdate(
        seed,
        before,
        read_trace(trace.read_bytes()),
        journals,
        (folder / _KEYS).read_bytes(),
        change,
    )


def update_cuts(recorded: RecordedUpdate, every: int = 1) -> Iterator[UpdateCut]:
    """Yield the cuts after and in each `every`-th operation, from a random one on."""
    chance = random.Random(recorded.seed)
    first = chance.randrange(AGAIN_EVERY)
    places = range(chance.randrange(every), len(recorded.operations), every)
    for number, cut in enumerate(cuts_at(recorded.operations, places, chance), first):
        yield UpdateCut(cut, number % AGAIN_EVERY == 0)


def check_update_cut(recorded: RecordedUpdate, cut: UpdateCut) -> str:
    """Return the version that the shoe runs after that cut. Raises AssertionError if it does not
    run, or if something has changed that must not."""
    at = cut.flash.at
    rng = np.random.default_rng([recorded.seed, at])
    image = flash_after(recorded.before, recorded.operations, cut.flash, rng)
    _, journal, held = [known for known in recorded.journals if known[0] <= at + 1][-1]
    with tempfile.TemporaryDirectory(prefix="sabot-cut-") as name:
        folder = Path(name)
        (folder / _KEYS).write_bytes(recorded.keys)
        (folder / JOURNAL).write_bytes(journal)
        image.save(folder / BOARD_FLASH)
        target = SimTarget(_UNIT, folder, Witness(), files={})
        try:
            target.power.on()
            return _version_after(target, recorded, cut, held, folder)
        finally:
            target.close()


def _version_after(
    target: SimTarget, recorded: RecordedUpdate, cut: UpdateCut, held: int, folder: Path
) -> str:
    # A shoe in the middle of an update starts its updater, which continues with a host.
    shown = target.bench.settle().title
    assert shown in _TITLES, shown
    if cut.again or shown == _TITLES[1]:
        done = update(lambda: session_with(target.shoe), recorded.change.release)
        assert recorded.change.newer in done, done
    with session_with(target.shoe) as client:
        welcome = client.welcome
    assert welcome.build == recorded.change.builds[welcome.firmware], welcome
    assert welcome.last_held >= held, welcome
    check_taken(target, folder)
    return welcome.firmware


def _held(target: SimTarget) -> int:
    with session_with(target.shoe) as client:
        return client.welcome.last_held


def main(
    seed: Seed = 1,
    every: Annotated[int, typer.Option(help="Cut at each N-th operation only.")] = 1,
    before: Annotated[str, typer.Option("--from", help="What the shoe runs.")] = TODAY,
    after: Annotated[str, typer.Option("--to", help="What it takes.")] = NEWER,
) -> bool:
    """Cut the power at every operation on the board's own flash during an update."""
    versions = (RELEASED, TODAY, TOMORROW)
    if before not in versions or after not in (*versions, NEWER):
        raise typer.BadParameter(f"not one of the versions {', '.join((*versions, NEWER))}")
    if before == after or (after == NEWER and before != TODAY):
        raise typer.BadParameter("the shoe takes another version; `newer` is for a shoe of today")
    console = output()
    with tempfile.TemporaryDirectory(prefix="sabot-update-") as name:
        recorded = record_update(seed, Path(name), change_of(before, after))
    planned = list(update_cuts(recorded, every))
    console.print(
        f"{len(recorded.operations)} operations on the flash, {len(planned)} cuts, seed {seed}"
    )
    return check_cuts(partial(check_update_cut, recorded), planned, console)


if __name__ == "__main__":
    run(main)
