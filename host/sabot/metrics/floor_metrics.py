"""What the tables of a floor do, and which alerts are open."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from sabot.floor.live import Floor
from sabot.notable.kinds import KINDS, Severity

_RAISED = [kind.name for kind in KINDS.values() if kind.severity is Severity.ALERT]
"""Kinds of alerts: each is there from the first moment on, so that one more can be seen."""


class FloorMetrics:
    """The metrics of a floor."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def collect(self) -> Iterator[Metric]:
        """As `serving.Collector`."""
        tables = GaugeMetricFamily("sabot_tables", "Tables, by what they do.", labels=["state"])
        for state, count in Counter(tile.table.state for tile in self._floor.tiles()).items():
            tables.add_metric([state], count)
        alerts = GaugeMetricFamily(
            "sabot_alerts_open", "Alerts that no one has acknowledged.", labels=["kind"]
        )
        open_now = Counter(each.alert.kind for each in self._floor.alerts.open)
        for kind in (*_RAISED, *sorted(open_now.keys() - {*_RAISED})):
            alerts.add_metric([kind], open_now[kind])
        looked = GaugeMetricFamily(
            "sabot_picture_age_seconds",
            "How long ago the log was last looked at, and all of it shown.",
            self._floor.look_ago_s,
        )
        yield from (tables, alerts, looked)
