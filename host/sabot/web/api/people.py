"""Sessions, users, alerts and what people did, as JSON."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.desk.alerts import RaisedAlert
from sabot.desk.roles import ROLES
from sabot.errors import DeskRefused, TooManyTries, WrongPassword
from sabot.floor.live import Floor
from sabot.web.access import PUBLIC, SIGNED_IN, Visit
from sabot.web.api.operations import (
    FLAG,
    NUMBER,
    TEXT,
    Operation,
    Schema,
    event,
    list_of,
    named,
    optional,
    record,
)
from sabot.web.feed import FeedResponse
from sabot.web.pages.alerts import wait_until_seen
from sabot.web.pages.views import notes_before
from sabot.web.sources import Changed

_USER: dict[str, Schema] = {"name": TEXT, "role": {"enum": list(ROLES)}}
_DONE = record(done=FLAG)
SCHEMAS: dict[str, Schema] = {
    "User": record(**_USER, closed=FLAG, made_unix_ms=NUMBER),
    "Alert": record(
        id=TEXT,
        unit=TEXT,
        kind=TEXT,
        event=optional(NUMBER),
        shoe=NUMBER,
        round=NUMBER,
        unix_ms=NUMBER,
        detail=TEXT,
        raised_unix_ms=NUMBER,
        open=FLAG,
        acknowledgements=list_of(record(unix_ms=NUMBER, by=TEXT, remark=TEXT)),
    ),
    "Note": record(number=NUMBER, unix_ms=NUMBER, by=TEXT, kind=TEXT, fields={"type": "object"}),
}


def _sign_in(visit: Visit) -> Mapping[str, Any]:
    name, password = visit.form.get("name", ""), visit.form.get("password", "")
    desk = visit.services.desk
    try:
        token = desk.sign_in(name, password, origin=visit.origin)
    except TooManyTries as error:
        wait = {"retry-after": str(ceil(error.wait_s))}
        raise HTTPException(429, str(error), wait) from None
    except WrongPassword as error:
        raise HTTPException(401, str(error)) from None
    user = desk.user_of(token)
    return {"token": token, "name": name, "role": "" if user is None else user.role}


def _session(visit: Visit) -> Mapping[str, Any]:
    assert visit.user is not None
    return {"name": visit.user.name, "role": visit.user.role}


def _sign_out(visit: Visit) -> Mapping[str, Any]:
    visit.services.desk.sign_out(visit.token)
    return {"done": True}


def _alerts(visit: Visit) -> Mapping[str, Any]:
    alerts = visit.services.floor.alerts
    wanted = alerts.all if visit.request.query_params.get("all") == "yes" else alerts.open
    return {"alerts": [_alert_json(raised) for raised in wanted]}


def _alerts_live(visit: Visit) -> Response:
    return FeedResponse(visit, _OpenAlerts(visit.services.floor))


class _OpenAlerts:
    """The open alerts, whenever one is raised or acknowledged."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._newest: int | None = None

    def due(self) -> bool:
        """As `Source`."""
        return self._floor.alerts.newest != self._newest

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        now, alerts = self._floor.version, self._floor.alerts
        self._newest = alerts.newest
        return now, {"open_alerts": [_alert_json(raised) for raised in alerts.open]}


def _alert_json(raised: RaisedAlert) -> dict[str, Any]:
    return {
        **raised.alert.as_fields(),
        "raised_unix_ms": raised.raised_unix_ms,
        "open": raised.open,
        "acknowledgements": [
            {"unix_ms": each.unix_ms, "by": each.by, "remark": each.remark}
            for each in raised.acknowledgements
        ],
    }


def _acknowledge(visit: Visit) -> Mapping[str, Any]:
    id_, remark = visit.form.get("id", ""), visit.form.get("remark", "")
    _refusing(visit.services.desk.acknowledge, id_, remark, by=visit.name)
    wait_until_seen(visit, id_, remark)
    return {"done": True}


def _users(visit: Visit) -> Mapping[str, Any]:
    users = visit.services.desk.users()
    return {
        "users": [
            {
                "name": each.name,
                "role": each.role,
                "closed": each.closed,
                "made_unix_ms": each.made_unix_ms,
            }
            for each in users
        ]
    }


