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

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

import sabot_firmware
from sabot.keys import signing
from sabot.release.build import Release, load
from sabot.release.layout import build_of, contents
from sabot.release.update import Progress, update
from sabot.sim.process import BOARD_FLASH, JOURNAL
from sabot_firmware.boards.sim.flash import BOARD_SECTORS, TRACE
from sabot_hil.capabilities import session_with
from sabot_hil.kit import releases
from sabot_hil.kit.flash_image import ChipImage, FlashOperation, read_trace
from sabot_hil.kit.logbook import check_taken
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.witness import Witness
from sabot_hil.sweeps.matrix.versions_made import HOUSE, RELEASED, TODAY, TOMORROW, all_versions
from sabot_hil.sweeps.sweep import sweep
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
    with all_versions() as versions:
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
    """A power cut in the operation `at`, in the way `how` of flash_image.py, or right after it."""

    at: int
    how: str = ""
    again: bool = False


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
    number = chance.randrange(AGAIN_EVERY)
    for at in range(chance.randrange(every), len(recorded.operations), every):
        for how in ("", chance.choice(recorded.operations[at].cuts)):
            yield UpdateCut(at, how, number % AGAIN_EVERY == 0)
            number += 1


def check_update_cut(recorded: RecordedUpdate, cut: UpdateCut) -> str:
    """Return the version that the shoe runs after that cut. Raises AssertionError if it does not
    run, or if something has changed that must not."""
    image = ChipImage(recorded.before, sectors=BOARD_SECTORS)
    image.apply_all(recorded.operations[: cut.at])
    if cut.how:
        rng = np.random.default_rng([recorded.seed, cut.at])
        image.cut(recorded.operations[cut.at], cut.how, rng)
    else:
        image.apply(recorded.operations[cut.at])
    _, journal, held = [known for known in recorded.journals if known[0] <= cut.at + 1][-1]
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


@private_runtime()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the cuts")
    parser.add_argument("--every", type=int, default=1, help="cut at each N-th operation only")
    names = (RELEASED, TODAY, TOMORROW)
    parser.add_argument("--from", dest="before", choices=names, default=TODAY)
    parser.add_argument("--to", dest="after", choices=(*names, NEWER), default=NEWER)
    options = parser.parse_args(arguments)
    if options.before == options.after or (options.after == NEWER and options.before != TODAY):
        parser.error("the shoe takes another version; `newer` is for a shoe of today")
    console = Console()
    with tempfile.TemporaryDirectory(prefix="sabot-update-") as name:
        change = change_of(options.before, options.after)
        recorded = record_update(options.seed, Path(name), change)
    planned = list(update_cuts(recorded, options.every))
    console.print(
        f"{len(recorded.operations)} operations on the flash, {len(planned)} cuts, "
        f"seed {options.seed}"
    )
    failed = sweep(partial(check_update_cut, recorded), planned, console)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
