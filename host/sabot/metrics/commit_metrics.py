"""How a log stores what shoes send."""

from collections.abc import Iterator

from prometheus_client import Counter, Histogram
from prometheus_client.metrics_core import Metric

_COMMIT_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class CommitMetrics:
    """The metrics of a log's transactions. Thread-safe."""

    def __init__(self) -> None:
        self._seconds = Histogram(
            "sabot_commit_seconds",
            "How long a transaction took, until its events were durable.",
            buckets=_COMMIT_SECONDS,
            registry=None,
        )
        self._records = Counter("sabot_records_stored", "Events that were stored.", registry=None)

    def committed(self, records: int, took_s: float) -> None:
        """A transaction with so many events is durable."""
        self._seconds.observe(took_s)
        self._records.inc(records)

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        yield from self._seconds.collect()
        yield from self._records.collect()