def _add_user(visit: Visit) -> Mapping[str, Any]:
    it, desk = visit.form, visit.services.desk
    fields = [it.get(name, "") for name in ("name", "role", "password")]
    _refusing(desk.add_user, *fields, by=visit.name)
    return {"done": True}


def _role(visit: Visit) -> Mapping[str, Any]:
    it, desk = visit.form, visit.services.desk
    _refusing(desk.change_role, it.get("name", ""), it.get("role", ""), by=visit.name)
    return {"done": True}


def _password(visit: Visit) -> Mapping[str, Any]:
    it, desk = visit.form, visit.services.desk
    _refusing(desk.set_password, it.get("name", ""), it.get("password", ""), by=visit.name)
    return {"done": True}


def _close(visit: Visit) -> Mapping[str, Any]:
    _refusing(visit.services.desk.close_user, visit.form.get("name", ""), by=visit.name)
    return {"done": True}


def _refusing(change: Callable[..., None], *fields: str, by: str) -> None:
    try:
        change(*fields, by=by)
    except DeskRefused as error:
        raise HTTPException(400, str(error)) from None


def _views(visit: Visit) -> Mapping[str, Any]:
    notes, older = notes_before(visit)
    return {
        "notes": [
            {
                "number": note.number,
                "unix_ms": note.unix_ms,
                "by": note.by,
                "kind": note.kind,
                "fields": note.json_fields(),
            }
            for note in notes
        ],
        "older": older,
    }


_NAME: dict[str, Schema] = {"name": TEXT}
OPERATIONS = [
    Operation(
        "POST",
        "/api/session",
        _sign_in,
        PUBLIC,
        "Sign in: the answer has the token of a session",
        record(token=TEXT, **_USER),
        body={"name": TEXT, "password": TEXT},
    ),
    Operation("GET", "/api/session", _session, SIGNED_IN, "Who is signed in", record(**_USER)),
    Operation("DELETE", "/api/session", _sign_out, SIGNED_IN, "End the session", _DONE),
    Operation(
        "GET",
        "/api/alerts",
        _alerts,
        "alerts",
        "The open alerts, the newest first",
        record(alerts=list_of(named("Alert"))),
        query={"all": "yes: the acknowledged ones too"},
    ),
    Operation(
        "GET",
        "/api/alerts/live",
        _alerts_live,
        "alerts",
        "The open alerts at first, and whenever one is raised or acknowledged",
        event(open_alerts=list_of(named("Alert"))),
        stream=True,
    ),
    Operation(
        "POST",
        "/api/alerts/acknowledge",
        _acknowledge,
        "acknowledge",
        "Acknowledge an alert with a remark; several may follow each other",
        _DONE,
        body={"id": TEXT, "remark": TEXT},
    ),
    Operation(
        "GET",
        "/api/users",
        _users,
        "users",
        "All users",
        record(users=list_of(named("User"))),
    ),
    Operation(
        "POST",
        "/api/users",
        _add_user,
        "users",
        "Add a user",
        _DONE,
        body={"name": TEXT, "role": TEXT, "password": TEXT},
    ),
    Operation(
        "POST",
        "/api/users/role",
        _role,
        "users",
        "Give a user another role",
        _DONE,
        body={"name": TEXT, "role": TEXT},
    ),
    Operation(
        "POST",
        "/api/users/password",
        _password,
        "users",
        "Set a user's password, which ends the user's sessions",
        _DONE,
        body={"name": TEXT, "password": TEXT},
    ),
    Operation(
        "POST",
        "/api/users/close",
        _close,
        "users",
        "Close a user, which ends the user's sessions",
        _DONE,
        body=_NAME,
    ),
    Operation(
        "GET",
        "/api/views",
        _views,
        "views",
        "What people and the server did, the newest first",
        record(notes=list_of(named("Note")), older=optional(NUMBER)),
        query={"before": "only notes with a lower number: `older` of the answer before"},
    ),
]
