"""`sabot serve`: the screens of a log, for browsers."""

import ssl
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.interrupted import left_by
from sabot.cli.key_files import default_keys, load_private_key
from sabot.cli.log import ctrl_c_and_term
from sabot.cli.measured import Metrics, measured
from sabot.cli.view import console, problems
from sabot.desk.desk import Desk
from sabot.errors import CannotServe
from sabot.floor.live import Floor
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.proof import Prover
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import PrivateKey
from sabot.listening import Address, address_of, is_this_machine
from sabot.log.store import Store, open_store
from sabot.notable.unit_alerts import AlertLimits
from sabot.order.chances import House
from sabot.order.logged import kept_up
from sabot.order.run_index import RunIndex
from sabot.terminal import plain
from sabot.web.app import make_app
from sabot.web.server import DEFAULT_PORT, Server, certificate
from sabot.web.services import Services

_WAIT_S = 0.2


@dataclass(frozen=True, slots=True)
class AtHand:
    """What the pages use besides the log."""

    zone: tzinfo
    """Of all times."""
    keys: Keys | None = None
    operator: PrivateKey | None = None
    captures: Path | None = None
    open_bundles: bool | None = None
    """Whether bundles of a shoe of cards in play are given out; None if the house has not said."""
    order: Path | None = None
    """The folder with the order of earlier shoes of cards; None: a temporary one."""
    false_alarms: float = 1.0
    """Of the order of cards, in a thousand table-years."""


Listen = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        help="Where to listen. Only programs on this machine reach the default.",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The server's certificate, as PEM: the pages come over TLS."),
]
CertificateKey = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The key of the certificate, unless it is in the same file."),
]
PlainHttp = Annotated[
    bool,
    typer.Option(
        "--plain-http",
        help="Serve other machines without TLS: everyone on the network can read along, and can "
        "take over sessions.",
    ),
]


Captures = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        exists=True,
        file_okay=False,
        help="The folder with captured passes, which a round's page shows.",
    ),
]
OperatorKey = Annotated[
    Path | None,
    typer.Option(
        "--operator-key",
        metavar="NAME.pem",
        help="The operator's private key, which signs the bundles that a round's page gives out.",
    ),
]
OpenBundles = Annotated[
    bool | None,
    typer.Option(
        "--open-bundles/--no-open-bundles",
        help="Whether a round's page gives out the bundle of a shoe of cards that is in play.",
        show_default=False,
    ),
]


Order = Annotated[
    Path | None,
    typer.Option(
        "--order",
        metavar="FOLDER",
        help="A folder of its own, in which the order of the log's shoes of cards is kept, so that "
        "the next start need not read it again.",
    ),
]


def serve(
    db: options.Db = options.DEFAULT_DB,
    listen: Listen = "127.0.0.1:8700",
    certificate: Certificate = None,
    private_key: CertificateKey = None,
    plain_http: PlainHttp = False,
    zone: options.Zone = None,
    keys: options.KeyFile = None,
    operator_key: OperatorKey = None,
    open_bundles: OpenBundles = None,
    captures: Captures = None,
    order: Order = None,
    false_alarms: options.FalseAlarms = 1.0,
    metrics: Metrics = None,
) -> None:
    """Show the tables of a log in a browser, as they are dealt. Ctrl-C ends it."""
    address, tls = where(listen, certificate, private_key, plain_http)
    at_hand = AtHand(
        options.zone_of(zone),
        default_keys(keys),
        None if operator_key is None else load_private_key(operator_key),
        captures,
        open_bundles,
        order,
        false_alarms,
    )
    try:
        with (
            open_store(db) as store,
            ctrl_c_and_term(),
            serving(store, address, tls, at_hand, metrics) as server,
        ):
            console.print(server.url, soft_wrap=True)
            while server.running:
                time.sleep(_WAIT_S)
    except KeyboardInterrupt:  # also right after the address was printed
        problems.print(plain(f"{db}: {left_by('serve')}"))
        return
    raise server.failure or CannotServe(f"{address}: the server has stopped; start it again")


def where(
    listen: str, chain: Path | None, private_key: Path | None, plain_http: bool
) -> tuple[Address, ssl.SSLContext | None]:
    """Where to listen, and with what certificate. Raises what wrong usage does, and KeysUnusable
    if the certificate cannot be used."""
    try:
        address = address_of(listen, DEFAULT_PORT)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--listen") from None
    if chain is None and private_key is not None:
        raise typer.BadParameter("--private-key is the key of a --certificate; name that too")
    if chain is not None:
        return address, certificate(chain, private_key)
    if not plain_http and not is_this_machine(address.host):
        raise typer.BadParameter(
            f"{address.host} can be reached by other machines, and without TLS everyone on the "
            "network reads along; name a --certificate, or say --plain-http",
            param_hint="--listen",
        )
    return address, None


@contextmanager
def serving(
    store: Store,
    address: Address,
    tls: ssl.SSLContext | None,
    at_hand: AtHand,
    metrics: str | None = None,
) -> Iterator[Server]:
    """Serve the screens of a log, and its metrics at the address of --metrics. Raises DeskMissing,
    CannotServe."""
    store.convert()
    with kept_up(store, at_hand.order, problems.print) as shoes:
        with _serving(store, address, tls, at_hand, metrics, shoes) as server:
            yield server


@contextmanager
def _serving(
    store: Store,
    address: Address,
    tls: ssl.SSLContext | None,
    at_hand: AtHand,
    metrics: str | None,
    shoes: RunIndex,
) -> Iterator[Server]:
    desk = Desk(store)
    limits = AlertLimits(order=House(at_hand.false_alarms))
    floor, index = Floor(store, desk, limits=limits, shoes=shoes), RoundIndex(store)
    services = Services(
        store, floor, desk, index, at_hand.zone, at_hand.keys, at_hand.operator,
        _open_bundles(at_hand, desk), at_hand.captures, Prover(at_hand.keys),
    )  # fmt: skip
    server = Server(make_app(services), address, tls, problems.print)
    with floor, index, _metrics(metrics, store, floor):
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _open_bundles(at_hand: AtHand, desk: Desk) -> bool:
    """Whether bundles of a shoe of cards in play are given out. A house that has given out bundles,
    and has not chosen, goes on as it did, and a line says so."""
    if at_hand.operator is None or at_hand.open_bundles is not None:
        return bool(at_hand.open_bundles)
    goes_on = any(note.kind == "exported" for note in desk.notes())
    if goes_on:
        problems.print(
            "bundles of a shoe of cards in play are given out, as before, with all its cards so "
            "far; say whether they shall: --no-open-bundles, or --open-bundles"
        )
    return goes_on


def _metrics(at: str | None, store: Store, floor: Floor) -> AbstractContextManager[None]:
    if at is None:
        return nullcontext()
    from sabot.metrics.floor_metrics import FloorMetrics  # screens without start sooner
    from sabot.metrics.log_metrics import LogMetrics

    return measured(at, LogMetrics(store), FloorMetrics(floor))
