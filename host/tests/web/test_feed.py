"""Feeds: what a page gets as it happens, and after it was away. The server runs as `sabot serve`
runs it, on a socket."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import httpx2 as httpx
import pytest

from host.tests.support.helpers import FirmwareLog, stored
from host.tests.support.openapi import check
from host.tests.support.screens import BACCARAT, MIDI, PASSWORD, Screens
from sabot.desk.desk import Desk
from sabot.listening import Address
from sabot.web import connection, feed
from sabot.web.api.routes import DESCRIPTION
from sabot.web.app import make_app
from sabot.web.pages import board
from sabot.web.server import Server

pytestmark = pytest.mark.slow

_PATIENCE_S = 20
_BEAT = ("now", "zone_min", "look")
"""What every event has."""


@pytest.fixture
def server(screens: Screens) -> Iterator[Server]:
    """A server of the screens; each has its own run."""
    made = Server(make_app(screens.app.state.services), Address("127.0.0.1", 0), None)
    made.start()
    yield made
    made.stop()


def _client(server: Server, screens: Screens, role: str | None = "surveillance") -> httpx.Client:
    client = httpx.Client(base_url=server.url, timeout=_PATIENCE_S)
    if role is not None:
        token = screens.desk.sign_in(role, PASSWORD, origin="test")
        client.cookies.set("sabot_session", token)
    return client


class _Reader:
    """Reads the events of a feed."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.id = ""

    def next(self) -> dict[str, Any]:
        """The data of the next event; "ended" if it says that the session has ended."""
        found: dict[str, Any] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if name == "id":
                self.id = value
            elif name == "event":
                found["event"] = value
            elif name == "data":
                found |= json.loads(value)
            elif not line and found:
                return found
        return {"event": "closed"}

    def next_with(self, name: str) -> dict[str, Any]:
        """The next event that has this."""
        end_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end_s:
            event = self.next()
            if name in event or event.get("event") == "closed":
                return event
        raise AssertionError(f"no event with {name}")


@contextmanager
def _reading(client: httpx.Client, path: str, last_id: str = "") -> Iterator[_Reader]:
    headers = {"last-event-id": last_id} if last_id else {}
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in answer.headers  # what is packed is late
        yield _Reader(answer.iter_lines())


def _something_happens(screens: Screens, unit: str) -> None:
    """A new unit deals a round."""
    log = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    screens.store.append(unit, stored(log.records))


def test_a_page_gets_all_tiles_and_then_those_that_change(screens: Screens, server: Server) -> None:
    client = _client(server, screens)
    with _reading(client, "/live") as reader:
        first = reader.next_with("tiles")
        assert first["all"] and len(first["tiles"]) == first["count"]
        _something_happens(screens, "NEW-1")
        changed = reader.next_with("tiles")
        assert "all" not in changed and 'data-unit="NEW-1"' in changed["tiles"][0]


def test_a_page_that_comes_back_gets_what_changed_meanwhile(
    screens: Screens, server: Server
) -> None:
    client = _client(server, screens)
    with _reading(client, "/live") as reader:
        reader.next_with("tiles")
        last_id = reader.id
    _something_happens(screens, "NEW-2")
    with _reading(client, "/live", last_id) as reader:
        changed = reader.next_with("tiles")
        assert "all" not in changed and len(changed["tiles"]) == 1


def test_a_page_of_another_run_of_the_server_gets_everything(
    screens: Screens, server: Server
) -> None:
    client = _client(server, screens)
    for last_id in ("abcdefabcdef-3", "x", f"{'9' * 400}"):
        with _reading(client, "/live", last_id) as reader:
            assert reader.next_with("tiles")["all"]


def test_a_table_gets_only_the_parts_that_look_different(screens: Screens, server: Server) -> None:
    client = _client(server, screens)
    _something_happens(screens, "NEW-3")
    with _reading(client, "/live/SHOE-1") as reader:
        assert set(reader.next_with("parts")["parts"]) == {
            "part-state", "part-alerts", "part-order", "part-now", "part-roads", "part-rounds",
            "part-cards",
        }  # fmt: skip


def test_a_page_that_does_not_change_gets_the_count_of_alerts_alone(
    screens: Screens, server: Server
) -> None:
    with _reading(_client(server, screens), "/alerts/live?count=yes") as reader:
        assert set(reader.next_with("alerts")) == {"alerts", *_BEAT}


