"""Hosts of other versions: the `sabot` command as the sources in some folder have it.

A released version is in `hil_tests/golden`, as a compressed archive of its packages. It runs in
processes of its own, with the dependencies that are installed here.
"""

import hashlib
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sabot_hil.kit.cache import cache
from sabot_hil.kit.centre import children

GOLDEN = Path(__file__).resolve().parents[3] / "golden"
"""The folder with the data of released versions. Only a checkout has it."""

ARCHIVE = "host.tar.xz"
"""A version's host, in the folder of its golden data."""
RELEASES = "releases.tar.xz"
"""A version's releases there, each in a folder: for its board, and once more with
`-may-go-back`."""
PACKAGES = ("host", "protocol", "firmware")
"""The folders whose packages a host consists of."""

PASSPHRASE = "golden data"
"""Of all private keys in the golden data. They protect nothing."""

_COMMAND = "from sabot.cli import run; run()"
_RUN_S = 300.0
_VERSION = re.compile(r'^VERSION = "?([^"\n]+)"?$', re.MULTILINE)


_ELSEWHERE = "*, @desk, 6abd408b4191f8cc"
"""All other units, the desk of another log, and the game of the golden log of version 2."""


@dataclass(frozen=True, slots=True)
class HostVersion:
    """The host whose packages are below `root`, under a `name` for tables."""

    name: str
    root: Path

    @property
    def protocol(self) -> int:
        """The newest version of the protocol that it speaks."""
        return int(self._version_in("protocol/sabot_protocol"))

    @property
    def firmware(self) -> str:
        """The version of the firmware that it builds, which is its own too."""
        return self._version_in("firmware/sabot_firmware")

    def environment(self, **more: str) -> dict[str, str]:
        """The environment in which Python finds the packages of this host first."""
        paths = os.pathsep.join(str(self.root / folder) for folder in PACKAGES)
        # Modules are compiled once: compiling is a third of what a short command costs.
        own = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "", "COLUMNS": "200"}
        return {**os.environ, **own, "SABOT_PASSPHRASE": PASSPHRASE, **more}

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The options by which `verify` takes a log for one of several that share a key file, and
        of which the oldest has no game documents. 0.2.0 does not ask for what is missing."""
        return () if self.firmware == "0.2.0" else ("--elsewhere", _ELSEWHERE)

    def command(self, *arguments: object) -> list[str]:
        """The command that runs Python; `environment` has the packages."""
        return [sys.executable, *map(str, arguments)]

    def run(
        self, *arguments: object, cwd: Path, code: int | None = 0, given: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command of `sabot` to its end in the folder `cwd`. It must end with `code`, if that
        is not None. `given` is its standard input."""
        return self.python("-c", _COMMAND, *arguments, cwd=cwd, code=code, given=given)

    def python(
        self, *arguments: object, cwd: Path, code: int | None = 0, given: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run Python with this host's packages, as `run` does."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=cwd,
            env=self.environment(),
            input=given,
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
        )
        shown = f"{self.name}: {' '.join(map(str, arguments[2:]))}: exit code {done.returncode}"
        shown += f"\n{done.stdout}{done.stderr}"
        assert code is None or done.returncode == code, shown
        assert "Traceback" not in done.stdout + done.stderr, shown
        return done

    def start(
        self, *arguments: object, cwd: Path, output: Path, more: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start a command of `sabot` that goes on. What it prints goes to the end of `output`. It
        ends with this process."""
        with output.open("ab") as file:
            return children.start(
                self.command("-c", _COMMAND, *arguments),
                cwd=cwd,
                env=self.environment(**(more or {})),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    def _version_in(self, package: str) -> str:
        found = _VERSION.search((self.root / package / "__init__.py").read_text())
        assert found is not None, f"{self.root / package} says no version"
        return found[1]


def released(version: str) -> HostVersion:
    """The host of a released version, from the golden data."""
    return HostVersion(version, unpacked(GOLDEN / version / ARCHIVE))


def today() -> HostVersion:
    """The host of this checkout."""
    return HostVersion("today", GOLDEN.parents[1])


def unpacked(archive: Path) -> Path:
    """Return a folder with the content of a tar.xz archive. It is kept between runs, under a name
    that depends on the archive's bytes."""
    packed = archive.read_bytes()
    folder = cache() / f"unpacked-{hashlib.sha256(packed).hexdigest()[:32]}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            draft = Path(made) / "draft"
            with lzma.open(archive) as stream, tarfile.open(fileobj=stream) as members:
                members.extractall(draft, filter="data")
            try:
                draft.rename(folder)  # atomic: another run may do the same now
            except OSError:
                assert folder.exists()
    return folder
