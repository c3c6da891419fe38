"""How the feeds do."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

_FEED = ["feed"]


class FeedState(Protocol):
    """As `sabot.feeds.delivery.State`."""

    @property
    def delivered(self) -> int: ...
    @property
    def failures(self) -> int: ...
    @property
    def waiting_units(self) -> int: ...
    @property
    def refused_units(self) -> int: ...
    @property
    def failing_since_s(self) -> float | None: ...
    @property
    def delivered_s(self) -> float | None: ...
    @property
    def stopped(self) -> bool: ...


class FeedMetrics:
    """The metrics of all feeds; `states` gives each feed's name and how it does."""

    def __init__(self, states: Callable[[], Iterable[tuple[str, FeedState]]]) -> None:
        self._states = states

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        delivered = CounterMetricFamily(
            "sabot_feed_delivered", "Messages that the receiver acknowledged.", labels=_FEED
        )
        failures = CounterMetricFamily(
            "sabot_feed_failures", "Tries that failed or were refused.", labels=_FEED
        )
        waiting = GaugeMetricFamily(
            "sabot_feed_waiting_units", "Units with messages to send.", labels=_FEED
        )
        refused = GaugeMetricFamily(
            "sabot_feed_refused_units",
            "Units that wait because the receiver does not want a message.",
            labels=_FEED,
        )
        failing = GaugeMetricFamily(
            "sabot_feed_failing_since_timestamp_seconds",
            "Since when no message was delivered; 0 while the last try was good.",
            labels=_FEED,
        )
        last = GaugeMetricFamily(
            "sabot_feed_delivered_timestamp_seconds",
            "When the last message was delivered; 0 before the first.",
            labels=_FEED,
        )
        stopped = GaugeMetricFamily(
            "sabot_feed_stopped",
            "1 if nothing is sent any more until sabot feed is started again.",
            labels=_FEED,
        )
        for name, state in self._states():
            delivered.add_metric([name], state.delivered)
            failures.add_metric([name], state.failures)
            waiting.add_metric([name], state.waiting_units)
            refused.add_metric([name], state.refused_units)
            failing.add_metric([name], state.failing_since_s or 0)
            last.add_metric([name], state.delivered_s or 0)
            stopped.add_metric([name], state.stopped)
        yield from (delivered, failures, waiting, refused, failing, last, stopped)
