"""Who gets which page. The table here is written apart from the code."""

import re

import pytest
from starlette.testclient import TestClient

from host.tests.support.screens import FACE_DOWN, ORIGIN, PASSWORD, Screens
from sabot.desk.desk import Desk
from sabot.desk.roles import ROLES
from sabot.errors import DatabaseUnusable
from sabot.text import card_symbol
from sabot.web.files import address_of
from sabot.web.headers import HEADERS


def _token_in(page: str) -> str:
    return re.findall(r'name="form_token" value="(\w+)"', page)[0]


def _sign_in(client: TestClient, name: str, password: str, **more: str) -> int:
    page = client.get("/sign-in").text
    fields = {"name": name, "password": password, "form_token": _token_in(page)}
    answer = client.post("/sign-in", data=fields | more, headers={"origin": ORIGIN})
    return answer.status_code


@pytest.mark.slow
def test_a_user_signs_in_by_the_form_and_out_again(screens: Screens) -> None:
    client = screens.visitor()
    assert _sign_in(client, "floor", PASSWORD) == 303
    page = client.get("/")
    assert page.status_code == 200 and "SHOE-2" in page.text
    out = client.post(
        "/sign-out", data={"form_token": _token_in(page.text)}, headers={"origin": ORIGIN}
    )
    assert out.status_code == 303
    assert client.get("/").status_code == 401


def test_a_wrong_password_lets_no_one_in(screens: Screens) -> None:
    client = screens.visitor()
    assert _sign_in(client, "technician", "not the password of it") == 401
    assert client.get("/").status_code == 401


def test_a_browser_without_a_session_is_sent_to_the_sign_in_page_and_back(
    screens: Screens,
) -> None:
    client = screens.visitor()
    answer = client.get("/?a=b", headers={"accept": "text/html"})
    assert answer.headers["location"] == "/sign-in?then=%2F%3Fa%3Db"
    assert 'value="/?a=b"' in client.get(answer.headers["location"]).text


