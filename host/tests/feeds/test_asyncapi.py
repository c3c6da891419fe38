"""docs/asyncapi.yaml is an AsyncAPI 3.0 document, and says what is sent.

Its form is read by a library that is not ours (`asyncapi3`), and by the rules of the specification
that it does not check. Messages of all kinds and families of games are held against its schemas
with `jsonschema`.
"""

import json
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # two names of that library
    from asyncapi3.models import AsyncAPI3

from host.tests.feeds.conftest import made
from host.tests.feeds.test_unit_messages import all_messages, busy_log
from host.tests.support.asyncapi import DOCUMENT, check_headers, check_message
from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import new_log, stored
from host.tests.support.webhook_receiver import SECRET, receiving
from sabot.feeds.config import KINDS, Feed
from sabot.feeds.message import _WHAT_OF, WHAT
from sabot.feeds.senders.webhook import WebhookSender
from sabot.log.store import open_store


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "$ref":
                yield each
            else:
                yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _at(pointer: str) -> Any:
    assert pointer.startswith("#/"), "nothing outside of the document"
    found: Any = DOCUMENT
    for part in pointer[2:].split("/"):
        found = found[part]
    return found


def test_it_is_an_asyncapi_document() -> None:
    AsyncAPI3.model_validate(DOCUMENT)
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert {*DOCUMENT} <= {
        "asyncapi", "id", "info", "servers", "defaultContentType", "channels", "operations",
        "components",
    }  # fmt: skip


def test_each_reference_leads_to_something() -> None:
    references = [*_references(DOCUMENT)]
    assert len(references) > 30
    for each in references:
        assert _at(each), each


def test_channels_and_operations_fit_each_other() -> None:
    """AsyncAPI 3.0.0: Channel Object, Operation Object."""
    servers = {f"#/servers/{name}" for name in DOCUMENT["servers"]}
    for channel in DOCUMENT["channels"].values():
        assert {each["$ref"] for each in channel["servers"]} <= servers
        named = {*re.findall(r"{(\w+)}", channel["address"])}
        assert named == {*channel.get("parameters", {})}
        assert "?" not in channel["address"] and "#" not in channel["address"]
        assert {each["$ref"].rpartition("/")[2] for each in channel["messages"].values()} == {
            *DOCUMENT["components"]["messages"]
        }
    used = [each["channel"]["$ref"] for each in DOCUMENT["operations"].values()]
    assert sorted(used) == sorted(f"#/channels/{name}" for name in DOCUMENT["channels"])
    assert {each["action"] for each in DOCUMENT["operations"].values()} == {"send"}
    assert len(DOCUMENT["operations"]) == len(KINDS)


def test_all_types_of_messages_are_described_and_no_other() -> None:
    described = {each["name"] for each in DOCUMENT["components"]["messages"].values()}
    assert described == {*_WHAT_OF}
    assert {*DOCUMENT["channels"]["jetStream"]["parameters"]["what"]["enum"]} == {*WHAT}


def test_each_example_is_as_described() -> None:
    for message in DOCUMENT["components"]["messages"].values():
        for example in message["examples"]:
            check_message(example["payload"])
            assert example["payload"]["type"] == message["name"]


@pytest.mark.parametrize("change", [
    {"id": "a b"}, {"specversion": "0.3"}, {"data": {}}, {"time": "yesterday"}, {"more": 1},
    {"type": "sabot.shoe.ended"},
])  # fmt: skip
def test_another_message_is_not(change: dict[str, Any]) -> None:
    example = DOCUMENT["components"]["messages"]["roundEnded"]["examples"][0]["payload"]
    with pytest.raises(AssertionError):
        check_message({**example, **change})


@pytest.mark.slow
def test_messages_of_all_families_of_games_are_as_described(
    tmp_path: Path, rng: random.Random
) -> None:
    logs = evenings(rng)
    seen: set[str] = set()
    with open_store(tmp_path / "log", create=True) as store:
        keep_games(store, logs)
        for unit, log in logs.items():
            store.append(unit, stored(log.records))
        for unit in logs:
            for message in all_messages(store, unit):
                event = json.loads(message.body)
                check_message(event)
                seen.add(event["data"].get("family", event["type"]))
    assert seen >= {"holdem", "blackjack", "sabot.round.ended", "sabot.shoe.loaded"}


@pytest.mark.slow
def test_messages_of_a_busy_night_are_as_described(tmp_path: Path, rng: random.Random) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("SHOE-7", stored(busy_log(rng).records))
        types = set()
        for message in all_messages(store):
            check_message(json.loads(message.body))
            types.add(json.loads(message.body)["type"])
    assert types == {*_WHAT_OF}


def test_the_headers_of_a_webhook_are_as_described() -> None:
    with receiving() as receiver:
        feed = Feed("w", "webhook", receiver.address, frozenset(WHAT), None, None, None,
                    (SECRET, SECRET[::-1]))  # fmt: skip
        sender = WebhookSender(feed)
        sender.deliver([made("SHOE.7", 1)])
        sender.close()
    check_headers(receiver.got[0].headers)
    assert receiver.got[0].headers["content-type"] == DOCUMENT["defaultContentType"]
