"""A site: a log that grows, what forwards it, and the bad link between it and the centre."""

import os
import random
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from sabot_hil.kit.centre import children
from sabot_hil.kit.centre.chained import Chained, ChainedUnit
from sabot_hil.kit.centre.copies import reading_site, site_receipts
from sabot_hil.kit.centre.hardship import Hardship
from sabot_hil.kit.centre.programs import Pool, Program, Programs
from sabot_hil.kit.centre.proxy import Proxy

_END_S = 30.0


class Site:
    """A site whose database role is `role`, with a folder of its own and these units."""

    def __init__(
        self,
        role: str,
        units: Sequence[str],
        folder: Path,
        *,
        programs: Programs,
        seed: int,
        library: Path | None,
        centre_port: int,
        notary: Path,
    ) -> None:
        self.role = role
        self.units = units
        self.log_path = folder / f"{role}.sqlite"
        self.output = folder / f"{role}.output"
        """What its forwarders have printed."""
        self.logged = dict.fromkeys(units, 0)
        """The newest number of each unit that the logger has reported as durable."""
        self.hardship: Hardship | None = None
        environment = {}
        if library is not None:
            own = folder / role
            own.mkdir()
            self.hardship = Hardship(own, library)
            environment = dict(self.hardship.environment)
        self.link = Proxy(centre_port)
        self._seed = seed
        self._environment = environment
        self._log_command = programs.logger(self.log_path, seed)
        self._logger: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        address = f"postgresql://{role}@127.0.0.1:{self.link.port}/centre"
        command = programs.forward(self.log_path, address, notary)
        self._pool = Pool(command, self.output, waits=programs.waits, environment=environment)
        self.forwarder: Program | None = None
        self.ended: list[int] = []
        """Exit codes of forwarders that ended by themselves."""

    def log(self, unit: str, count: int) -> bool:
        """Store the next events of a unit; return whether they are durable."""
        with self._lock:
            logger = self._logger or self._start_logger()
            assert logger.stdin is not None and logger.stdout is not None
            print(unit, count, file=logger.stdin, flush=True)
            answer = logger.stdout.readline().split(None, 1)
        if len(answer) == 2 and answer[0] == unit:
            self.logged[unit] = int(answer[1])
            return True
        assert answer[:1] == ["failed"], f"{self.role}: the logger has ended: {answer}"
        return False

    def log_some(self, rng: random.Random, most: int) -> None:
        """Store a few events of some unit."""
        self.log(rng.choice(self.units), rng.randint(1, most))

    def kill_logger(self) -> None:
        """SIGKILL of the process that logs; the next goes on from its log."""
        with self._lock:
            if self._logger is not None:
                self._logger.kill()
                self._logger.wait()
                _close(self._logger)
                self._logger = None

    def start_forwarder(self) -> None:
        """Start a forwarder, if none runs."""
        if self.forwarder is not None and self.forwarder.code is None:
            return
        if self.forwarder is not None:
            self.ended.append(self.forwarder.code or 0)
            self.forwarder.kill()
        self.forwarder = self._pool.start()

    def second_forwarder(self) -> Program:
        """A second forwarder of the same log."""
        return self._pool.start()

    def kill_forwarder(self) -> None:
        """SIGKILL of the forwarder."""
        if self.forwarder is not None:
            if (code := self.forwarder.code) is not None:
                self.ended.append(code)
            self.forwarder.kill()
            self.forwarder = None

    def receipts(self) -> list[tuple[str, int, bytes]]:
        """The receipts that the site has now."""
        if not self.log_path.exists():
            return []
        with reading_site(self.log_path) as connection:
            return site_receipts(connection)

    def newest_receipts(self) -> Sequence[tuple[str, int, bytes]]:
        """The newest receipt of each unit that the site has now."""
        newest = {unit: (unit, number, data) for unit, number, data in sorted(self.receipts())}
        return list(newest.values())

    def last_receipt(self, unit: str) -> int:
        """The number of the newest receipted event of a unit; 0 if there is none."""
        return max((number for name, number, _ in self.receipts() if name == unit), default=0)

    def newest(self, unit: str) -> int:
        """The number of the newest event of a unit in the site's log."""
        with reading_site(self.log_path) as connection:
            query = (
                "SELECT max(number) FROM records WHERE unit = (SELECT id FROM units WHERE unit = ?)"
            )
            return int(connection.execute(query, (unit,)).fetchone()[0] or 0)

    def truth(self) -> dict[str, Sequence[Chained]]:
        """What the units have recorded up to the newest event in the log."""
        made: dict[str, Sequence[Chained]] = {}
        for unit in self.units:
            events: list[Chained] = []
            newest, source = self.newest(unit), ChainedUnit(unit, self._seed)
            while newest and (not events or events[-1].number < newest):
                events += source.take(1)
            made[unit] = [each for each in events if each.number <= newest]
        return made

    def close(self) -> None:
        """End everything of the site."""
        self.kill_forwarder()
        self._pool.close()
        if self._logger is not None:
            assert self._logger.stdin is not None
            self._logger.stdin.close()
            self._logger.wait(_END_S)
            _close(self._logger)
            self._logger = None
        self.link.close()

    def _start_logger(self) -> "subprocess.Popen[str]":
        with self.output.open("ab") as errors:
            logger = children.start(
                self._log_command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **self._environment},
            )
        self._logger = logger
        return logger


def _close(process: "subprocess.Popen[str]") -> None:
    files: list[IO[str] | None] = [process.stdin, process.stdout]
    for file in files:
        if file is not None:
            with suppress(BrokenPipeError):
                file.close()
