"""Messages at a real MQTT 5 broker: its PUBACK is what counts as delivered."""

import dataclasses
import ssl
from pathlib import Path

import pytest

from host.tests.feeds.conftest import made
from host.tests.support.brokers import MqttBroker, until
from host.tests.support.certificates import Authority
from host.tests.support.webhook_receiver import receiving
from sabot.feeds.config import Feed
from sabot.feeds.message import WHAT
from sabot.feeds.senders.mqtt import MqttSender
from sabot.feeds.senders.sending import DELIVERED, Result

pytestmark = pytest.mark.slow


def _feed(broker: MqttBroker, **more: object) -> Feed:
    feed = Feed("m", "mqtt", broker.address, frozenset(WHAT), None, None, None)
    return dataclasses.replace(feed, **more)  # type: ignore[arg-type]


def test_a_message_has_its_id_as_a_user_property_and_its_unit_in_the_topic(
    mqtt_broker: MqttBroker,
) -> None:
    sender = MqttSender(_feed(mqtt_broker, prefix="house/1"))
    first, hostile = made("SHOE-7", 12), made("a/+#\0b", 3)
    with mqtt_broker.subscribed("house/#") as came:
        assert sender.deliver([first, hostile]) == [DELIVERED, DELIVERED]
        until(lambda: len(came) == 2)
    sender.close()
    assert (came[0].topic, came[0].payload, came[0].qos) == (
        "house/1/rounds/SHOE-7", first.body, 1,
    )  # fmt: skip
    assert not came[0].retain
    assert came[0].properties.UserProperty == [("id", "SHOE-7/12")]
    assert came[0].properties.ContentType == "application/cloudevents+json"
    assert came[1].topic == "house/1/rounds/a%2F%2B%23%00b"


def test_many_units_at_once_are_acknowledged_each(mqtt_broker: MqttBroker) -> None:
    sender = MqttSender(_feed(mqtt_broker))
    with mqtt_broker.subscribed() as came:
        for number in range(1, 21):
            batch = [made(f"SHOE-{unit}", number) for unit in range(sender.width)]
            assert sender.deliver(batch) == [DELIVERED] * len(batch)
        until(lambda: len(came) == 20 * sender.width)
    sender.close()
    of_unit = [each.payload for each in came if each.topic.endswith("SHOE-3")]
    assert of_unit == [made("SHOE-3", number).body for number in range(1, 21)]


def test_a_broker_that_was_ended_is_reached_again(mqtt_broker: MqttBroker) -> None:
    sender = MqttSender(_feed(mqtt_broker))
    assert sender.deliver([made("SHOE-7", 1)]) == [DELIVERED]
    mqtt_broker.kill()
    for number in (2, 2):
        (outcome,) = sender.deliver([made("SHOE-7", number)])
        assert outcome.result is Result.FAILED, outcome
    mqtt_broker.start()
    with mqtt_broker.subscribed() as came:
        assert sender.deliver([made("SHOE-7", 2)]) == [DELIVERED]
        until(lambda: came)
    sender.close()
    assert [each.payload for each in came] == [made("SHOE-7", 2).body]


def test_a_wrong_password_is_refused_and_in_no_message(tmp_path: Path) -> None:
    broker = MqttBroker(tmp_path, {"sabot": "right-secret"}).start()
    try:
        wrong = MqttSender(_feed(broker, user="sabot", password="wrong-secret"))
        (outcome,) = wrong.deliver([made("SHOE-7", 1)])
        assert outcome.result is Result.FAILED and "secret" not in outcome.why
        wrong.close()
        right = MqttSender(_feed(broker, user="sabot", password="right-secret"))
        assert right.deliver([made("SHOE-7", 1)]) == [DELIVERED]
        right.close()
    finally:
        broker.kill()


def test_a_broker_whose_certificate_is_not_good_gets_nothing(tmp_path: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Authority("other").certify("127.0.0.1", tmp_path / "server.pem"))
    ca = Authority("house").write(tmp_path / "ca.pem")
    with receiving(tls=tls) as there:  # whatever speaks TLS
        feed = Feed("m", "mqtt", f"mqtts://127.0.0.1:{there.port}", frozenset(WHAT), None, None,
                    None, ca=ca)  # fmt: skip
        sender = MqttSender(feed)
        (outcome,) = sender.deliver([made("SHOE-7", 1)])
        sender.close()
    assert outcome.result is Result.FAILED and "certificate is not good" in outcome.why
