"""All feeds of a configuration over a log: what follows it, the outbox, a thread for each feed."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec

from sabot.errors import FeedsUnusable
from sabot.feeds.config import Config, Feed
from sabot.feeds.delivery import Delivery
from sabot.feeds.in_play import decided
from sabot.feeds.message import INCIDENTS
from sabot.feeds.outbox import Outbox
from sabot.feeds.pages import Pages
from sabot.feeds.producer import Producer
from sabot.feeds.senders.sending import Sender
from sabot.feeds.senders.transport import tls_of
from sabot.feeds.unit_messages import Context
from sabot.log.store import Store

_LIBRARY = {"nats": "nats", "mqtt": "paho"}
"""By kind: the module that it needs, which `sabot[feeds]` installs."""
_GIVEN_UP_S = 30.0
_GRACE_S = 2.0
_LOOK_S = 0.1


def check(config: Config) -> None:
    """Raise FeedsUnusable if a feed cannot be sent: a library is missing, or its certificates."""
    faults = []
    for feed in config.feeds:
        library = _LIBRARY.get(feed.kind)
        if library is not None and find_spec(library) is None:
            faults.append(
                f"feed {feed.name}, kind: is not installed; "
                "in the checkout: pip install --require-hashes -r .lock/feeds.txt"
            )
        if feed.ca is not None:
            try:
                tls_of(feed.ca)
            except FeedsUnusable as error:
                faults.append(f"feed {feed.name}, ca: {error}")
    if faults:
        raise FeedsUnusable(f"{config.path}: {'; '.join(faults)}")


def sender_of(feed: Feed) -> Sender:
    """What sends the messages of a feed. Its library is imported only here."""
    if feed.kind == "nats":
        from sabot.feeds.senders.jetstream import JetStreamSender

        return JetStreamSender(feed)
    if feed.kind == "mqtt":
        from sabot.feeds.senders.mqtt import MqttSender

        return MqttSender(feed)
    from sabot.feeds.senders.webhook import WebhookSender

    return WebhookSender(feed)


class Feeds:
    """The feeds of `config` over the log `store`, from `start` to `stop`. `report` gets a line for
    each thing that goes wrong, and when it is good again. Raises as `Outbox`."""

    def __init__(
        self,
        store: Store,
        config: Config,
        report: Callable[[str], None] = lambda _: None,
        sender: Callable[[Feed], Sender] = sender_of,
    ) -> None:
        self.context = Context(store)
        self._outbox = Outbox(config.outbox, report)
        self.feeds = decided(config, self._outbox, store, report)
        self._follower, self._lock = store.follower(), threading.Lock()
        self._stopping = threading.Event()
        with_incidents = any(INCIDENTS in feed.what for feed in config.feeds)
        self._producer = Producer(
            self.context,
            self._outbox,
            self._needed_from,
            self._notify,
            report,
            with_incidents=with_incidents,
        )
        self.deliveries: Sequence[Delivery] = [
            Delivery(
                feed,
                Pages(feed, self.context, self._outbox),
                self._outbox,
                lambda feed=feed: sender(feed),  # type: ignore[misc]
                lambda unit, feed=feed: self._start_of(feed, unit),  # type: ignore[misc]
                report,
            )
            for feed in self.feeds
        ]
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to follow the log and to deliver."""
        targets = [lambda: self._producer.run(self._stopping)]
        targets += [each.run for each in self.deliveries]
        self._threads = [threading.Thread(target=each, daemon=True) for each in targets]
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """Stop: messages that are being sent are waited for a moment, and what was acknowledged is
        kept."""
        self._stopping.set()
        for delivery in self.deliveries:
            delivery.stop()
        self._join(_GRACE_S)
        for delivery in self.deliveries:
            delivery.cancel()
        self._join(_GRACE_S)  # one that still waits for a connection ends with the program
        self._follower.close()
        self._outbox.close()

    def _join(self, within_s: float) -> None:
        end_s = time.monotonic() + within_s
        for thread in self._threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def __enter__(self) -> "Feeds":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def deliver_all(self, given_up_s: float = _GIVEN_UP_S) -> bool:
        """Deliver all that is in the log now, and return whether that succeeded. A feed that
        delivers nothing for `given_up_s` seconds is given up. Call it instead of `start`."""
        while self._producer.look():
            pass
        threads = [threading.Thread(target=each.run, daemon=True) for each in self.deliveries]
        self._threads = threads
        for thread in threads:
            thread.start()
        while not all(map(self._is_over, self.deliveries)):
            if any(self._is_given_up(each, given_up_s) for each in self.deliveries) and all(
                self._is_over(each) or self._is_given_up(each, given_up_s)
                for each in self.deliveries
            ):
                return False
            self._stopping.wait(_LOOK_S)
        self._producer.close()
        is_stopped = any(each.state.stopped for each in self.deliveries)
        return self._producer.is_well and not is_stopped

    @staticmethod
    def _is_over(delivery: Delivery) -> bool:
        return delivery.is_idle or delivery.state.stopped

    @staticmethod
    def _is_given_up(delivery: Delivery, given_up_s: float) -> bool:
        since_s = delivery.state.failing_since_s
        return since_s is not None and time.time() - since_s > given_up_s

    def _notify(self, units: Iterable[str]) -> None:
        for delivery in self.deliveries:
            delivery.notify(units)

    def _needed_from(self, unit: str) -> int:
        wanting = [each for each in self.deliveries if each.feed.wants_unit(unit)]
        return min((each.needed_from(unit) for each in wanting), default=1 << 62)

    def _start_of(self, feed: Feed, unit: str) -> int:
        if feed.since_unix_ms is None:
            return 0
        with self._lock:
            self._follower.poll()  # it may not know the unit yet
            return self._follower.received_before(unit, feed.since_unix_ms)
