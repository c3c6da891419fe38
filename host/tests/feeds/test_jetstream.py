"""Messages at a real NATS server: its own word is what counts as delivered."""

import dataclasses
from pathlib import Path

import pytest

from host.tests.feeds.conftest import made
from host.tests.support.brokers import NatsServer
from host.tests.support.certificates import Authority
from sabot.feeds.config import Feed
from sabot.feeds.message import WHAT
from sabot.feeds.senders.jetstream import JetStreamSender
from sabot.feeds.senders.sending import DELIVERED, Result

pytestmark = pytest.mark.slow


def _feed(server: NatsServer, **more: object) -> Feed:
    feed = Feed("n", "nats", server.address, frozenset(WHAT), None, None, None)
    return dataclasses.replace(feed, **more)  # type: ignore[arg-type]


def test_a_message_has_its_id_and_type_in_headers_and_its_unit_in_the_subject(
    nats_server: NatsServer,
) -> None:
    nats_server.make_stream()
    sender = JetStreamSender(_feed(nats_server))
    first, hostile = made("SHOE-7", 12), made("a.>*b \r\nNats-Msg-Id: x", 3)
    assert sender.deliver([first, hostile]) == [DELIVERED, DELIVERED]
    sender.close()
    (subject, headers, body), (other, of_other, _) = nats_server.messages()
    assert (subject, body) == ("sabot.rounds.SHOE-7", first.body)
    assert headers["Nats-Msg-Id"] == "SHOE-7/12"
    assert headers["Content-Type"] == "application/cloudevents+json"
    assert other == "sabot.rounds.a%2E%3E%2Ab%20%0D%0ANats-Msg-Id%3A%20x"
    assert of_other["Nats-Msg-Id"] == hostile.id and len(of_other) == 2


def test_a_message_that_comes_twice_is_stored_once(nats_server: NatsServer) -> None:
    nats_server.make_stream()
    for _ in range(3):
        sender = JetStreamSender(_feed(nats_server))
        assert sender.deliver([made("SHOE-7", 12)]) == [DELIVERED]
        sender.close()
    assert len(nats_server.messages()) == 1


def test_without_a_stream_nothing_counts_as_delivered(nats_server: NatsServer) -> None:
    sender = JetStreamSender(_feed(nats_server))
    (outcome,) = sender.deliver([made("SHOE-7", 12)])
    assert outcome.result is Result.FAILED and "stream" in outcome.why
    nats_server.make_stream()
    assert sender.deliver([made("SHOE-7", 12)]) == [DELIVERED]
    sender.close()


def test_a_full_stream_refuses_and_says_so(nats_server: NatsServer) -> None:
    nats_server.make_stream(max_msgs=1, discard="new")
    sender = JetStreamSender(_feed(nats_server))
    assert sender.deliver([made("SHOE-7", 1)]) == [DELIVERED]
    (outcome,) = sender.deliver([made("SHOE-7", 2)])
    assert outcome.result is Result.FAILED and "maximum messages" in outcome.why
    sender.close()


def test_a_server_that_was_killed_is_reached_again_and_has_all_in_order(
    nats_server: NatsServer,
) -> None:
    nats_server.make_stream()
    sender = JetStreamSender(_feed(nats_server))
    for number in range(1, 31):
        if number in (10, 20):
            nats_server.kill()
            (outcome,) = sender.deliver([made("SHOE-7", number)])
            assert outcome.result is Result.FAILED
            nats_server.start()
        assert sender.deliver([made("SHOE-7", number)]) == [DELIVERED]
    sender.close()
    ids = [headers["Nats-Msg-Id"] for _, headers, _ in nats_server.messages()]
    assert ids == [f"SHOE-7/{number}" for number in range(1, 31)]


def test_a_password_is_given_and_a_wrong_one_is_in_no_message(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "store").start("--user", "sabot", "--pass", "right-secret")
    try:
        sender = JetStreamSender(_feed(server, user="sabot", password="wrong-secret"))
        (outcome,) = sender.deliver([made("SHOE-7", 1)])
        assert outcome.result is Result.FAILED and "secret" not in outcome.why
        sender.close()
        sender = JetStreamSender(_feed(server, user="sabot", password="right-secret"))
        (outcome,) = sender.deliver([made("SHOE-7", 1)])
        assert "stream" in outcome.why
        sender.close()
    finally:
        server.kill()


def test_the_servers_certificate_is_checked(tmp_path: Path) -> None:
    house = Authority("house")
    ca, stranger = house.write(tmp_path / "ca.pem"), Authority("other").write(tmp_path / "other")
    pem = house.certify("127.0.0.1", tmp_path / "server.pem")
    server = NatsServer(tmp_path / "store")
    server.start("--tls", "--tlscert", str(pem), "--tlskey", str(pem))
    try:
        address = server.address.replace("nats:", "tls:")
        for trusted, said in ((ca, "stream"), (stranger, "certificate is not good")):
            sender = JetStreamSender(_feed(server, address=address, ca=trusted))
            (outcome,) = sender.deliver([made("SHOE-7", 1)])
            sender.close()
            assert outcome.result is Result.FAILED and said in outcome.why
    finally:
        server.kill()
