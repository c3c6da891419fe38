"""What visitors who have not signed in can do to a server, and to those who have."""

import resource
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from starlette.requests import Request

from host.tests.adversary.screens.server import PATIENCE_S, ask, connect, serving
from host.tests.support.screens import PASSWORD, Screens
from sabot.desk import passwords
from sabot.desk.desk import Desk
from sabot.errors import DatabaseUnusable
from sabot.listening import Address
from sabot.web import access, connection
from sabot.web import server as server_of_pages
from sabot.web.headers import HEADERS
from sabot.web.server import Server

_THREADS = 40  # that a server has for all handlers
_HALF_A_FORM = (
    b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nx"
)


@pytest.mark.slow
def test_many_sign_ins_at_once_keep_no_one_from_the_pages(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From many addresses: one address has only some tries."""
    token = screens.desk.sign_in("surveillance", PASSWORD, origin="test")
    done, hashing, fits = threading.Event(), threading.Semaphore(0), passwords.fits

    def slow(stored: str, password: str) -> bool:
        hashing.release()
        assert done.wait(2 * PATIENCE_S)
        return fits(stored, password)

    monkeypatch.setattr(passwords, "fits", slow)
    count = 2 * _THREADS
    with serving(screens) as server, ThreadPoolExecutor(count) as crowd:

        def sign_in(number: int) -> int:
            sent = {"name": f"unknown {number}", "password": "wrong"}
            origin = f"127.0.1.{1 + number}"
            return ask(server, "/api/session", sent=sent, origin=origin)[0]

        try:
            asked = [crowd.submit(sign_in, number) for number in range(count)]
            assert hashing.acquire(timeout=PATIENCE_S)
            for _ in range(_THREADS):
                assert ask(server, "/api/tables", token)[0] == 200
        finally:
            done.set()
        assert {each.result() for each in asked} == {401}


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"GET /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx",
        _HALF_A_FORM,
    ],
    ids=["nothing", "half a head", "a page and half a body", "half a form"],
)
def test_connections_that_wait_for_their_client_keep_no_one_away(
    screens: Screens,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    begun: bytes,
) -> None:
    """Those that were closed to make room may take a moment to end."""
    token = screens.desk.sign_in("surveillance", PASSWORD, origin="test")
    most = 40
    monkeypatch.setattr(server_of_pages, "_MOST_CONNECTIONS", most)
    monkeypatch.setattr(connection, "HEAD_S", 10 * PATIENCE_S)  # they do not end by themselves
    with serving(screens) as server, ExitStack() as ends:
        feed = ends.enter_context(connect(server))
        head = f"GET /api/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        feed.sendall(head.encode())
        assert feed.recv(100).startswith(b"HTTP/1.1 200")
        for _ in range(2 * most):
            ends.enter_context(connect(server)).sendall(begun)
        end_s = time.monotonic() + PATIENCE_S
        while server.feeds.count != 1 or not _answers(server, token):
            assert time.monotonic() < end_s
        for _ in range(10):
            assert ask(server, "/api/tables", token)[0] == 200
        assert server.feeds.count == 1


def _answers(server: Server, token: str) -> bool:
    try:
        return ask(server, "/api/tables", token)[0] == 200
    except ConnectionError:
        return False


@pytest.mark.slow
def test_a_form_that_breaks_off_is_not_a_fault_of_the_server(
    screens: Screens, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or strangers would fill the terminal, or the file, with tracebacks."""
    ended, form_of = threading.Event(), access._form_of

    async def noted(request: Request) -> Mapping[str, str]:
        try:
            return await form_of(request)
        finally:
            ended.set()

    monkeypatch.setattr(access, "_form_of", noted)
    with serving(screens) as server:
        with connect(server) as begun:
            begun.sendall(_HALF_A_FORM)
        assert ended.wait(PATIENCE_S)
    assert not [each for each in caplog.records if each.exc_info]


def test_connections_that_have_not_proven_to_speak_tls_are_limited_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_of_pages, "_MOST_CONNECTIONS", 2)
    with ExitStack() as ends:
        listening = ends.enter_context(server_of_pages._listening(Address("127.0.0.1", 0)))
        clients = [
            ends.enter_context(socket.create_connection(listening.getsockname(), PATIENCE_S))
            for _ in range(7)
        ]
        taken = [ends.enter_context(listening.accept()[0]) for _ in range(4)]
        for client in clients[4:6]:
            with pytest.raises(ConnectionAbortedError):
                listening.accept()
            assert client.recv(1) == b""
        taken[1].close()
        ends.enter_context(listening.accept()[0]).sendall(b"x")
        assert clients[6].recv(1) == b"x"


@pytest.mark.slow
def test_a_server_leaves_files_to_the_log(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit of files that is soon reached, it has a third as many connections, at most."""
    limits = [(300, 300), (300, 100_000), (1024, resource.RLIM_INFINITY)]
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: asked.append(limit))
    for limit in limits:
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: limit)
        asked.append((server_of_pages._most_connections(), 0))
    infinite = resource.RLIM_INFINITY
    assert asked == [(300, 300), (100, 0), (4000, 100_000), (1000, 0), (4000, infinite), (1000, 0)]


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "\\ud800", "password": "x"}',
        b'{"name": "floor", "password": "\\udfff"}',
        b'{"name": ' + b"[" * 60_000,
        b'{"name": ' + b"7" * 60_000 + b', "password": "x"}',
        b"\xff\xfe{",
    ],
    ids=["half a character", "half in the password", "deep", "large number", "not UTF-8"],
)
def test_what_is_not_a_text_is_refused(screens: Screens, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = screens.visitor().post("/api/session", content=body, headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize("body", [b"{}", b"--x\r\nnonsense\r\n--x--\r\n"])
def test_a_form_in_parts_is_not_read(
    screens: Screens, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    """No page sends one, and its reader prints what is wrong with it."""
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = screens.visitor().post("/sign-in", content=body, headers=headers)
    assert answer.status_code == 400
    assert not [each for each in caplog.records if "multipart" in each.name]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_with_all_headers(
    screens: Screens, chunked: bool
) -> None:
    body = b"name=" + b"x" * 100_000
    headers = {"content-type": "application/x-www-form-urlencoded"}
    content = iter([body]) if chunked else body
    answer = screens.visitor().post("/sign-in", content=content, headers=headers)
    assert answer.status_code == 413
    assert HEADERS.items() <= dict(answer.headers).items()


def test_a_stranger_is_not_shown_where_the_log_is(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise DatabaseUnusable("/var/lib/casino/log.sqlite: cannot be read")

    monkeypatch.setattr(Desk, "sign_in", fail)
    sent = {"name": "floor", "password": PASSWORD}
    answer = screens.visitor().post("/api/session", json=sent)
    assert answer.status_code == 503 and "casino" not in answer.text
