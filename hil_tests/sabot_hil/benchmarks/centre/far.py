"""How quickly the records of many units come to a centre that is far away, and what comes late.

    python -m sabot_hil.benchmarks.centre.far [--sites N] [--units N] [--events N]

The same records wait at the sites each time, and go to a new centre through a proxy that delays
them. The last column is how long presence, which is due each minute, took to come while records
came all the time.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from sabot.log.presence import ATTACHED, Span
from sabot.log.store import open_store
from sabot_hil.benchmarks.centre.chained_floor import Floor
from sabot_hil.benchmarks.centre.load import rate
from sabot_hil.benchmarks.centre.running import Centre
from sabot_hil.kit.centre.postgres import OWNER, server_folder
from sabot_hil.kit.runner import print_figures, run
from sabot_hil.kit.waiting import wait_until

ROUND_TRIPS_MS = (0, 200, 400)
_PRESENCE_S = 180.0


@dataclass(frozen=True, slots=True)
class Far:
    """How it went over a link whose answers come this much later."""

    round_trip_ms: int
    sites: int
    units: int
    records: int
    per_s: float
    of_near: float
    """Compared with the first. On a machine that does something else too it varies by a half."""
    round_trips: int
    """That the sites have waited for, one after the other."""
    of_near_by_count: float
    """The same with the first one's time for all else, and these round trips on top of it."""
    presence_late_s: float
    """After which time presence that was noted at the start was at the centre, with a record of
    every unit each second; 0 if that was not measured."""


def measure(
    sites: int, units: int, events: int, round_trips_ms: Sequence[int], presence: bool
) -> list[Far]:
    """Measure over each link in turn."""
    found: list[Far] = []
    with tempfile.TemporaryDirectory() as own:
        floor = Floor(Path(own), sites=sites, shoes=units)
        records = floor.log_more(events)
        for round_trip_ms in round_trips_ms:
            with server_folder() as folder, Centre(folder, floor, round_trip_ms / 1000) as centre:
                begun_at = centre.round_trips
                centre.start_forwarders()
                per_s = rate(centre.wait_for(records))
                trips = centre.round_trips - begun_at
                late_s = 0.0
                if presence:
                    late_s, more = _presence_late_s(centre, floor)
                near = found[0].per_s if found else per_s
                near_s = records / near
                by_count = near_s / (near_s + trips / sites * round_trip_ms / 1000)
                found.append(
                    Far(
                        round_trip_ms, sites, units, records, per_s, per_s / near, trips, by_count,
                        late_s,
                    )
                )  # fmt: skip
                print_figures(found[-1])
                records += more if presence else 0
    return found


def _presence_late_s(centre: Centre, floor: Floor) -> tuple[float, int]:
    """Note presence at one site, log a record of each unit each second, and wait for it. Return
    after how long it came, and how many records were logged meanwhile."""
    role, shoes = next(iter(floor.shoes.items()))
    begun_s, more = time.monotonic(), 0
    with (
        open_store(floor.logs[role], create=True) as store,
        psycopg.connect(centre.server.address(OWNER), autocommit=True) as session,
    ):
        now_ms = time.time_ns() // 1_000_000
        store.keep_presence([Span(shoes[0].name, now_ms, now_ms + 1, ATTACHED)])

        def log_and_look() -> bool:
            nonlocal more
            for shoe in shoes:
                store.append(shoe.name, shoe.take(1))
            more += len(shoes)
            row = session.execute(
                "SELECT count(*) FROM sabot.presence WHERE begin_unix_ms = %s", (now_ms,)
            ).fetchone()
            return row is not None and row[0] > 0

        if not wait_until(log_and_look, _PRESENCE_S, lambda: time.sleep(1.0)):
            return float("inf"), more
    return time.monotonic() - begun_s, more


def main(sites: int = 1, units: int = 1000, events: int = 1000, presence: bool = False) -> None:
    """Measure, and print, what the way to a centre costs."""
    measure(sites, units, events, ROUND_TRIPS_MS, presence)


if __name__ == "__main__":
    run(main)
