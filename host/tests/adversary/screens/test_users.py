"""What a user can do beyond the own role, or under another's name."""

import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.exceptions import HTTPException

from host.tests.adversary.screens.server import PATIENCE_S, ask, connect, serving
from host.tests.support.screens import PASSWORD, Screens
from sabot.desk.notes import LONGEST_NAME
from sabot.desk.passwords import LONGEST
from sabot.desk.tries import FREE
from sabot.errors import DeskRefused, TooManyTries, WrongPassword
from sabot.web import feed
from sabot.web.pages import board, search

_CROWD = 80  # twice as many as a server has threads
_ZOE = "Zoë Floor"


@pytest.mark.slow
def test_no_user_has_a_name_that_looks_like_that_of_another(screens: Screens) -> None:
    """The notes say who did what by name alone."""
    desk = screens.desk
    desk.add_user(_ZOE, "floor", PASSWORD, by="administrator")
    desk.close_user(_ZOE, by="administrator")
    alike = (
        unicodedata.normalize("NFD", _ZOE), _ZOE.upper(), _ZOE.replace(" ", "  "),
        "Zoë Ｆloor", "Zoë ﬂoor", "Surveillance", "ﬂoor",
        "\u0405urv\u0435illan\u0441\u0435", "fl\u03bf\u043er", "SURVEI11ANCE", "FL00R",
    )  # fmt: skip
    for name in alike:
        with pytest.raises(DeskRefused, match="there is or was a user"):
            desk.add_user(name, "floor", PASSWORD, by="administrator")
        with pytest.raises(DeskRefused, match="there is or was a user"):
            desk.check_new(name, "floor")


@pytest.mark.parametrize("name", ["＠server", "﹫console", "@server"])
def test_no_user_has_the_name_of_the_server_or_the_console(screens: Screens, name: str) -> None:
    with pytest.raises(DeskRefused, match="does not begin with @"):
        screens.desk.add_user(name, "floor", PASSWORD, by="administrator")


def test_long_names_that_are_kept_count_as_one(screens: Screens) -> None:
    """Each name that was tried is kept for an hour: a form's worth of letters is not."""
    longest = "x" * (LONGEST_NAME + 1)
    for number in range(FREE):
        with pytest.raises(WrongPassword):
            screens.desk.sign_in(f"{longest}{number}", PASSWORD, origin=f"10.0.0.{number}")
    with pytest.raises(TooManyTries):
        screens.desk.sign_in(longest, PASSWORD, origin="10.0.1.1")


def test_a_password_that_is_set_lets_its_user_in_from_every_keyboard(screens: Screens) -> None:
    """With as many letters as it may have, each of which some keyboards make of two."""
    composed = "é" * LONGEST
    typed = unicodedata.normalize("NFD", composed)
    screens.desk.add_user("long", "floor", typed, by="administrator")
    for each in (typed, composed):
        token = screens.desk.sign_in("long", each, origin="keyboard")
        assert screens.desk.user_of(token)
    for wrong in (typed[:-2], typed + "e", composed + "\u0301"):
        with pytest.raises(WrongPassword):
            screens.desk.sign_in("long", wrong, origin="keyboard")
    with pytest.raises(DeskRefused):
        screens.desk.set_password("long", typed + "é" * LONGEST * 4, by="administrator")


@pytest.mark.slow
def test_one_user_cannot_take_all_the_feeds(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_MOST_OF_USER", 2)
    board, other = (
        screens.desk.sign_in(name, PASSWORD, origin="test") for name in ("board", "surveillance")
    )
    with serving(screens) as server:
        opened = []
        try:
            for token, status in (
                (board, b"200"),
                (board, b"200"),
                (board, b"503"),
                (other, b"200"),
            ):
                opened.append(connect(server))
                head = f"GET /board/1/live HTTP/1.1\r\nHost: x\r\nCookie: sabot_session={token}"
                opened[-1].sendall(f"{head}\r\n\r\n".encode())
                assert opened[-1].recv(12).endswith(status)
            assert ask(server, "/api/tables", other)[0] == 200
        finally:
            for each in opened:
                each.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["floor", None])
def test_what_takes_long_for_one_user_keeps_no_one_else_waiting(
    screens: Screens, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    """None: visitors who have not signed in, at the players' boards."""
    other = screens.desk.sign_in("surveillance", PASSWORD, origin="test")
    token = "" if name is None else screens.desk.sign_in(name, PASSWORD, origin="test")
    done, begun = threading.Event(), threading.Semaphore(0)

    def slow(*_: object) -> None:
        begun.release()
        assert done.wait(2 * PATIENCE_S)
        raise HTTPException(404)

    monkeypatch.setattr(search, "query_of", slow)
    monkeypatch.setattr(board, "_table_of", slow)
    path = "/board/1" if name is None else "/search?winner=tie"
    with serving(screens) as server, ThreadPoolExecutor(_CROWD) as crowd:
        try:
            asked = [crowd.submit(ask, server, path, cookie=token) for _ in range(_CROWD)]
            assert begun.acquire(timeout=PATIENCE_S)
            for _ in range(_CROWD):
                assert ask(server, "/api/tables", other)[0] == 200
        finally:
            done.set()
        assert {each.result()[0] for each in asked} == {404}
