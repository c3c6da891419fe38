"""Makes the golden data of a released version that are missing (README.md):
python -m hil_tests.golden.released VERSION"""

import hashlib
import io
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sabot_hil.kit.centre.postgres import DATABASE, OWNER, Server, server_folder
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.versions.old_host import ARCHIVE, GOLDEN, RELEASES, HostVersion

LIST = "SHA256SUMS"
"""The file with the SHA-256 of every other file of a version."""

HOUSE = ("releases", "operator", "notary")
"""The names of its pairs of keys, NAME.pem and NAME.pub.pem."""

_ROOT = GOLDEN.parents[1]
_HOST_FOLDERS = (
    "host/sabot",
    "protocol/sabot_protocol",
    "firmware/sabot_firmware",
    "firmware/sabot_rig",
)
_KEYS, _COMMANDS, _DB = "sabot.keys", "sabot.commands", "sabot.sqlite"
_BOARDS = ("sim", "pico")
_FAMILIES = {
    "GOLD-MINI": "mini",
    "GOLD-SEALED": "ez-midi",
    "GOLD-BOXES": "blackjack",
    "GOLD-HANDS": "holdem",
}
"""The game of each unit that has dealt a whole shoe of cards into the newest log."""
_SHORT = "AC 2C 4C 7D 4H 2S KD 9S 3H 8C CUT 5D 6H TS 2D JC QH 3D 9C 8D 7S 6S 5H"
"""A shoe of cards for the logs of older versions."""
_WRITE_COMMANDS = """\
import json
from sabot.keys.chain_keys import DEFAULT, Keys
from sabot_protocol.chain import command_key
keys = Keys.load(DEFAULT)
for unit in keys.units():
    for chain in keys.chains(unit):
        key = command_key(keys.first_key(unit, chain))
        print(json.dumps({"unit": unit, "command": key.hex()}))
"""
_MAKE_JOURNALS = """\
import sys
from pathlib import Path
from hil_tests.golden import make
make.FOLDER = Path(sys.argv[1])
make.main()
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a released version is in git: its commit, and a commit for each version of a log that
    it reads, whose host writes that version."""

    commit: str
    logs: Mapping[int, str]


ORIGINS = {
    "0.2.0": Origin(
        "3b5f77a",
        {2: "43c4fde", 3: "3074de1", 4: "0d360ae", 5: "3b5f77a"},
    ),
}


