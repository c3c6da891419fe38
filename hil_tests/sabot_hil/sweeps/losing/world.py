"""A centre with its sites, all of it real processes, in which faults can happen."""

import random
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot.keys import chain_keys
from sabot_hil.kit.centre import oracle
from sabot_hil.kit.centre.chained import ChainedUnit
from sabot_hil.kit.centre.copies import Head, heads_of, newest_of, read_centre
from sabot_hil.kit.centre.hardship import Hardship, library_in
from sabot_hil.kit.centre.postgres import OWNER, Server
from sabot_hil.kit.centre.programs import NOTARY_ROLE, Pool, Program, Programs
from sabot_hil.kit.centre.proxy import Proxy
from sabot_hil.kit.centre.receipt_file import (
    NotAReceipt,
    private_pem,
    public_of,
    public_pem,
    read_receipt,
)
from sabot_hil.kit.centre.site import Site
from sabot_hil.kit.waiting import wait_until

UNITS_OF_A_SITE = 2
PATIENCE_S = 180.0
"""How soon the centre must have everything once nothing fails any more."""
_NAP_S = 0.1


class World:
    """A centre, its notary and some sites in `folder`, which the server's user can reach."""

    def __init__(
        self,
        folder: Path,
        programs: Programs,
        *,
        sites: int,
        seed: int,
        hopeless: Collection[str] = (),
    ) -> None:
        self.folder = folder
        self.programs = programs
        self.seed = seed
        self._hopeless = hopeless
        self.found: list[str] = []
        """What was found wrong on the way."""
        self.setting_back = threading.RLock()
        """Held while the centre is replaced by an older state of it."""
        self.set_back_alarms: set[tuple[str, str]] = set()
        """The alarms that there may be: of units whose receipted events the centre has lost."""
        self.restarted = 0
        """How many forwarders were started again because they sent nothing for seconds."""
        self.set_back_units = 0
        """Of how many units the centre has lost receipted events, all times together."""
        self.begun_unix_ms = now_ms()
        self.private = Ed25519PrivateKey.generate()
        self.public = public_of(self.private)
        self.own = folder / "own"
        """The folder of the sites' logs, the keys, and what programs print."""
        self.own.mkdir()
        self.own.chmod(0o755)
        library = library_in(folder)
        self.hardship = Hardship(folder, library) if library is not None else None
        """The disk and the clock of the centre; None if there is no compiler."""
        self._environment = dict(self.hardship.environment) if self.hardship is not None else {}
        self._highest: dict[str, int] = {}
        self._servers = 0
        self.server = Server.make(folder / "server-0", environment=self._environment)
        self.server.start()
        roles = [f"site_{at}" for at in range(sites)]
        units = {role: [f"{role.upper()}-{n}" for n in range(UNITS_OF_A_SITE)] for role in roles}
        programs.make(self.server, units)
        key, self.keys_file, self.notary_file = self._key_files(
            [unit for names in units.values() for unit in names]
        )
        self.sites = [
            Site(
                role, names, self.own, programs=programs, seed=seed, library=library,
                centre_port=self.server.port, notary=self.notary_file,
            )
            for role, names in units.items()
        ]  # fmt: skip
        self.notary_link = Proxy(self.server.port)
        self.notary_output = self.own / "notary.output"
        address = self.server.address(NOTARY_ROLE, port=self.notary_link.port)
        self._notaries = Pool(
            programs.notary(address, key, self.keys_file), self.notary_output,
            waits=programs.waits, environment=self._environment,
        )  # fmt: skip
        self.notary: Program | None = None
        self.notaries_ended: list[int] = []
        """Exit codes of notaries that ended by themselves."""

    def waited_for(self) -> Sequence[Site]:
        """The sites that are to catch up: all but those that are known to be hopeless."""
        return [site for site in self.sites if site.role not in self._hopeless]

    def start(self) -> None:
        """Log a little at each site, and start what forwards and signs."""
        rng = random.Random(self.seed)
        for site in self.sites:
            for unit in site.units:
                site.log(unit, rng.randint(1, 200))
            site.start_forwarder()
        self.start_notary()

    def start_notary(self) -> None:
        """Start a notary, if none runs."""
        if self.notary is not None and self.notary.code is None:
            return
        self.kill_notary()
        self.notary = self._notaries.start()

    def kill_notary(self) -> None:
        """SIGKILL of the notary."""
        if self.notary is not None:
            if (code := self.notary.code) is not None:
                self.notaries_ended.append(code)
            self.notary.kill()
            self.notary = None

    def heads(self) -> dict[str, Head]:
        """The heads at the centre, asked directly."""
        with psycopg.connect(self.server.address(OWNER), connect_timeout=5) as connection:
            return heads_of(connection)

    def look(self) -> None:
        """Check what can be checked while all goes on: what was committed stays, and the newest
        receipts of the sites are of events that are there."""
        with self.setting_back, suppress(psycopg.OperationalError, psycopg.errors.UndefinedTable):
            receipts = [
                (site, receipt) for site in self.sites for receipt in site.newest_receipts()
            ]
            with psycopg.connect(self.server.address(OWNER), connect_timeout=5) as connection:
                for unit, head in heads_of(connection).items():
                    if head.number < self._highest.get(unit, 0):
                        self.found.append(
                            f"{unit}: event {self._highest[unit]} was committed, now the centre's "
                            f"head is {head.number}"
                        )
                    self._highest[unit] = head.number
                for site, (unit, number, data) in receipts:
                    self._check_committed(connection, site, unit, number, data)

    @contextmanager
    def set_back(self) -> Iterator[None]:
        """Within, the centre is replaced by an older state of it; no link is open meanwhile. Then
        wait until the sites have sent again what it lacks, and look for the alarms of that."""
        with self.setting_back:
            links = [self.notary_link, *(site.link for site in self.sites)]
            for link in links:
                link.shut()
            yield
            heads = self.heads()
            receipted = {u: s.last_receipt(u) for s in self.sites for u in s.units}
            again = {u: receipted[u] for s in self.waited_for() for u in s.units}
            self._highest = {unit: head.number for unit, head in heads.items()}
            lost = {u for u, number in receipted.items() if newest_of(heads, u) < number}
            required = {(unit, "set_back") for unit in lost}
            self.set_back_alarms |= required
            for link in links:
                link.upstream = self.server.port
                link.open()
            filled = wait_until(lambda: not self._lacking(again), PATIENCE_S, _nap)
            self.found += [
                f"{unit}: the centre was set back and does not get event {receipted[unit]} again"
                for unit in ([] if filled else self._lacking(again))
            ]
            alarms = read_centre(self.server.address(OWNER))
            self.found += oracle.alarm_findings(
                alarms, required=required, allowed=self.set_back_alarms
            )
            self.set_back_units += len(lost)

    def next_folder(self) -> Path:
        """A new folder's name for a cluster."""
        self._servers += 1
        return self.folder / f"server-{self._servers}"

    def caught_up(self) -> bool:
        """Wait until the centre has all that the sites have, and the sites have receipts of it."""

        def look() -> bool:
            for site in self.waited_for():
                site.start_forwarder()
            self.start_notary()
            with suppress(psycopg.OperationalError):
                heads = self.heads()
                return all(
                    (newest := site.newest(unit)) == newest_of(heads, unit)
                    and site.last_receipt(unit) == newest
                    for site in self.waited_for()
                    for unit in site.units
                )
            return False

        return wait_until(look, PATIENCE_S, _nap)

    def close(self) -> None:
        """End everything."""
        self.kill_notary()
        self._notaries.close()
        for site in self.sites:
            site.close()
        self.notary_link.close()
        self.server.kill()

    def _lacking(self, receipted: Mapping[str, int]) -> Sequence[str]:
        """The units whose receipted events the centre does not have."""
        with suppress(psycopg.OperationalError):
            heads = self.heads()
            return [unit for unit, number in receipted.items() if newest_of(heads, unit) < number]
        return list(receipted)

    def _check_committed(
        self, connection: Any, site: Site, unit: str, number: int, data: bytes
    ) -> None:
        try:
            receipt = read_receipt(data, self.public)
        except NotAReceipt as error:
            self.found.append(f"{site.role}: the receipt of {unit} event {number}: {error}")
            return
        query = (
            "SELECT 1 FROM sabot.records r JOIN sabot.units u ON r.unit = u.id"
            " WHERE (u.unit, r.number, r.mac) = (%s, %s, %s)"
        )
        if connection.execute(query, (unit, receipt.number, receipt.mac)).fetchone() is None:
            self.found.append(f"{site.role} has a receipt of {unit} event {number}; it is nowhere")

    def _key_files(self, units: Sequence[str]) -> tuple[Path, Path, Path]:
        key, keys, public = (
            self.own / name for name in ("centre.pem", "sabot.keys", "centre.pub.pem")
        )
        key.write_bytes(private_pem(self.private))
        key.chmod(0o600)
        public.write_bytes(public_pem(self.private))
        for unit in units:
            chain_keys.add(keys, unit, ChainedUnit(unit, self.seed).first_key)
        return key, keys, public


def _nap() -> None:
    time.sleep(_NAP_S)


def now_ms() -> int:
    """The time of day, in milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000
