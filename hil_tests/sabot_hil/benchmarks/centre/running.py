"""A centre under load, all of it real: a server, a forwarder for each site, a notary."""

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot_hil.benchmarks.centre.chained_floor import Floor
from sabot_hil.kit.centre.delay import Delay
from sabot_hil.kit.centre.postgres import OWNER, Server
from sabot_hil.kit.centre.programs import NOTARY_ROLE, Program, SabotPrograms, later
from sabot_hil.kit.centre.receipt_file import private_pem, public_pem
from sabot_hil.kit.waiting import wait_until

SETTINGS: Mapping[str, str] = {
    "shared_buffers": "1GB", "max_wal_size": "4GB", "wal_keep_size": "0", "max_connections": "200",
}  # fmt: skip
"""What docs for a group's server suggest, of what matters here."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_CAUGHT_UP_S = 900.0
_READY_S = 120.0


class Centre:
    """A server with a new centre in `folder`, for the sites of a floor.

    With `round_trip_s` the answers to the sites come that much later."""

    def __init__(self, folder: Path, floor: Floor, round_trip_s: float = 0.0) -> None:
        self._floor = floor
        self._output = folder / "output"
        self.key, public = folder / "centre.pem", folder / "centre.pub.pem"
        private = Ed25519PrivateKey.generate()
        self.key.write_bytes(private_pem(private))
        self.key.chmod(0o600)
        public.write_bytes(public_pem(private))
        self.server = Server.make(folder / "server", settings=SETTINGS)
        self.server.start()
        programs = SabotPrograms()
        programs.make(self.server, floor.units)
        self._delay = Delay(self.server.port, round_trip_s) if round_trip_s else None
        port = self.server.port if self._delay is None else self._delay.port
        self.forwarders = [
            Program(
                programs.forward(log, self.server.address(role, port=port), public),
                self._output,
                waits=True,
            )
            for role, log in floor.logs.items()
        ]
        self.notary: Program | None = None
        for forwarder in self.forwarders:
            forwarder.ready()
        self._connection = psycopg.connect(self.server.address(OWNER), autocommit=True)

    def __enter__(self) -> "Centre":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for program in (*self.forwarders, self.notary):
            if program is not None:
                program.kill()
        self._connection.close()
        if self._delay is not None:
            self._delay.close()
        self.server.stop()

    def start_notary(self, *, keys: bool, every_s: int = 10) -> None:
        """Start the notary, with the keys of all chains or without."""
        address = self.server.address(NOTARY_ROLE)
        given = ["notary", "--db", address, "--key", str(self.key), "--every", str(every_s)]
        if keys:
            given += ["--keys", str(self._floor.keys)]
        self.notary = Program(later(*given), self._output, waits=True)
        self.notary.ready()
        self.notary.begin()

    def start_forwarders(self) -> None:
        """Let every site forward."""
        for forwarder in self.forwarders:
            forwarder.begin()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within, no site forwards."""
        for forwarder in self.forwarders:
            os.kill(forwarder.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for forwarder in self.forwarders:
                os.kill(forwarder.pid, signal.SIGCONT)

    @property
    def round_trips(self) -> int:
        """How many round trips the sites have waited for; 0 without a delay."""
        return 0 if self._delay is None else self._delay.round_trips

    def taken(self) -> int:
        """How many records the centre has taken."""
        row = self._connection.execute("SELECT coalesce(sum(records), 0) FROM sabot.units")
        return int(row.fetchone()[0])  # type: ignore[index]

    def heads(self) -> Mapping[str, int]:
        """The newest event of each unit."""
        return dict(self._connection.execute("SELECT unit, newest FROM sabot.units").fetchall())

    def receipted(self) -> int:
        """Up to how many records of all units together the centre has signed for, as a number of
        receipts: one for each unit and time."""
        row = self._connection.execute("SELECT count(*) FROM sabot.receipts").fetchone()
        return int(row[0])  # type: ignore[index]

    def size_bytes(self) -> int:
        """Bytes of the database on disk."""
        row = self._connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0])  # type: ignore[index]

    def wait_for(self, records: int) -> Sequence[tuple[float, int]]:
        """Wait until the centre has taken so many; return what it had at which time."""
        seen: list[tuple[float, int]] = []

        def there() -> bool:
            seen.append((time.monotonic(), self.taken()))
            ended = [each.code for each in self.forwarders if each.code is not None]
            assert not ended, f"a forwarder has ended: {ended}\n{self._output.read_text()[-2000:]}"
            return seen[-1][1] >= records

        assert wait_until(there, _CAUGHT_UP_S, lambda: time.sleep(0.2)), seen[-1]
        return seen

    def processor_s(self) -> Mapping[str, float]:
        """Processor time so far of the forwarders, of the server and of the notary."""
        notary = [] if self.notary is None else [self.notary.pid]
        return {
            "forwarders": _processor_s(each.pid for each in self.forwarders),
            "server": _processor_s((self.server.postmaster, *self.server.children())),
            "notary": _processor_s(notary),
        }


def _processor_s(pids: Iterable[int]) -> float:
    """Processor time of processes and of their children that have ended."""
    ticks = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS_PER_S
