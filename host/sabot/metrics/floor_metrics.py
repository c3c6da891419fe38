"""What the tables of a floor do, and which alerts are open."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from sabot.floor.live import Floor


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
        for kind, count in Counter(each.alert.kind for each in self._floor.alerts.open).items():
            alerts.add_metric([kind], count)
        yield from (tables, alerts)
