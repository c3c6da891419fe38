"""The API answers as its OpenAPI description says, and changes what it says."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from host.tests.support.openapi import check
from host.tests.support.screens import BACCARAT, BOXES, HANDS, MIDI, PASSWORD, STOPPED, Screens
from sabot.web.api.routes import DESCRIPTION
from sabot.web.app import ROUTES

_UNITS = (BACCARAT, STOPPED, MIDI, BOXES, HANDS)


def _client(screens: Screens, role: str) -> TestClient:
    """A program that has signed in, and sends its token."""
    client = screens.visitor()
    answer = client.post("/api/session", json={"name": role, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    client.headers["authorization"] = f"Bearer {answer.json()['token']}"
    return client


def _answer(client: TestClient, path: str, described: str = "") -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    operation = DESCRIPTION["paths"][described or path]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    check(answer.json(), schema, path)
    return answer.json()


def test_the_description_has_every_route_of_the_api() -> None:
    routes = {
        (route.path.replace(":path", ""), method.lower())  # type: ignore[attr-defined]
        for route in ROUTES
        for method in route.methods  # type: ignore[attr-defined]
        if route.path.startswith("/api/") and method != "HEAD"  # type: ignore[attr-defined]
    }
    described = {(path, method) for path, each in DESCRIPTION["paths"].items() for method in each}
    assert routes == described
    ids = [each["operationId"] for of in DESCRIPTION["paths"].values() for each in of.values()]
    assert len(set(ids)) == len(ids)


@pytest.mark.slow
def test_answers_are_as_described(screens: Screens) -> None:
    client = _client(screens, "surveillance")
    wall = _answer(client, "/api/tables")
    assert wall["tables"][0]["unit"] == STOPPED
    for unit in _UNITS:
        table = _answer(client, f"/api/tables/{unit}", "/api/tables/{unit}")
        assert (table["laid_open"] is not None) == (table["state"] != "no_cards")
    for path in ("/api/session", "/api/alerts", "/api/views"):
        _answer(client, path)
    _answer(_client(screens, "administrator"), "/api/users")
    assert client.get("/api/openapi.json").json()["openapi"] == "3.1.0"


@pytest.mark.slow
def test_all_that_lay_face_up_in_a_shoe_of_cards_in_play_is_for_surveillance(
    screens: Screens,
) -> None:
    for role in ("floor", "technician"):
        client = _client(screens, role)
        assert _answer(client, f"/api/tables/{BACCARAT}", "/api/tables/{unit}")["laid_open"] is None


def test_errors_are_json(screens: Screens) -> None:
    client = screens.visitor()
    for path, status in (("/api/tables", 401), ("/api/nothing", 404)):
        answer = client.get(path)
        assert answer.status_code == status and answer.json()["error"]
    refused = client.post("/api/session", json={"name": "floor", "password": "wrong" * 4})
    assert refused.status_code == 401 and "token" not in refused.json()
    for body in (b"{", b"[]", b'{"name": 1}'):
        headers = {"content-type": "application/json"}
        assert client.post("/api/session", content=body, headers=headers).status_code == 400


def test_an_administrator_changes_users(screens: Screens) -> None:
    client = _client(screens, "administrator")
    for path, more in (
        ("/api/users", {"role": "floor", "password": "another long password"}),
        ("/api/users/role", {"role": "technician"}),
        ("/api/users/password", {"password": "a third long password"}),
    ):
        assert client.post(path, json={"name": "eve", **more}).status_code == 200
    token = screens.desk.sign_in("eve", "a third long password", origin="test")
    assert client.post("/api/users/close", json={"name": "eve"}).status_code == 200
    assert screens.desk.user_of(token) is None
    again = client.post("/api/users/close", json={"name": "eve"})
    assert again.status_code == 400 and "eve" in again.json()["error"]


def test_a_session_ends(screens: Screens) -> None:
    client = _client(screens, "board")
    assert client.get("/api/session").json() == {"name": "board", "role": "board"}
    assert client.delete("/api/session").json() == {"done": True}
    assert client.get("/api/session").status_code == 401
