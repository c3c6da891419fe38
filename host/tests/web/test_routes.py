"""Every route is asked by every role, and without a session. The table here is written apart from
the code: a route that is not in it fails."""

import pytest
from starlette.testclient import TestClient

from host.tests.support.screens import ORIGIN, Screens
from sabot.desk.roles import ROLES
from sabot.web.access import Guarded
from sabot.web.app import ROUTES

# Who gets each route: letters of board, floor, surveillance, technician, administrator; "*" is
# everyone, also without a session.
_ALLOWED = {
    "GET /": "fsta",
    "GET /live": "fsta",
    "GET /tables/{unit:path}": "fst",
    "GET /live/{unit:path}": "fst",
    "GET /alerts": "fst",
    "GET /alerts/live": "fst",
    "POST /alerts/acknowledge": "fs",
    "POST /alerts/acknowledge-kind": "fs",
    "GET /boards": "bfsta",
    "GET /board/{table:path}": "*",
    "GET /board/{table:path}/live": "*",
    "GET /users": "a",
    "POST /users/add": "a",
    "POST /users/role": "a",
    "POST /users/password": "a",
    "POST /users/close": "a",
    "GET /views": "sa",
    "GET /search": "fs",
    "GET /rounds/{unit:path}/{shoe}/{round}": "fs",
    "GET /rounds/{unit:path}/{shoe}/{round}/passes/{name}": "fs",
    "POST /rounds/{unit:path}/{shoe}/{round}/bundle": "s",
    "POST /rounds/{unit:path}/{shoe}/{round}/printed": "s",
    "GET /integrity": "s",
    "POST /integrity/begin": "s",
    "GET /integrity/report": "s",
    "GET /integrity/pictures/{name}": "s",
    "GET /sign-in": "*",
    "POST /sign-in": "*",
    "POST /sign-out": "bfsta",
    "GET /api/tables": "fsta",
    "GET /api/tables/{unit:path}": "fst",
    "GET /api/live": "fsta",
    "POST /api/session": "*",
    "GET /api/session": "bfsta",
    "DELETE /api/session": "bfsta",
    "GET /api/alerts": "fst",
    "GET /api/alerts/live": "fst",
    "POST /api/alerts/acknowledge": "fs",
    "GET /api/users": "a",
    "POST /api/users": "a",
    "POST /api/users/role": "a",
    "POST /api/users/password": "a",
    "POST /api/users/close": "a",
    "GET /api/views": "sa",
    "GET /api/search": "fs",
    "GET /api/integrity": "s",
    "POST /api/integrity": "s",
    "GET /api/rounds/{unit:path}/{shoe:path}/{round:path}": "fs",
    "GET /api/openapi.json": "*",
    "GET /stream": "*",
    "GET /static/{version}/{name}": "*",
}
_GIVEN = {
    "{unit:path}": "SHOE-1",
    "{table:path}": "1",
    "{shoe}": "1",
    "{round}": "1",
    "{shoe:path}": "1",
    "{round:path}": "1",
    "{version}": "x",
    "{name}": "sabot.css",
}
_VISITORS = [*ROLES, None]


def _routes() -> list[str]:
    found = []
    for route in ROUTES:
        assert isinstance(route, Guarded)
        found += [f"{method} {route.path}" for method in route.methods or () if method != "HEAD"]
    return found


def _ask(client: TestClient, route: str) -> int:
    """The status of the answer. A feed is asked for its head alone: it has no end."""
    method, path = route.split(" ")
    for name, value in _GIVEN.items():
        path = path.replace(name, value)
    if method == "GET":
        return client.request(
            "HEAD" if "live" in path or "stream" in path else "GET", path
        ).status_code
    return client.request(method, path, headers={"origin": ORIGIN}).status_code


def test_the_table_has_every_route() -> None:
    assert sorted(_routes()) == sorted(_ALLOWED)


@pytest.mark.slow
@pytest.mark.parametrize("visitor", _VISITORS)
def test_a_route_answers_only_those_who_may_have_it(screens: Screens, visitor: str | None) -> None:
    client = screens.visitor(visitor)
    for route in _routes():
        allowed = _ALLOWED[route] == "*" or (visitor or "-")[0] in _ALLOWED[route]
        status = _ask(client, route)
        if not allowed:
            assert status == (401 if visitor is None else 403), route
        elif route.endswith("/passes/{name}"):
            assert status == 404  # no such pass was captured
        elif route.startswith("GET /integrity/"):
            assert status == 404  # no study was made
        elif route.startswith("GET"):
            assert status in (200, 303), route
        elif route == "DELETE /api/session":
            assert status == 200
            client = screens.visitor(visitor)
        else:  # a form without the value of the session
            assert status == 403, route


def test_a_route_without_a_right_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="there is no right 'walls'"):
        Guarded("/", lambda visit: None, "walls")  # type: ignore[arg-type,return-value]