class Maker:
    """Makes the files of one version in `folder`; `work` is a folder for what is not kept."""

    def __init__(self, origin: Origin, folder: Path, work: Path) -> None:
        self._origin = origin
        self._folder = folder
        self._work = work
        self._house = work / "house"
        self._house.mkdir(mode=0o700)

    @cached_property
    def _host(self) -> HostVersion:
        return _host_of(self._origin.commit, self._work)

    def make_missing(self) -> list[str]:
        """Make what is missing, and the list of SHA-256 again; return the names of what was made.
        The keys fit the logs: both are made, or neither."""
        self._folder.mkdir(exist_ok=True)
        before = set(files_of(self._folder))
        steps: Sequence[tuple[str, Callable[[], None]]] = (
            (ARCHIVE, self._pack_host),
            ("releases.pem", self._make_pairs),
            (RELEASES, self._build_releases),
            (_KEYS, self._write_logs),
            ("journals", self._write_journals),
        )
        for name, make in steps:
            if not (self._folder / name).exists():
                make()
        made = sorted(set(files_of(self._folder)) - before)
        if made:
            (self._folder / LIST).write_text(sums_of(self._folder))
        return made

    def _pack_host(self) -> None:
        packed = _archive(self._origin.commit, _HOST_FOLDERS)
        self._write(ARCHIVE, _xz(packed))

    def _make_pairs(self) -> None:
        for name, kind in zip(HOUSE, ("release", "operator", "notary"), strict=True):
            self._host.run("keys", kind, "make", "-o", self._folder / name, cwd=self._house)

    def _build_releases(self) -> None:
        built = self._work / "releases"
        built.mkdir()
        key = self._folder / "releases.pem"
        for board in _BOARDS:
            for name, more in ((board, ()), (f"{board}-may-go-back", ("--may-go-back",))):
                given = "--board", board, "-o", built / name, "--key", key, *more
                self._host.run("build", *given, cwd=self._house)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as members:
            for path in sorted(path for path in built.rglob("*") if path.is_file()):
                entry = tarfile.TarInfo(str(path.relative_to(built)))
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    members.addfile(entry, file)
        self._write(RELEASES, _xz(packed.getvalue()))

    def _write_logs(self) -> None:
        (self._house / "short.deck").write_text("\n".join(_SHORT.split()) + "\n")
        for version, commit in self._origin.logs.items():
            host = _host_of(commit, self._work)
            units = {f"GOLD-LOG{version}": "mini"}
            if host.root == self._host.root:
                units = _FAMILIES
            for unit, game in units.items():
                given = "--game", game, "--pace", "0", "--seed", "1", "--db", _DB
                deck = () if units is _FAMILIES else ("--deck", "short.deck", "--short")
                host.run("demo", "--unit", unit, *given, *deck, cwd=self._house)
            if units is _FAMILIES:
                host.run(
                    "users", "add", "keeper", "--role", "administrator",
                    cwd=self._house, given="golden data of a log\n",
                )  # fmt: skip
                self._get_receipts()
            log = self._house / _DB
            self._write(f"log-{version}.sqlite.xz", _xz(log.read_bytes()))
            log.unlink()
        commands = self._host.python("-c", _WRITE_COMMANDS, cwd=self._house).stdout
        self._write(_COMMANDS, commands.encode())
        self._write(_KEYS, (self._house / _KEYS).read_bytes())

    def _get_receipts(self) -> None:
        """Forward the log to a centre, and get the receipts of its notary."""
        host, house = self._host, self._house
        with server_folder() as folder:
            server = Server.make(folder / "centre")
            server.start()
            try:
                server.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
                owner = server.address(OWNER)
                for role in ("site", "notary"):
                    server.sql(f'CREATE ROLE "{role}" LOGIN', database="postgres")
                host.run("database", "make", owner, cwd=house)
                host.run("database", "grant", owner, "notary", "--may", "notary", cwd=house)
                units = [part for unit in _FAMILIES for part in ("--unit", unit)]
                host.run("database", "site", owner, "site", *units, cwd=house)
                forward = (
                    "forward", "--db", _DB, "--to", server.address("site"),
                    "--notary", self._folder / "notary.pub.pem", "--once",
                )  # fmt: skip
                output = self._work / "forward"
                sending = host.start(*forward, cwd=house, output=output)
                while sending.poll() is None:
                    key = self._folder / "notary.pem"
                    sign = "notary", "--db", server.address("notary"), "--key", key, "--once"
                    host.run(*sign, cwd=house)
                assert sending.returncode == 0, output.read_text()
            finally:
                server.stop()

    def _write(self, name: str, data: bytes) -> None:
        """Write a file that is not there."""
        with (self._folder / name).open("xb") as file:
            file.write(data)

    def _write_journals(self) -> None:
        """Let the test bench of that version make its journals (make.py)."""
        journals = self._folder / "journals"
        journals.mkdir()
        _extract(_archive(self._origin.commit, ["hil_tests"]), self._host.root)
        environment = self._host.environment()
        path = os.pathsep.join(
            [str(self._host.root), str(self._host.root / "hil_tests"), environment["PYTHONPATH"]]
        )
        subprocess.run(
            [sys.executable, "-c", _MAKE_JOURNALS, str(journals)],
            env={**environment, "PYTHONPATH": path},
            cwd=self._house,
            check=True,
        )


def files_of(folder: Path) -> list[str]:
    """Return the names of all files of a version, but for the list of SHA-256."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != LIST)
    return sorted(path.relative_to(folder).as_posix() for path in found)


def sums_of(folder: Path) -> str:
    """Return the lines of the list of SHA-256 that fits the files in `folder`."""
    sums = {name: hashlib.sha256((folder / name).read_bytes()) for name in files_of(folder)}
    return "".join(f"{digest.hexdigest()}  {name}\n" for name, digest in sums.items())


def _host_of(commit: str, work: Path) -> HostVersion:
    """The host of a commit, unpacked below `work`."""
    root = work / commit
    if not root.exists():
        _extract(_archive(commit, _HOST_FOLDERS), root)
    return HostVersion(commit, root)


def _archive(commit: str, folders: Sequence[str]) -> bytes:
    """Return these folders of a commit as a tar archive."""
    command = ["git", "-C", str(_ROOT), "archive", "--format=tar", commit, *folders]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _extract(packed: bytes, root: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as members:
        members.extractall(root, filter="data")


def _xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


@private_runtime()
def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit code."""
    if len(arguments) != 1 or arguments[0] not in ORIGINS:
        print(f"usage: python -m hil_tests.golden.released {'|'.join(ORIGINS)}", file=sys.stderr)
        return 2
    (version,) = arguments
    with tempfile.TemporaryDirectory(prefix="sabot-golden-") as work:
        made = Maker(ORIGINS[version], GOLDEN / version, Path(work)).make_missing()
    for name in made:
        print(f"made {version}/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
