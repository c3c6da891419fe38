"""Publishes messages to an MQTT 5 broker with QoS 1, and waits for its PUBACK of each."""

import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from sabot.feeds.config import Feed
from sabot.feeds.message import CONTENT_TYPE, Message
from sabot.feeds.naming import token
from sabot.feeds.senders.sending import CANCELLED, DELIVERED, Outcome, Result
from sabot.feeds.senders.transport import tls_of, why_not_reached
from sabot.log.boards import unit_of

_WIDTH = 16
_WITHIN_S = 10.0
_KEEPALIVE_S = 30
_REFUSING = ("Not authorized", "Topic Name invalid", "Payload format invalid")
"""Reasons of a PUBACK that are about this message; others are about the broker."""


class MqttSender:
    """Publishes the messages of one feed, each to PREFIX/WHAT/UNIT. A lost connection is not taken
    up again: the next one sends what was not acknowledged."""

    width = _WIDTH

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._changed = threading.Condition()
        self._client: Client | None = None
        self._answered: ReasonCode | None = None
        self._lost = ""
        self._acked: dict[int, ReasonCode] = {}

    def deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        """As `Sender`."""
        until_s = time.monotonic() + _WITHIN_S
        try:
            client = self._connected(until_s)
            sent = [self._publish(client, each) for each in messages]
        except _NotConnected as error:
            self.close()
            return [Outcome(Result.FAILED, str(error))] * len(messages)
        except (OSError, ValueError) as error:
            self.close()
            return [Outcome(Result.FAILED, why_not_reached(error))] * len(messages)
        with self._changed:
            self._wait(lambda: all(each in self._acked for each in sent), until_s)
            outcomes = [self._outcome(each) for each in sent]
            self._acked.clear()
        if any(each is None for each in outcomes):
            self.close()
        why = self._lost or f"no acknowledgement within {_WITHIN_S:.0f} s"
        return [each or Outcome(Result.FAILED, why) for each in outcomes]

    def cancel(self) -> None:
        """As `Sender`."""
        with self._changed:
            self._lost = CANCELLED.why
            self._changed.notify_all()

    def close(self) -> None:
        """As `Sender`."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(OSError, ValueError):
                client.disconnect()
            client.loop_stop()

    def topic(self, message: Message) -> str:
        """Where a message is published."""
        return f"{self._feed.prefix}/{message.what}/{token(unit_of(message.unit))}"

    def _connected(self, until_s: float) -> Client:
        if self._client is not None and not self._lost:
            return self._client
        self.close()
        self._answered, self._lost = None, ""
        self._client = client = self._made()
        parts = urlsplit(self._feed.address)
        port = parts.port or (8883 if parts.scheme == "mqtts" else 1883)
        client.connect(parts.hostname or "", port, _KEEPALIVE_S, clean_start=True)
        client.loop_start()
        with self._changed:
            self._wait(lambda: self._answered is not None, until_s)
            if self._answered is None:
                raise _NotConnected(self._lost or "the broker does not answer")
            if self._answered.is_failure:
                raise _NotConnected(f"the broker refuses the connection: {self._answered}")
        return client

    def _made(self) -> Client:
        feed = self._feed
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"sabot-{feed.name}-{secrets.token_hex(4)}",
            protocol=MQTTv5,
            reconnect_on_failure=False,
        )
        client.connect_timeout = _WITHIN_S
        client.max_inflight_messages_set(_WIDTH)
        if feed.user is not None:
            client.username_pw_set(feed.user, feed.password)
        if feed.address.startswith("mqtts:"):
            client.tls_set_context(tls_of(feed.ca))
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        return client

    def _publish(self, client: Client, message: Message) -> int:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ContentType = CONTENT_TYPE
        properties.UserProperty = [("id", message.id)]
        info = client.publish(self.topic(message), message.body, qos=1, properties=properties)
        if info.rc is not MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise _NotConnected(self._lost or "the connection is lost")
        return info.mid

    def _outcome(self, mid: int) -> Outcome | None:
        """What came of a message; None if the broker has not said it."""
        reason = self._acked.get(mid)
        if reason is None:
            return None
        if not reason.is_failure:
            return DELIVERED
        result = Result.REFUSED if str(reason) in _REFUSING else Result.FAILED
        return Outcome(result, f"the broker answers: {reason}")

    def _wait(self, is_true: Any, until_s: float) -> None:
        self._changed.wait_for(
            lambda: bool(self._lost) or is_true(), max(0.0, until_s - time.monotonic())
        )

    # ---- from paho's thread

    def _on_connect(
        self, _: Client, __: Any, flags: ConnectFlags, reason: ReasonCode, properties: Any
    ) -> None:
        with self._changed:
            self._answered = reason
            self._changed.notify_all()

    def _on_disconnect(
        self, _: Client, __: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Any
    ) -> None:
        with self._changed:
            self._lost = f"the connection is lost ({reason})"
            self._changed.notify_all()

    def _on_publish(
        self, _: Client, __: Any, mid: int, reason: ReasonCode, properties: Any
    ) -> None:
        with self._changed:
            self._acked[mid] = reason
            self._changed.notify_all()


class _NotConnected(Exception):
    """There is no connection to the broker; the text says why."""
