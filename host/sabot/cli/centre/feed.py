"""`sabot feed`: rounds, shoes of cards and incidents of a log, for other systems."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TextColumn

from sabot.cli import options
from sabot.cli.interrupted import left_by
from sabot.cli.log import ctrl_c_and_term
from sabot.cli.measured import Metrics, measured
from sabot.cli.view import problems, progress
from sabot.errors import FINDINGS, Interrupted
from sabot.feeds import config
from sabot.feeds.config import Config
from sabot.feeds.delivery import Delivery, State
from sabot.feeds.feeds import Feeds, check
from sabot.log.store import open_store
from sabot.metrics.feed_metrics import FeedMetrics
from sabot.metrics.log_metrics import LogMetrics
from sabot.terminal import plain

_WAIT_S = 0.2
_SHOWN_EVERY_S = 60.0

ConfigFile = Annotated[
    Path, typer.Option("--config", metavar="FEEDS.toml", help="The feeds; see docs/feeds.md.")
]


def feed(
    config_file: ConfigFile = Path("feeds.toml"),
    db: options.Db = options.DEFAULT_DB,
    once: Annotated[
        bool, typer.Option("--once", help="Deliver what is in the log now, then end.")
    ] = False,
    metrics: Metrics = None,
) -> None:
    """Send rounds, shoes of cards and incidents to other systems: to webhooks, NATS and MQTT.

    Cards that must not show yet are not sent. A message is sent again until its receiver has
    acknowledged it; its id lets the receiver drop repeats. Ctrl-C ends it.
    """
    found = config.read(config_file)
    check(found)
    with open_store(db) as store:
        feeds = Feeds(store, found, problems.print)
        try:
            with measured(metrics, LogMetrics(store), FeedMetrics(lambda: _states(feeds))):
                if once:
                    _deliver_all(feeds)
                    return
                with ctrl_c_and_term(), _pulled(found, feeds):
                    feeds.start()
                    _show(feeds)
        except KeyboardInterrupt:
            if once:
                raise Interrupted(f"interrupted: {db}: {left_by('feed')}") from None
            problems.print(plain(f"{db}: {left_by('feed')}"))
        finally:
            feeds.stop()


def _deliver_all(feeds: Feeds) -> None:
    is_done = feeds.deliver_all()
    feeds.stop()
    for each in feeds.deliveries:
        problems.print(f"{each.feed.name}: {each.summary()}")
    if not is_done:
        raise typer.Exit(FINDINGS)


def _states(feeds: Feeds) -> Iterator[tuple[str, State]]:
    return ((each.feed.name, each.state) for each in feeds.deliveries)


def _show(feeds: Feeds) -> None:
    """Show how each feed does, on a screen all the time, else now and then, until Ctrl-C."""
    bar = progress(TextColumn("{task.description}"))
    with bar:
        tasks = {each: bar.add_task("", total=None) for each in feeds.deliveries}
        shown_s, said = time.monotonic(), dict[Delivery, str]()
        while True:
            for each, task in tasks.items():
                bar.update(task, description=f"{each.feed.name}: {each.summary()}")
            if bar.disable and time.monotonic() - shown_s >= _SHOWN_EVERY_S:
                shown_s = time.monotonic()
                for each in feeds.deliveries:
                    if each.summary() != said.get(each):
                        said[each] = each.summary()
                        problems.print(f"{each.feed.name}: {said[each]}")
            time.sleep(_WAIT_S)


@contextmanager
def _pulled(found: Config, feeds: Feeds) -> Iterator[None]:
    """Answer those who ask for missing rounds, if the configuration says where."""
    if found.pull is None:
        yield
        return
    from sabot.feeds.pull import make_app
    from sabot.web.server import Server, certificate

    pull = found.pull
    tls = None if pull.certificate is None else certificate(pull.certificate, pull.private_key)
    app = make_app(feeds.feeds, feeds.context)
    server = Server(app, pull.listen, tls, problems.print)
    server.start()
    problems.print(f"missing rounds at {server.url}feeds/NAME/rounds")
    try:
        yield
    finally:
        server.stop()
