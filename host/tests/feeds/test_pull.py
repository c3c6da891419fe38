"""A receiver asks for the rounds that it lacks."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.feeds import pull
from sabot.feeds.config import Feed
from sabot.feeds.message import WHAT, Position
from sabot.feeds.unit_messages import Context, messages_between
from sabot.log.store import Store

_TOKEN = "a token of the tests, long"
_FEED = Feed(
    "crm", "webhook", "https://x", frozenset(WHAT), None, None, None, (), _TOKEN, in_play=True
)
_FEEDS = (
    _FEED,
    replace(_FEED, name="one", units=frozenset({"SHOE-7"})),
    replace(_FEED, name="far", tables=frozenset({"T 9"})),
    replace(_FEED, name="none", token=None),
    replace(_FEED, name="shoes", what=frozenset({"shoes"})),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A log of two units, of which one has three shoes of cards."""
    log = FirmwareLog()
    for seed in (5, 6, 7):
        log.deal_shoe(shuffled_names(seed))
    with new_log(tmp_path_factory.mktemp("pull") / "log") as made:
        made.append("SHOE-7", stored(log.records))
        made.append("SHOE.8 ü", stored(log.records[:500]))
        yield made


@pytest.fixture
def client(store: Store) -> TestClient:
    """Asks with the token."""
    asking = TestClient(pull.make_app(_FEEDS, Context(store)))
    asking.headers["authorization"] = f"Bearer {_TOKEN}"
    return asking


def _ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/cloudevents-batch+json"
    return [each["id"] for each in answer.json()]


def _sent(store: Store, unit: str) -> list[dict[str, Any]]:
    made = messages_between(Context(store), unit, Position(0, 0), 1 << 60)
    return [json.loads(each.body) for each in made if each.what == "rounds"]


@pytest.mark.slow
def test_the_pages_together_are_what_is_sent(store: Store, client: TestClient) -> None:
    sent = _sent(store, "SHOE-7")
    found: list[dict[str, Any]] = []
    url = "/feeds/crm/rounds?unit=SHOE-7"
    pages = 0
    while url:
        answer = client.get(url)
        assert len(answer.json()) <= pull.PAGE
        found += answer.json()
        pages += 1
        url = answer.links.get("next", {}).get("url", "")
    assert found == sent and pages == 2 and len(sent) > pull.PAGE


@pytest.mark.slow
def test_a_page_looks_through_a_bounded_part_of_the_log(
    store: Store, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "_MOST_EVENTS", 1000)
    for feed, wanted in (("crm", _sent(store, "SHOE-7")), ("far", [])):
        found: list[dict[str, Any]] = []
        url, pages = f"/feeds/{feed}/rounds?unit=SHOE-7", 0
        while url:
            answer = client.get(url)
            found += answer.json()
            pages += 1
            url = answer.links.get("next", {}).get("url", "")
        assert found == wanted and pages > 3


@pytest.mark.slow
def test_after_an_id_come_the_rounds_after_it(store: Store, client: TestClient) -> None:
    sent = [each["id"] for each in _sent(store, "SHOE-7")]
    for at in (0, 3, len(sent) - 2, len(sent) - 1):
        number = sent[at].rpartition("/")[2]
        answer = client.get("/feeds/crm/rounds", params={"unit": "SHOE-7", "after": number})
        assert _ids(answer) == sent[at + 1 :][: pull.PAGE]
    assert _ids(client.get("/feeds/crm/rounds?unit=SHOE-7&after=999999999")) == []
    assert _ids(client.get("/feeds/crm/rounds", params={"unit": "SHOE.8 ü"})) != []
    assert _ids(client.get("/feeds/crm/rounds?unit=NO-SUCH")) == []


@pytest.mark.slow
def test_a_feed_gives_only_what_it_sends(client: TestClient) -> None:
    assert _ids(client.get("/feeds/one/rounds?unit=SHOE-7")) != []
    assert client.get("/feeds/one/rounds", params={"unit": "SHOE.8 ü"}).status_code == 404
    assert _ids(client.get("/feeds/far/rounds?unit=SHOE-7")) == []
    assert client.get("/feeds/shoes/rounds?unit=SHOE-7").status_code == 404


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {_TOKEN}",
        f"Bearer {_TOKEN}x",
        f"Bearer {_TOKEN[:-1]}",
        _TOKEN,
    ],
)
def test_without_the_token_nothing_is_given_not_even_whether_there_is_such_a_feed(
    client: TestClient, header: str
) -> None:
    client.headers["authorization"] = header
    answers = [
        client.get(f"/feeds/{name}/rounds?unit=SHOE-7") for name in ("crm", "none", "nowhere")
    ]
    assert {each.status_code for each in answers} == {401}
    assert len({each.text for each in answers}) == 1
    assert _TOKEN not in answers[0].text


def test_a_feed_without_a_token_gives_nothing_to_an_empty_one(client: TestClient) -> None:
    for header in ("Bearer ", "Bearer None", f"Bearer {_TOKEN}"):
        client.headers["authorization"] = header
        assert client.get("/feeds/none/rounds?unit=SHOE-7").status_code == 401


@pytest.mark.parametrize("query", ["", "?after=1", "?unit=U&after=x", "?unit=U&after=-1",
                                   f"?unit=U&after={1 << 63}", "?unit=U&after=%D9%A1"])  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused(client: TestClient, query: str) -> None:
    answer = client.get(f"/feeds/crm/rounds{query}")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


def test_nothing_else_is_there(client: TestClient) -> None:
    for path in ("/", "/feeds", "/feeds/crm", "/feeds/crm/rounds/", "/feeds/a/b/rounds"):
        assert client.get(path, follow_redirects=False).status_code in (404, 307)
    for method in ("POST", "PUT", "DELETE"):
        assert client.request(method, "/feeds/crm/rounds?unit=SHOE-7").status_code == 405


def test_a_log_that_cannot_be_read_is_said_without_its_place(
    tmp_path: Path, client: TestClient
) -> None:
    path = tmp_path / "log"
    with new_log(path) as other:
        other.append("SHOE-7", stored(FirmwareLog().load().records))
        asking = TestClient(pull.make_app(_FEEDS, Context(other)), headers=client.headers)
        path.rename(tmp_path / "elsewhere")
        answer = asking.get("/feeds/crm/rounds?unit=SHOE-7")
    assert answer.status_code == 503 and answer.headers["retry-after"]
    assert str(tmp_path) not in answer.text
