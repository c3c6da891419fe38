"""Messages at real web servers that take them, fail, hang, drip, flood, redirect or close.

Two libraries that are not ours read what comes: `standardwebhooks` the signatures, `cloudevents`
the messages.
"""

import base64
import dataclasses
import ssl
from email.utils import formatdate
from pathlib import Path

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from standardwebhooks import Webhook, WebhookVerificationError

from host.tests.feeds.conftest import made
from host.tests.support.certificates import Authority
from host.tests.support.webhook_receiver import (
    SECRET,
    Answer,
    Got,
    Handler,
    Receiver,
    drip,
    flood,
    half,
    hang,
    heads,
    not_yet,
    receiving,
)
from sabot.feeds.config import Feed
from sabot.feeds.message import WHAT
from sabot.feeds.senders import webhook
from sabot.feeds.senders.sending import DELIVERED, Outcome, Result
from sabot.feeds.senders.webhook import WebhookSender

_OTHER = b"another secret, for a rotation.."


def _feed(receiver: Receiver, **more: object) -> Feed:
    feed = Feed("w", "webhook", receiver.address, frozenset(WHAT), None, None, None, (SECRET,))
    return dataclasses.replace(feed, **more)  # type: ignore[arg-type]


def _tried(receiver: Receiver, **more: object) -> Outcome:
    sender = WebhookSender(_feed(receiver, **more))
    try:
        (outcome,) = sender.deliver([made("SHOE-7", 12)])
        return outcome
    finally:
        sender.close()


def _library(key: bytes) -> Webhook:
    return Webhook(f"whsec_{base64.b64encode(key).decode()}")


def test_other_libraries_read_the_message_and_its_signature() -> None:
    with receiving() as receiver:
        assert _tried(receiver) == DELIVERED
    (got,) = receiver.got
    assert got.path == "/hook?from=sabot"
    _library(SECRET).verify(got.body, got.headers)
    event = from_structured(HTTPMessage(got.headers, got.body), JSONFormat(), CloudEvent)
    assert event.get_id() == got.headers["webhook-id"] == "SHOE-7/12"
    assert event.get_source() == "urn:sabot:unit:SHOE-7"
    assert event.get_type() == "sabot.round.ended"
    data = event.get_data()
    assert isinstance(data, dict) and data["round"] == 12


def test_a_message_has_its_own_headers_and_no_others() -> None:
    with receiving() as receiver:
        assert _tried(receiver) == DELIVERED
    (got,) = receiver.got
    assert {name.lower() for name in got.headers} == {
        "host", "user-agent", "content-type", "content-length", "webhook-id", "webhook-timestamp",
        "webhook-signature", "sabot-delivery",
    }  # fmt: skip


def test_no_proxy_of_the_environment_gets_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        assert _tried(receiver) == DELIVERED
    assert not proxy.got and len(receiver.got) == 1


def test_while_secrets_change_each_of_them_verifies_and_no_other() -> None:
    with receiving() as receiver:
        assert _tried(receiver, secrets=(_OTHER, SECRET)) == DELIVERED
    (got,) = receiver.got
    for key in (_OTHER, SECRET):
        _library(key).verify(got.body, got.headers)
    with pytest.raises(WebhookVerificationError):
        _library(b"x" * 32).verify(got.body, got.headers)
    with pytest.raises(WebhookVerificationError):
        _library(SECRET).verify(got.body.replace(b"12", b"13"), got.headers)


def test_the_same_message_has_the_same_id_and_each_try_one_of_its_own() -> None:
    with receiving() as receiver:
        assert _tried(receiver) == _tried(receiver) == DELIVERED
    first, second = receiver.got
    assert (first.id, first.body) == (second.id, second.body)
    assert first.headers["sabot-delivery"] != second.headers["sabot-delivery"]


def test_no_name_of_a_unit_writes_into_headers() -> None:
    with receiving() as receiver:
        sender = WebhookSender(_feed(receiver))
        for unit in ("a\r\nx-evil: 1", "ü", "a b", "a.b", "\ud800"[:0] + "'\"\\"):
            assert sender.deliver([made(unit, 1)]) == [DELIVERED]
        sender.close()
    for got in receiver.got:
        assert "x-evil" not in got.headers
        assert "." not in got.headers["webhook-id"]  # it would part the signed text
        _library(SECRET).verify(got.body, got.headers)


def _say(code: int, **headers: str) -> Answer:
    return lambda handler, _: handler.say(code, **headers)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (200, Result.DELIVERED),
        (202, Result.DELIVERED),
        (301, Result.REFUSED),
        (307, Result.REFUSED),
        (400, Result.REFUSED),
        (401, Result.REFUSED),
        (404, Result.REFUSED),
        (408, Result.FAILED),
        (410, Result.GONE),
        (429, Result.FAILED),
        (500, Result.FAILED),
        (503, Result.FAILED),
    ],
)
def test_each_answer_is_understood(code: int, result: Result) -> None:
    with receiving(_say(code)) as receiver:
        assert _tried(receiver).result is result
    assert len(receiver.got) == 1