@pytest.mark.parametrize("then", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_signing_in_leads_to_no_other_site(screens: Screens, then: str) -> None:
    client = screens.visitor()
    page = client.get("/sign-in", params={"then": then}).text
    assert "evil" not in page
    fields = {"name": "floor", "password": PASSWORD, "form_token": _token_in(page), "then": then}
    answer = client.post("/sign-in", data=fields, headers={"origin": ORIGIN})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://testserver"])
def test_a_form_of_another_site_is_refused(screens: Screens, origin: str) -> None:
    client = screens.visitor("floor")
    token = _token_in(client.get("/").text)
    answer = client.post("/sign-out", data={"form_token": token}, headers={"origin": origin})
    assert answer.status_code == 403 and client.get("/").status_code == 200


def test_a_form_needs_the_value_of_the_visitors_own_session(screens: Screens) -> None:
    client, other = screens.visitor("floor"), screens.visitor("floor")
    of_other = _token_in(other.get("/").text)
    for token in ("", "ä", of_other):
        answer = client.post("/sign-out", data={"form_token": token}, headers={"origin": ORIGIN})
        assert answer.status_code == 403
    assert client.get("/").status_code == 200


def test_every_answer_has_the_headers(screens: Screens) -> None:
    client = screens.visitor("floor")
    for path in ("/", "/sign-in", "/nothing", "/static/x/y"):
        answer = client.get(path)
        assert HEADERS.items() <= dict(answer.headers).items(), path
    policy = client.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy


def test_no_page_has_a_script_or_a_style_within_it(screens: Screens) -> None:
    page = screens.visitor("surveillance").get("/").text
    assert "<style" not in page and " style=" not in page
    assert not re.search(r"<script(?![^>]* src=)", page) and not re.search(r" on\w+=", page)


@pytest.mark.parametrize("role", ROLES)
def test_no_one_sees_cards_that_lie_face_down(screens: Screens, role: str) -> None:
    page = screens.visitor(role).get("/").text
    tile = page.partition('id="tile-SHOE-3"')[2].partition("</article>")[0]
    assert ("face down" in tile) == (role != "board")
    assert not any(card_symbol(card) in tile for card in FACE_DOWN)


def test_a_board_user_comes_to_the_boards(screens: Screens) -> None:
    client = screens.visitor()
    fields = {"name": "board", "password": PASSWORD}
    fields["form_token"] = _token_in(client.get("/sign-in").text)
    answer = client.post("/sign-in", data=fields, headers={"origin": ORIGIN})
    assert answer.headers["location"] == "/boards"


def test_a_request_beside_it_leaves_the_sign_in_form_as_it_is(screens: Screens) -> None:
    client = screens.visitor()
    token = _token_in(client.get("/sign-in").text)
    client.get("/nothing")
    client.get("/")
    fields = {"name": "floor", "password": PASSWORD, "form_token": token}
    assert client.post("/sign-in", data=fields, headers={"origin": ORIGIN}).status_code == 303


def test_a_request_that_is_too_large_is_refused(screens: Screens) -> None:
    client = screens.visitor("floor")
    answer = client.post("/sign-out", data={"form_token": "x" * 100_000})
    assert answer.status_code == 413
    uploaded = client.post("/sign-out", files={"form_token": b"x"})
    assert uploaded.status_code == 400


def test_an_error_of_the_log_names_no_file_to_a_stranger(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise DatabaseUnusable("/srv/secret.sqlite: damaged")

    monkeypatch.setattr(Desk, "sign_in", fails)
    monkeypatch.setattr(Desk, "users", fails)
    answer = screens.visitor().post("/api/session", json={"name": "floor", "password": PASSWORD})
    assert answer.status_code == 503 and "secret" not in answer.text
    monkeypatch.undo()
    client = screens.visitor("administrator")
    monkeypatch.setattr(Desk, "users", fails)
    assert "/srv/secret.sqlite: damaged" in client.get("/users").text


def test_a_fault_of_the_server_is_a_page_without_its_traceback(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a fault")

    client = screens.visitor("administrator")
    monkeypatch.setattr(Desk, "users", fails)
    answer = client.get("/users")
    assert answer.status_code == 500 and HEADERS.items() <= dict(answer.headers).items()
    assert "RuntimeError" not in answer.text and "a fault" not in answer.text


# ---- compressed answers


def test_pages_are_compressed_for_those_who_can_read_that(screens: Screens) -> None:
    client = screens.visitor("surveillance")
    for path in ("/", "/api/tables", address_of("page.js")):
        plain = client.get(path, headers={"accept-encoding": "identity"})
        packed = client.get(path, headers={"accept-encoding": "gzip"})
        assert (
            "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
        )
        assert int(packed.headers["content-length"]) < len(plain.content) / 2
        assert {*HEADERS.items()} <= {*packed.headers.items()}


def test_the_value_of_a_form_is_another_one_on_each_page_and_each_is_taken(
    screens: Screens,
) -> None:
    """Lengths of compressed pages can be compared (BREACH): nothing secret is in two of them."""
    client = screens.visitor("surveillance")
    values = [_token_in(client.get("/alerts").text) for _ in range(2)]
    assert values[0] != values[1] and client.cookies["sabot_session"] not in client.get("/").text
    for value in values:
        fields = {"id": "NONE", "remark": "x", "form_token": value}
        answer = client.post("/alerts/acknowledge", data=fields, headers={"origin": ORIGIN})
        assert answer.status_code == 400, answer.text  # there is no such alert
    for wrong in ("", values[0][:-1], values[0][:16] + values[1][16:]):
        fields = {"id": "NONE", "remark": "x", "form_token": wrong}
        answer = client.post("/alerts/acknowledge", data=fields, headers={"origin": ORIGIN})
        assert answer.status_code == 403


def test_the_cookie_of_a_session_comes_with_no_request_of_another_site(screens: Screens) -> None:
    client = screens.visitor()
    page = client.get("/sign-in")
    fields = {"name": "floor", "password": PASSWORD, "form_token": _token_in(page.text)}
    answer = client.post("/sign-in", data=fields, headers={"origin": ORIGIN})
    for each in (page, answer):
        assert "samesite=strict" in each.headers["set-cookie"].lower()