def test_a_board_has_neither_an_id_nor_anything_but_its_board(
    screens: Screens, server: Server
) -> None:
    client = _client(server, screens, None)
    with _reading(client, "/board/3/live") as reader:
        event = reader.next_with("parts")
    assert set(event) == {"parts", *_BEAT} and set(event["parts"]) == {"board"}
    assert reader.id == "" and MIDI not in event["parts"]["board"]


def test_a_feed_ends_with_its_session(
    screens: Screens, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_CHECK_S", 0.2)
    client = _client(server, screens)
    with _reading(client, "/live") as reader:
        reader.next_with("tiles")
        screens.desk.sign_out(client.cookies["sabot_session"])
        assert reader.next_with("event")["event"] == "ended"
        assert reader.next()["event"] == "closed"


def test_a_feed_says_something_though_nothing_happens(
    screens: Screens, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_BEAT_S", 0.2)
    with _reading(_client(server, screens), f"/live/{BACCARAT}") as reader:
        reader.next_with("parts")
        assert set(reader.next()) == {*_BEAT}


def test_a_client_that_takes_nothing_is_dropped(
    screens: Screens, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_SLOWEST_S", 1.0)
    monkeypatch.setattr(feed, "_BEAT_S", 0.1)
    monkeypatch.setattr(feed, "_event", lambda *_: b"data: {}\n\n" + b":" * 4_000_000 + b"\n\n")
    host, port = server.url.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"GET /board/1/live HTTP/1.1\r\nHost: x\r\n\r\n")
        end_s = time.monotonic() + _PATIENCE_S
        feeds = server.feeds
        while not feeds.count and time.monotonic() < end_s:
            time.sleep(0.01)
        assert feeds.count == 1
        while feeds.count and time.monotonic() < end_s:
            time.sleep(0.05)
        assert feeds.count == 0


def test_a_head_that_does_not_end_closes_the_connection(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.3)
    server = Server(make_app(screens.app.state.services), Address("127.0.0.1", 0), None)
    server.start()
    host, port = server.url.removeprefix("http://").strip("/").split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_PATIENCE_S) as slow:
            slow.sendall(b"GET /sign-in HTTP/1.1\r\nHost: x\r\n")
            assert _closed(slow)
    finally:
        server.stop()


def _closed(connection_: socket.socket) -> bool:
    try:
        return connection_.recv(100) == b""
    except ConnectionResetError:
        return True


def test_a_server_with_open_feeds_stops_at_once(screens: Screens) -> None:
    server = Server(make_app(screens.app.state.services), Address("127.0.0.1", 0), None)
    server.start()
    with _reading(_client(server, screens), "/live") as reader:
        reader.next_with("tiles")
        server.stop()
        assert not server.running
        assert reader.next_with("event")["event"] == "closed"


def test_boards_cannot_take_all_the_feeds(
    screens: Screens, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_MOST_PUBLIC", 1)
    one, other = _client(server, screens, None), _client(server, screens, None)
    with _reading(one, "/board/1/live") as reader:
        reader.next_with("parts")
        assert other.get("/board/2/live").status_code == 503
        with _reading(_client(server, screens), "/live") as wall:
            assert wall.next_with("tiles")


def test_a_fault_is_reported_line_by_line_and_nonsense_is_not(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a fault")

    reported: list[str] = []
    app = make_app(screens.app.state.services)
    server = Server(app, Address("127.0.0.1", 0), None, reported.append)
    server.start()
    client = _client(server, screens, "administrator")
    monkeypatch.setattr(Desk, "users", fails)
    try:
        host, port = server.url.removeprefix("http://").strip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=_PATIENCE_S) as nonsense:
            nonsense.sendall(b"nonsense\r\n\r\n")
            assert b"400" in nonsense.recv(1000)
        assert not reported
        assert client.get("/users").status_code == 500
    finally:
        server.stop()
    assert "(RuntimeError: a fault, in " in reported[-1] and "\n" not in reported[-1]


@pytest.mark.parametrize(
    ("path", "name"), [("/api/live", "tables"), ("/api/alerts/live", "open_alerts")]
)
def test_streams_of_the_api_are_as_described(
    screens: Screens, server: Server, path: str, name: str
) -> None:
    operation = DESCRIPTION["paths"][path]["get"]
    schema = operation["responses"]["200"]["content"]["text/event-stream"]["schema"]
    with _reading(_client(server, screens), path) as reader:
        _something_happens(screens, f"NEW-{name}")
        event = reader.next_with(name)
        check(event, schema, path)
        assert name in event


# ---- one stream for all pages of a browser


def _stream(*parts: str, **more: str) -> str:
    asked = [(name, value) for part in parts for name, value in (("of", part), ("after", ""))]
    return f"/stream?{urlencode([*asked, *more.items()])}"


def test_a_stream_has_what_each_page_shows_and_refuses_what_its_visitor_may_not_have(
    screens: Screens, server: Server
) -> None:
    may = ("/live", "/live/SHOE-1", "/board/3/live", "/alerts/live?count=yes")
    refused = {"/live/NONE": 404, "/users": 404, "/rounds/SHOE-1/1/1": 404, "nonsense": 404}
    opened = screens.desk.newest_note()
    with _reading(_client(server, screens), _stream(*may, *refused)) as reader:
        event = reader.next_with("pages")
    assert event["refused"] == refused
    assert set(event["pages"]) == {"/live", "/live/SHOE-1", "/board/3/live"}
    assert event["pages"]["/live"]["all"] and "board" in event["pages"]["/board/3/live"]["parts"]
    assert {"alerts", *_BEAT} <= event.keys() and reader.id
    assert "round_opened" not in {note.kind for note in screens.desk.notes(opened)}
    with _reading(_client(server, screens, "technician"), _stream("/live/SHOE-1")) as reader:
        assert "/live/SHOE-1" in reader.next_with("pages")["pages"]
    with _reading(_client(server, screens, "administrator"), _stream("/live/SHOE-1")) as reader:
        assert reader.next_with("refused")["refused"] == {"/live/SHOE-1": 403}


def test_without_a_session_a_stream_has_boards_alone_and_no_id(
    screens: Screens, server: Server
) -> None:
    with _reading(_client(server, screens, None), _stream("/live", "/board/1/live")) as reader:
        event = reader.next_with("pages")
    assert event["refused"] == {"/live": 401} and set(event["pages"]) == {"/board/1/live"}
    assert reader.id == "" and "alerts" not in event


def test_a_stream_is_for_the_session_whose_pages_ask_for_it(
    screens: Screens, server: Server
) -> None:
    client = _client(server, screens)
    (browser,) = re.findall(r'data-browser="(\w+)"', client.get("/").text)
    other = _client(server, screens)
    assert client.head(_stream("/live", browser=browser)).status_code == 200
    assert other.head(_stream("/live", browser=browser)).status_code == 401


def test_each_page_of_a_stream_gets_what_changed_since_it_was_made(
    screens: Screens, server: Server
) -> None:
    client = _client(server, screens)
    with _reading(client, _stream("/live")) as reader:
        reader.next_with("pages")
        last_id = reader.id
    _something_happens(screens, "NEW-8")
    with _reading(client, f"/stream?of=/live&after={last_id}") as reader:
        tiles = reader.next_with("pages")["pages"]["/live"]
        assert "all" not in tiles and len(tiles["tiles"]) == 1


def test_a_fault_in_what_one_page_shows_leaves_the_others_theirs(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> dict[str, str]:
        raise RuntimeError("a fault")

    reported: list[str] = []
    app = make_app(screens.app.state.services)
    server = Server(app, Address("127.0.0.1", 0), None, reported.append)
    server.start()
    monkeypatch.setattr(board, "_parts", fails)
    try:
        with _reading(_client(server, screens), _stream("/board/1/live", "/live")) as reader:
            event = reader.next_with("pages")
            assert set(event["pages"]) == {"/live"}
            assert event["refused"] == {"/board/1/live": 500}
    finally:
        server.stop()
    assert "(RuntimeError: a fault, in " in reported[-1] and "\n" not in reported[-1]


def test_a_stream_of_more_parts_than_a_browser_has_pages_is_refused(
    screens: Screens, server: Server
) -> None:
    answer = _client(server, screens).get(_stream(*["/live"] * 201))
    assert answer.status_code == 400 and "at most 200 parts" in answer.text