def test_a_redirect_is_not_followed() -> None:
    with receiving() as other, receiving(_say(308, location=other.address)) as receiver:
        outcome = _tried(receiver)
    assert outcome.result is Result.REFUSED and "redirect" in outcome.why
    assert not other.got


@pytest.mark.parametrize(
    ("said", "wait_s"),
    [
        ("120", 120), ("0", 0), (formatdate(1_900_000_060, usegmt=True), 60), ("soon", 0),
        ("-5", 0), (formatdate(1_800_000_000, usegmt=True), 0), ("9" * 30, 0),
    ],
)  # fmt: skip
def test_a_receiver_says_when_to_come_back(said: str, wait_s: float) -> None:
    with receiving(_say(429, retry_after=said)) as receiver:
        sender = WebhookSender(_feed(receiver), lambda: 1_900_000_000)
        (outcome,) = sender.deliver([made("SHOE-7", 1)])
        sender.close()
    assert outcome.wait_s == wait_s


@pytest.mark.slow
@pytest.mark.parametrize("answer", [hang, drip, flood, heads, not_yet])
def test_a_receiver_that_never_ends_costs_a_bounded_time_and_no_memory(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "_WITHIN_S", 0.3)
    with receiving(answer) as receiver:
        outcome = _tried(receiver)
    assert outcome.result is Result.FAILED


def test_one_unit_that_hangs_does_not_take_the_others_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "_WITHIN_S", 3.0)

    def answer(handler: Handler, got: Got) -> None:
        if got.id.startswith("SHOE-3/"):
            hang(handler, got)
        else:
            handler.take(got)

    with receiving(answer) as receiver:
        sender = WebhookSender(_feed(receiver))
        outcomes = sender.deliver([made(f"SHOE-{unit}", 1) for unit in range(8)])
        sender.close()
    assert [each.result for each in outcomes].count(Result.DELIVERED) == 7
    assert outcomes[3].result is Result.FAILED


def test_a_connection_is_used_again_and_one_that_was_closed_meanwhile_is_no_failure() -> None:
    with receiving() as receiver:
        sender = WebhookSender(_feed(receiver))
        for number in range(1, 6):
            assert sender.deliver([made("SHOE-7", number)]) == [DELIVERED]
        assert receiver.connections == 1
        receiver.answer = lambda handler, got: (handler.take(got), handler.drop())[0]
        for number in range(6, 9):
            assert sender.deliver([made("SHOE-7", number)]) == [DELIVERED]
        sender.close()
    assert receiver.ids == [f"SHOE-7/{number}" for number in range(1, 9)]


def test_after_tries_that_were_broken_off_the_next_ones_are_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "_WITHIN_S", 0.3)
    with receiving() as receiver:
        sender = WebhookSender(_feed(receiver))
        messages = [made(f"SHOE-{unit}", 1) for unit in range(sender.width)]
        for answer in (hang, flood, drip):
            receiver.answer = answer
            assert {each.result for each in sender.deliver(messages)} == {Result.FAILED}
        monkeypatch.setattr(webhook, "_WITHIN_S", 10.0)
        receiver.answer = lambda handler, got: handler.take(got)
        assert sender.deliver(messages) == [DELIVERED] * sender.width
        sender.close()


def test_a_new_connection_that_breaks_is_not_tried_a_second_time_at_once() -> None:
    for answer in (lambda handler, _: handler.drop(), half):
        with receiving(answer) as receiver:
            assert _tried(receiver).result is Result.FAILED
        assert receiver.connections == len(receiver.got) == 1


def test_a_connection_closed_without_an_answer_and_a_port_without_a_server_fail() -> None:
    with receiving(lambda handler, _: handler.drop()) as receiver:
        assert _tried(receiver).result is Result.FAILED
    outcome = _tried(receiver)
    assert outcome.result is Result.FAILED and "refused" in outcome.why


@pytest.mark.slow
def test_the_receivers_certificate_is_checked_by_its_name_and_who_signed_it(
    tmp_path: Path,
) -> None:
    house, stranger = Authority("house"), Authority("stranger")
    ca = house.write(tmp_path / "ca.pem")
    for authority, name, good in (
        (house, "127.0.0.1", True), (house, "192.0.2.1", False), (stranger, "127.0.0.1", False),
    ):  # fmt: skip
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(authority.certify(name, tmp_path / "server.pem"))
        with receiving(tls=tls) as receiver:
            address = receiver.address.replace("http:", "https:")
            outcome = _tried(receiver, address=address, ca=ca)
        assert (outcome == DELIVERED) is good, outcome
        if not good:
            assert "certificate is not good" in outcome.why and not receiver.got
