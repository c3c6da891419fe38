"""What is in a log, and how it does: for every command that has one."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from sabot.errors import SabotError
from sabot.link.flow import Flow
from sabot.log.store import Store
from sabot_firmware import VERSION

_ATTACHED_S = 15.0
"""A log notes every 5 s which shoes it has."""
_WAL = "-wal"


class LogMetrics:
    """The metrics of the log `store`. What Prometheus asks for is read then, and only of units that
    have changed since."""

    def __init__(self, store: Store, now_s: Callable[[], float] = time.time) -> None:
        self._store, self._now_s = store, now_s
        self._lock = threading.Lock()  # of the follower, and of what follows
        self._follower = store.follower()
        self._newest: dict[str, int] = {}
        self._received_s: dict[str, float] = {}

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        info = GaugeMetricFamily("sabot_info", "1, with the version.", labels=["version"])
        info.add_metric([VERSION], 1)
        yield info
        readable = GaugeMetricFamily("sabot_log_readable", "1 if the log can be read.")
        try:
            with self._lock:
                found = [*self._of_log()]
        except SabotError:
            found = []
        readable.add_metric([], bool(found))
        yield readable
        yield from found
        yield from self._of_disk()
        with suppress(SabotError):
            yield from self._of_server()

    def _of_log(self) -> Iterator[Metric]:
        changed = self._follower.poll()
        with self._store.at_one_moment():
            for unit, newest in changed.items():
                if not newest:
                    self._newest.pop(unit, None)
                    self._received_s.pop(unit, None)
                    continue
                self._newest[unit] = newest
                received = self._store.last_received(unit)
                if received is not None:
                    self._received_s[unit] = received / 1000
        noted, flows = self._follower.noted(), self._follower.flows()
        now_s = self._now_s()
        numbers = GaugeMetricFamily(
            "sabot_unit_newest_event", "Number of a unit's newest event.", labels=["unit"]
        )
        times = GaugeMetricFamily(
            "sabot_unit_event_timestamp_seconds",
            "When this log received a unit's newest event.",
            labels=["unit"],
        )
        attached = GaugeMetricFamily(
            "sabot_unit_attached_timestamp_seconds",
            "When a log last noted that it had a unit's shoe.",
            labels=["unit"],
        )
        for unit, newest in self._newest.items():
            numbers.add_metric([unit], newest)
            if unit in self._received_s:
                times.add_metric([unit], self._received_s[unit])
        shown = self._newest.keys() | flows.keys()
        ends = {unit: end / 1000 for unit, (end, _) in noted.items() if unit in shown}
        for unit, end_s in ends.items():
            attached.add_metric([unit], end_s)
        yield GaugeMetricFamily("sabot_units", "Units in the log.", len(self._newest))
        count = sum(
            0 <= now_s - end_s < _ATTACHED_S and not (unit in flows and flows[unit].stopped)
            for unit, end_s in ends.items()
        )
        yield GaugeMetricFamily(
            "sabot_shoes_attached", "Shoes that a log has now, and whose events come.", count
        )
        yield from (numbers, times, attached)
        yield from _of_flows([each for each in flows.values() if each.noted_unix_ms is None])
        never = GaugeMetricFamily(
            "sabot_shoe_never_came_seconds",
            "For how long a log has waited for a shoe that was never there.",
            labels=["port"],
        )
        for flow in flows.values():
            if flow.never_came(int(now_s * 1000)):
                never.add_metric([flow.unit], flow.waited_s)
        yield never

    def _of_server(self) -> Iterator[Metric]:
        """Of the server of a log in PostgreSQL."""
        if isinstance(self._store.place, Path):
            return
        # A log in a file needs no library for a server, which takes long to import.
        from sabot.log.postgres.reader import PostgresReader
        from sabot.log.postgres.server import server_figures

        assert isinstance(self._store, PostgresReader)
        with self._store.reading() as connection:
            found = server_figures(connection)
        yield GaugeMetricFamily("sabot_database_bytes", "Size of the log.", found.database_bytes)
        yield GaugeMetricFamily(
            "sabot_server_transaction_age",
            "Transactions since the oldest that is not frozen.",
            found.transaction_age,
        )
        if found.archives:
            yield GaugeMetricFamily(
                "sabot_server_archive_failing_seconds",
                "So long nothing was archived, since the archive last refused a piece.",
                found.failing_s,
            )
            yield GaugeMetricFamily(
                "sabot_server_archive_waiting_segments",
                "Full pieces of the write-ahead log that wait for the archive.",
                found.waiting or 0,
            )

    def _of_disk(self) -> Iterator[Metric]:
        """Of a log in a file, and of the disk that has it."""
        place = self._store.place
        if not isinstance(place, Path):
            return
        with suppress(OSError):
            wal = place.with_name(place.name + _WAL)
            size = place.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
            yield GaugeMetricFamily("sabot_database_bytes", "Size of the log.", size)
            disk = os.statvfs(place.parent)
            free, total = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
            yield GaugeMetricFamily("sabot_disk_free_bytes", "Room on the log's disk.", free)
            yield GaugeMetricFamily("sabot_disk_bytes", "Size of the log's disk.", total)


def _of_flows(flows: Iterable[Flow]) -> Iterator[Metric]:
    """How the events of shoes come."""
    newest = GaugeMetricFamily(
        "sabot_unit_shoe_newest_event",
        "Number of the newest event that a unit's shoe holds.",
        labels=["unit"],
    )
    held = GaugeMetricFamily(
        "sabot_unit_held_events", "Events that a shoe holds and the log lacks.", labels=["unit"]
    )
    seconds = GaugeMetricFamily(
        "sabot_unit_held_seconds",
        "For how long the events that a shoe holds have not become fewer; 0 if it holds none.",
        labels=["unit"],
    )
    damaged = CounterMetricFamily(
        "sabot_unit_damaged_frames",
        "Damaged frames since the log began, from the shoe and to it.",
        labels=["unit", "direction"],
    )
    for flow in flows:
        newest.add_metric([flow.unit], flow.newest_on_shoe)
        held.add_metric([flow.unit], flow.held)
        seconds.add_metric([flow.unit], flow.held_s)
        damaged.add_metric([flow.unit, "from_shoe"], flow.damaged_from_shoe)
        damaged.add_metric([flow.unit, "to_shoe"], flow.damaged_to_shoe)
    yield from (newest, held, seconds, damaged)
