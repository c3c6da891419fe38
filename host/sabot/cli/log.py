"""`sabot ports` and `sabot log`: find shoes, and log them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from signal import SIGHUP, SIGTERM, default_int_handler, signal
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.interrupted import left_by
from sabot.cli.key_files import default_keys, load_command_keys
from sabot.cli.measured import Metrics, measured
from sabot.cli.view import console, print_json, problems
from sabot.errors import (
    Interrupted,
    LineDamaged,
    NoShoe,
    PortBusy,
    PortNotFound,
    ProtocolMismatch,
    SabotError,
)
from sabot.host_clock import is_synchronised
from sabot.link import log_socket, runtime
from sabot.link.client import Client
from sabot.link.log_socket import LoggedShoe
from sabot.link.ports import Port, PortInfo, attached, distinct, place_of
from sabot.link.session import Introduction
from sabot.log.logger import RETRIED, Logger, LogWatcher, PortLent
from sabot.log.readers import Readers
from sabot.log.rounds import Dealt
from sabot.log.store import Store, open_store
from sabot.reports.terminal.rounds import round_line
from sabot.terminal import name_text, plain
from sabot.text import counted
from sabot_protocol.messages import NO_GAME

if TYPE_CHECKING:
    from sabot.metrics.commit_metrics import CommitMetrics

_PROBE_S = 1.0
_WAIT_S = 0.2


def ports(as_json: options.Json = False) -> None:
    """List the attached shoes, simulated ones too, by USB serial number.

    Of a shoe that a running `sabot log` has, the log says what it is; then its state is `logged`.
    Shoes that a log reaches over the network come last.
    """
    infos = attached()
    shoes = [shoe for shoe in log_socket.logged() if shoe.welcome is not None]
    logged = {place_of(shoe.url): shoe for shoe in shoes}
    found = [_probe(info, logged) for info in infos]
    for place in sorted(logged.keys() - {place_of(info.port) for info in infos}):
        about: dict[str, Any] = {"serial": None, "port": place, "what": "by its log"}
        found.append(about | _logged(logged[place]))
    why = runtime.unusable()
    if why:
        problems.print(why)
    if as_json:
        for each in found:
            print_json(each)
        return
    if not found:
        problems.print("No shoe is attached. Plug one in, or start one with: sabot sim")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("serial", "port", "what", "unit", "firmware", "game", "state"):
        table.add_column(name)
    for each in found:
        table.add_row(*(name_text(str(value or "-")) for value in each.values()))
    console.print(table)


_NOT_SYNCHRONISED = (
    "the clock of this host is not synchronised with a time server, so the times of the shoes may "
    "be wrong: compare it with the clock of the recorder (`timedatectl` says more)"
)


def log(
    port: Annotated[list[str], typer.Argument(help=options.PORT_HELP)],
    db: options.Db = options.DEFAULT_DB,
    once: Annotated[
        bool, typer.Option("--once", help="End after one finished shoe of cards.")
    ] = False,
    commands: options.CommandKeyFile = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the screens too, as `sabot serve` does.")
    ] = False,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="With --serve: where to listen.")
    ] = "127.0.0.1:8700",
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --serve: the certificate, as PEM.")
    ] = None,
    private_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --serve: the certificate's key.")
    ] = None,
    metrics: Metrics = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a round, as soon as it has ended.")
    ] = False,
) -> None:
    """Log one or many shoes: every event is stored, then acknowledged. Ctrl-C ends it."""
    commits = _NoCommits() if metrics is None else _commit_metrics()
    unsaid = [_NOT_SYNCHRONISED] * (is_synchronised() is False)

    def attached_(port: str, client: Client) -> None:
        _print_attached(port, client)
        if unsaid:
            problems.print(unsaid.pop())

    watcher = LogWatcher(
        attached=attached_,
        lost=_print_lost,
        round_ended=_print_round_json if as_json else _print_round,
        warned=problems.print,
        committed=commits.committed,
    )
    keys = load_command_keys(commands)
    screens = _screens(listen, certificate, private_key) if serve else _no_screens
    with open_store(db, create=True) as store, screens(store), _metrics(metrics, store, commits):
        for kind, count in store.understood.items():
            was = f"{counted(count, 'event')} that an older version did not know"
            problems.print(plain(f"{db}: {was}: {kind}, and shown as such from now on"))
        port, others = distinct(port)
        for other, first in others.items():
            problems.print(plain(f"{other}: another name of the port {first}: logged once"))
        readers = Readers(port, report=problems.print)
        logger = Logger(store, port, watcher, once=once, keys=keys, readers=readers)
        interrupted = False
        with ctrl_c_and_term():
            try:
                _let_read(readers)
                logger.start()
                while not logger.wait(_WAIT_S):
                    pass
            except KeyboardInterrupt:
                interrupted = True
        logger.stop()
        logger.wait()
        readers.close()
    failures = list(logger.failures.values())
    for failure in failures[1:]:
        problems.print(f"sabot: {failure}")
    if failures:
        raise failures[0]
    if interrupted and once:
        raise Interrupted(f"interrupted: {db}: {left_by('log')}")
    if interrupted:
        problems.print(f"{db}: {left_by('log')}")


class _NoCommits:
    """Measures nothing."""

    def committed(self, records: int, took_s: float) -> None:
        """As CommitMetrics."""


def _commit_metrics() -> "CommitMetrics":
    from sabot.metrics.commit_metrics import CommitMetrics  # a log without starts sooner

    return CommitMetrics()


def _metrics(
    at: str | None, store: Store, commits: "CommitMetrics | _NoCommits"
) -> AbstractContextManager[None]:
    if isinstance(commits, _NoCommits):
        return nullcontext()
    from sabot.metrics.log_metrics import LogMetrics

    return measured(at, LogMetrics(store), commits)


def _no_screens(store: Store) -> AbstractContextManager[None]:
    return nullcontext()


def _screens(
    listen: str, chain: Path | None, private_key: Path | None
) -> Callable[[Store], AbstractContextManager[None]]:
    """How to serve the screens of a log. They are imported here: a log without them starts in half
    the time."""
    from sabot.cli.screens.serve import AtHand, serving, where

    address, tls = where(listen, chain, private_key, plain_http=False)
    at_hand = AtHand(options.zone_of(None), default_keys(None))

    @contextmanager
    def screens(store: Store) -> Iterator[None]:
        with serving(store, address, tls, at_hand) as server:
            problems.print(f"screens at {server.url}")
            yield

    return screens


def _let_read(readers: Readers) -> None:
    """Start the socket of the log; without one the log works all the same."""
    try:
        readers.start()
    except OSError as error:
        problems.print(f"no command can read through this log. {log_socket.unusable(error)}")


@contextmanager
def ctrl_c_and_term() -> Iterator[None]:
    """Make SIGTERM and SIGHUP (the terminal was closed) raise KeyboardInterrupt, as SIGINT does."""
    before = {each: signal(each, default_int_handler) for each in (SIGTERM, SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal(each, handler)


def _probe(info: PortInfo, logged: Mapping[str, LoggedShoe]) -> dict[str, Any]:
    found: dict[str, Any] = {"serial": info.serial, "port": info.port, "what": info.what}
    if (place := place_of(info.port)) in logged:
        return found | _logged(logged[place])
    try:
        with Port(info.port) as opened:
            welcome = Client(opened, _PROBE_S).welcome
    except SabotError as error:
        state = _STATES.get(type(error), "wrong answer")
        return found | {"unit": None, "firmware": None, "game": None, "state": state}
    return found | {
        "unit": welcome.unit,
        "firmware": welcome.firmware,
        "game": welcome.game,
        "state": _state_of(welcome),
    }


def _state_of(welcome: Introduction) -> str:
    if not welcome.challenge:
        return "to be provisioned"
    return "takes an update" if welcome.game == NO_GAME else "ready"


def _logged(shoe: LoggedShoe) -> dict[str, Any]:
    """What a running log knows of a shoe."""
    welcome = shoe.welcome
    assert welcome is not None
    about = {"unit": welcome.unit, "firmware": welcome.firmware, "game": welcome.game}
    return about | {"state": "events held" if shoe.line else "logged"}


_STATES: dict[type[SabotError], str] = {
    PortNotFound: "gone",
    PortBusy: "in use",
    NoShoe: "no answer",
    LineDamaged: "damaged frames",
    ProtocolMismatch: "other protocol version",
}


def _print_attached(port: str, client: Client) -> None:
    welcome = client.welcome
    at = "" if port == welcome.unit else f"{port}: "
    problems.print(
        f"{at}{welcome.unit} attached, firmware {welcome.firmware}, "
        f"game {welcome.game}, boot {welcome.boot}",
    )


def _print_lost(port: str, error: SabotError) -> None:
    retried = isinstance(error, RETRIED) and not isinstance(error, PortLent)
    again = "; trying again" if retried else ""
    problems.print(f"{error}{again}")


def _print_round(ended: Dealt) -> None:
    console.print(round_line(ended))


def _print_round_json(ended: Dealt) -> None:
    print_json(ended.as_json())
