"""What the tests of feeds share: a log, messages, brokers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from host.tests.support.brokers import MqttBroker, NatsServer
from sabot.feeds.message import Message, Position, message_of


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server with an empty JetStream."""
    server = NatsServer(tmp_path / "jetstream").start()
    yield server
    server.kill()


@pytest.fixture
def mqtt_broker(tmp_path: Path) -> Iterator[MqttBroker]:
    """An MQTT broker."""
    broker = MqttBroker(tmp_path).start()
    yield broker
    broker.kill()


def made(unit: str, number: int, place: int = 0) -> Message:
    """A message of a round."""
    data = {"unit": unit, "table": "T", "shoe": 1, "round": number}
    return message_of("sabot.round.ended", Position(number, place), number, 0, data)
