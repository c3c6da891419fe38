"""Serves metrics to Prometheus, at an address of their own."""

import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, disable_created_metrics, make_wsgi_app
from prometheus_client.metrics_core import Metric

from sabot import faults
from sabot.errors import CannotServe
from sabot.listening import Address

DEFAULT_PORT = 8701

_Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


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
def serving(
    address: Address, *collectors: Collector, report: Callable[[str], None]
) -> Iterator[str]:
    """Serve the metrics of `collectors` within the block. Yields the URL. Raises CannotServe.

    If a collector fails, Prometheus gets status 500, so that its `up` is 0, and `report` a line
    that says of which fault.
    """
    try:
        server = _Server(address, report)
    except OSError as error:
        raise CannotServe(
            f"{address}: cannot serve metrics there ({error.strerror}); name another one with "
            "--metrics"
        ) from None
    server.set_app(_answering(registry_of(*collectors), report))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{Address(address.host, server.server_port)}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answering(registry: CollectorRegistry, report: Callable[[str], None]) -> _Application:
    """The application of prometheus_client. wsgiref itself would print a traceback of a fault."""
    made: _Application = make_wsgi_app(registry)

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        try:
            return made(environ, start)
        except Exception as error:  # only this answer fails: the next may not
            report(f"metrics could not be answered: {faults.text_of(error)}")
            start("500 Internal Server Error", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"The program has said on its own terminal why there are no metrics.\n"]

    return answer


class _Server(ThreadingMixIn, WSGIServer):
    """Answers each request in a thread of its own. Raises OSError."""

    daemon_threads = True

    def __init__(self, address: Address, report: Callable[[str], None]) -> None:
        self._report = report
        self.address_family, *_, at = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        super().__init__((str(at[0]), address.port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away while it was answered is no fault; of others report a line."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self._report(f"metrics could not be answered: {faults.text_of(error)}")


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""
