"""What a forwarder has sent, what waits, and what is receipted; and what a notary has signed."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from prometheus_client import Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from sabot.centre import alarms
from sabot.centre.progress import Progress
from sabot.errors import SabotError
from sabot.log.store import Store
from sabot.receipts import kept

_BATCH_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

_KINDS = (
    alarms.OTHER_BYTES,
    alarms.SET_BACK,
    alarms.NOT_REFILLED,
    alarms.SITE_LACKS,
    alarms.NOT_SENT,
    alarms.OTHER_SEAM,
    alarms.BAD_RECEIPT,
    alarms.HOLE,
    alarms.CHAIN,
)


class Receipts:
    """The newest receipt of each unit. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[str, tuple[int, int]] = {}
        self._count = 0

    def know(self, store: Store) -> None:
        """Begin with the receipts that a log has."""
        for unit in store.units():
            receipt = kept.last_receipt(store, unit)
            if receipt is not None:
                with self._lock:
                    self._newest[unit] = receipt.number, receipt.unix_ms

    def awaited(self, units: Iterable[str], now_unix_ms: int) -> None:
        """The centre has events of these units. One that never had a receipt has had none since
        now: without a figure no rule could say that it lacks one."""
        with self._lock:
            for unit in units:
                self._newest.setdefault(unit, (0, now_unix_ms))

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        """A receipt up to event `number` of `unit` has come, or was signed, at this time."""
        with self._lock:
            self._newest[unit] = number, unix_ms
            self._count += 1

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        with self._lock:
            newest, count = dict(self._newest), self._count
        yield CounterMetricFamily("sabot_receipts", "Receipts that came or were signed.", count)
        numbers = GaugeMetricFamily(
            "sabot_receipt_event", "The event up to which a receipt covers a unit.", labels=["unit"]
        )
        times = GaugeMetricFamily(
            "sabot_receipt_timestamp_seconds",
            "When the newest receipt of a unit was signed.",
            labels=["unit"],
        )
        for unit, (number, unix_ms) in newest.items():
            numbers.add_metric([unit], number)
            times.add_metric([unit], unix_ms / 1000)
        yield numbers
        yield times


class Alarms:
    """How many alarms were raised by this program, and how many at the centre are open, by kind.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(_KINDS, 0)
        self._open = dict.fromkeys(_KINDS, 0)

    def open_now(self, by_kind: Mapping[str, int]) -> None:
        """So many alarms no one has acknowledged."""
        with self._lock:
            self._open = {**dict.fromkeys(_KINDS, 0), **by_kind}

    def alarm(self, kind: str) -> None:
        """An alarm of this kind was raised; it is open until the centre says something else."""
        with self._lock:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._open[kind] = max(1, self._open.get(kind, 0))

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        with self._lock:
            counts, open_now = dict(self._counts), dict(self._open)
        found = CounterMetricFamily(
            "sabot_alarms", "Alarms that this program raised since its start.", labels=["kind"]
        )
        for kind, count in counts.items():
            found.add_metric([kind], count)
        yield found
        waiting = GaugeMetricFamily(
            "sabot_alarms_open", "Alarms that no one has acknowledged.", labels=["kind"]
        )
        for kind, count in open_now.items():
            waiting.add_metric([kind], count)
        yield waiting


class ForwardMetrics:
    """What a forwarder reports, from any thread."""

    def __init__(self) -> None:
        self.receipts, self.alarms = Receipts(), Alarms()
        self._lock = threading.Lock()
        self.progress: Progress | None = None
        """What waits; until it is given nothing is said of it."""
        self._connected = False
        self._records = 0
        self._seconds = Histogram(
            "sabot_forward_batch_seconds",
            "How long a batch took until the centre had committed it.",
            buckets=_BATCH_SECONDS,
            registry=None,
        )

    def connected(self, is_connected: bool) -> None:
        """The connection to the centre was made, or is lost."""
        with self._lock:
            self._connected = is_connected

    def batch(self, records: int, took_s: float) -> None:
        """The centre has committed a batch."""
        self._seconds.observe(took_s)
        with self._lock:
            self._records += records

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        with self._lock:
            connected, records = self._connected, self._records
        yield GaugeMetricFamily(
            "sabot_forward_connected", "1 while there is a connection to the centre.", connected
        )
        with suppress(SabotError):  # `sabot_log_readable` says so
            yield from self._of_progress()
        yield CounterMetricFamily(
            "sabot_forward_records", "Records that the centre has committed.", records
        )
        yield from self._seconds.collect()
        yield from self.receipts.collect()
        yield from self.alarms.collect()

    def _of_progress(self) -> Iterator[Metric]:
        """What waits at this moment: of the log as it is now, whatever the forwarder does."""
        if self.progress is None:
            return
        waiting = GaugeMetricFamily(
            "sabot_forward_backlog_events", "Events that the centre lacks.", labels=["unit"]
        )
        for unit, events in self.progress.waiting().items():
            waiting.add_metric([unit], events)
        yield waiting
        _, for_s = self.progress.stuck()
        yield GaugeMetricFamily(
            "sabot_forward_stuck_seconds", "So long events wait, and none has gone.", for_s
        )


class NotaryMetrics:
    """What a notary reports, from any thread."""

    def __init__(self) -> None:
        self.receipts, self.alarms = Receipts(), Alarms()
        self._seconds = Histogram(
            "sabot_notary_round_seconds",
            "How long a look at all units took, with the checks and receipts.",
            buckets=_BATCH_SECONDS,
            registry=None,
        )

    def looked(self, took_s: float) -> None:
        """All units were looked at once."""
        self._seconds.observe(took_s)

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        yield from self._seconds.collect()
        yield from self.receipts.collect()
        yield from self.alarms.collect()
