"""Serves metrics to Prometheus, at an address of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from prometheus_client import CollectorRegistry, disable_created_metrics, start_http_server
from prometheus_client.metrics_core import Metric

from sabot.errors import CannotServe
from sabot.listening import Address

DEFAULT_PORT = 8701


class Collector(Protocol):
    """Makes metrics when Prometheus asks. Called in a thread of the server, by several at once."""

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now."""
        ...


def registry_of(*collectors: Collector) -> CollectorRegistry:
    """A registry that has these collectors and nothing of its own."""
    # When a counter began is of no use to anyone.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry(auto_describe=False)
    for each in collectors:
        registry.register(each)
    return registry


@contextmanager
def serving(address: Address, *collectors: Collector) -> Iterator[str]:
    """Serve the metrics of `collectors` within the block. Yields the URL. Raises CannotServe."""
    try:
        server, thread = start_http_server(address.port, address.host, registry_of(*collectors))
    except OSError as error:
        raise CannotServe(
            f"{address}: cannot serve metrics there ({error.strerror}); name another one with "
            "--metrics"
        ) from None
    try:
        yield f"http://{Address(address.host, server.server_port)}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
