"""The versions of Sabot that meet: each with its host, and its releases signed by one house."""

import fcntl
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sabot.keys import signing
from sabot.release import build as releases
from sabot.release import layout
from sabot_hil.kit.cache import cache
from sabot_hil.kit.versions import old_host
from sabot_hil.kit.versions.old_host import GOLDEN, PACKAGES, RELEASES, HostVersion
from sabot_hil.kit.versions.tomorrow import make_tomorrow

RELEASED, TODAY, TOMORROW = "0.2.0", "today", "tomorrow"
"""The names of the versions. The released one has protocol 10."""

HOUSE = GOLDEN / RELEASED
"""The folder with the keys that sign everything here."""

_GOING_BACK = "sim-may-go-back"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of Sabot under a `name` for tables: its host, and the folder with its releases for
    simulated boards. `age` grows with each later version."""

    name: str
    age: int
    host: HostVersion
    releases: Path

    def release_for(self, before: "Version") -> Path:
        """The release that a shoe takes which runs the version `before`."""
        return self.releases / ("sim" if self.age > before.age else _GOING_BACK)

    @property
    def files(self) -> Mapping[str, bytes]:
        """The modules of a board that runs it, by path."""
        return releases.load(self.releases / "sim").files

    @property
    def build(self) -> bytes:
        """The build that its shoes report."""
        return layout.build_of(self.files)

    def flashed(self) -> Mapping[str, bytes]:
        """The files of a new board that runs it, and takes releases of the house."""
        return layout.contents(self.files, signing.load_public(HOUSE / "releases.pub.pem"))


@contextmanager
def all_versions() -> Iterator[Mapping[str, Version]]:
    """The released version, today's and tomorrow's, by name, the oldest first."""
    with tempfile.TemporaryDirectory(prefix="sabot-versions-") as name:
        tomorrow = make_tomorrow(Path(name) / "tomorrow")
        yield {
            **versions_so_far(),
            TOMORROW: Version(TOMORROW, 2, tomorrow, _releases_of(tomorrow)),
        }


def versions_so_far() -> Mapping[str, Version]:
    """The released version and today's, by name, the oldest first."""
    golden = old_host.unpacked(HOUSE / RELEASES)
    today = old_host.today()
    return {
        RELEASED: Version(RELEASED, 0, old_host.released(RELEASED), golden),
        TODAY: Version(TODAY, 1, today, _releases_of(today)),
    }


def _releases_of(host: HostVersion) -> Path:
    """Let a host build its releases. They are kept between runs under a name that depends on all
    sources."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((host.root / package).rglob("*.py")):
            digest.update(f"{path.relative_to(host.root)}\n".encode() + path.read_bytes())
    folder = cache() / f"releases-{digest.hexdigest()[:32]}"
    with (cache() / "releases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process waits for what this one builds
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as made:
                draft = Path(made) / "draft"
                draft.mkdir()
                for name, more in (("sim", ()), (_GOING_BACK, ("--may-go-back",))):
                    given = "--board", "sim", "--key", HOUSE / "releases.pem", "-o", draft / name
                    host.run("build", *given, *more, cwd=draft)
                draft.rename(folder)  # atomic: a process that is killed leaves no part
    return folder
