"""Serves the pages: a thread with an event loop, on a socket that is open before it starts."""

import asyncio
import logging
import resource
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from sabot import faults
from sabot.errors import CannotServe, KeysUnusable
from sabot.faults import internal_error
from sabot.files import check_no_pipe
from sabot.listening import Address
from sabot.web.connection import Connection
from sabot.web.feed import Feeds

DEFAULT_PORT = 8700
_BACKLOG = 512
_MOST_CONNECTIONS = 1000
_MOST_FILES = 4 * _MOST_CONNECTIONS
_MOST_HEADER_BYTES = 16 * 1024
_GRACE_S = 1
_UNSENT_MS = 30_000
"""A connection that takes nothing for so long is ended by the kernel."""


def certificate(chain: Path, private_key: Path | None) -> ssl.SSLContext:
    """What a server proves with that it is the one. Raises KeysUnusable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        for path in (chain, private_key or chain):
            check_no_pipe(path)
        context.load_cert_chain(chain, private_key)
    except FileNotFoundError:
        missing = chain if not chain.exists() else private_key
        raise KeysUnusable(f"{missing}: no such file; name another one") from None
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror or "not a certificate and its key"
        raise KeysUnusable(
            f"{chain}: the certificate cannot be used ({why}); name it with --certificate and its "
            "key with --private-key, both as PEM"
        ) from None
    return context


class Server:
    """Serves an application at an address from `start` to `stop`. `report` gets each line of what
    is said of a fault, by default nothing does. Raises CannotServe."""

    def __init__(
        self,
        app: Starlette,
        address: Address,
        tls: ssl.SSLContext | None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._socket = _listening(address)
        scheme = "http" if tls is None else "https"
        port = self._socket.getsockname()[1]
        self.url = f"{scheme}://{Address(address.host, port)}/"
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            limit_concurrency=_most_connections(),
            timeout_graceful_shutdown=_GRACE_S,
            h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )
        self._server = _Uvicorn(config)
        self._log = _Log(report)
        self._report = report
        self._app = app
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self.failure: BaseException | None = None
        """What ended the server, if nothing asked it to."""

    @property
    def feeds(self) -> Feeds:
        """The open feeds."""
        feeds: Feeds = self._app.state.feeds
        return feeds

    def start(self) -> None:
        """Begin to serve."""
        self._log.begin()
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it serves, or is about to."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End all feeds and connections, within a second or two."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self._log.end()

    def _run(self) -> None:
        try:
            asyncio.run(self._server.serve([self._socket]))
        except Exception as error:
            self.failure = internal_error(f"{self.url}: no longer served", error)
        except BaseException as error:  # asyncio ends a thread with these too
            self.failure = error
        if not self._server.should_exit and self.failure is not None:
            self._report(str(self.failure))


class _Uvicorn(uvicorn.Server):
    """Ends the feeds of pages first, if there are any: they would last until the grace is over."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        feeds = getattr(self.config.loaded_app.state, "feeds", None)
        if feeds is not None:
            feeds.close()
        await super().shutdown(sockets)


def _most_connections() -> int:
    """How many connections there may be, so that files are left to read and write the log with.
    Systems give a program 1,024 unless it asks for more."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < _MOST_FILES:
        files = min(_MOST_FILES, most) if most >= 0 else _MOST_FILES
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return _MOST_CONNECTIONS if files < 0 else min(_MOST_CONNECTIONS, files // 3)


class _Log(logging.Handler):
    """Reports the errors that uvicorn logs; of a fault a line that says where the details are. Its
    warnings are of requests that make no sense: anyone can send as many as they like."""

    def __init__(self, report: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._report = report
        self._logger = logging.getLogger("uvicorn.error")

    def begin(self) -> None:
        self._logger.propagate = False
        self._logger.addHandler(self)

    def end(self) -> None:
        self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._report(f"a page could not be answered: {faults.text_of(error)}")
            return
        for line in self.format(record).splitlines():
            self._report(line)


class _Listening(socket.socket):
    """Takes twice as many connections as there may be, at most: under TLS a connection counts only
    once its client has proven to speak it, and until then takes a file too."""

    def __init__(self, family: int, kind: int) -> None:
        super().__init__(family, kind)
        self._most = 2 * _most_connections()
        self._taken: list[socket.socket] = []

    def accept(self) -> tuple[socket.socket, Any]:
        """As any socket. Raises ConnectionAbortedError, after which a server goes on."""
        taken, address = super().accept()
        if len(self._taken) >= self._most:
            self._taken = [each for each in self._taken if each.fileno() >= 0]
        if len(self._taken) >= self._most:
            taken.close()
            raise ConnectionAbortedError
        self._taken.append(taken)
        return taken, address


def _listening(address: Address) -> socket.socket:
    """A socket that listens at an address. Raises CannotServe."""
    try:
        family, *_, at = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = _Listening(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise CannotServe(f"{address}: there is no such address; name another one") from None
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNSENT_MS)
        opened.bind(at)
        opened.listen(_BACKLOG)  # from here on who connects waits, and is not refused
    except OSError as error:
        opened.close()
        raise CannotServe(
            f"{address}: cannot listen there ({error.strerror}); name another address with --listen"
        ) from None
    return opened
