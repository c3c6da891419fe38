"""Sessions, users, alerts and what people did, as JSON."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Annotated, Any, TypedDict

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.desk.alerts import RaisedAlert
from sabot.desk.roles import ROLES
from sabot.errors import DeskRefused, TooManyTries, WrongPassword
from sabot.floor.live import Floor
from sabot.web.access import PUBLIC, SIGNED_IN, Visit
from sabot.web.api.operations import Operation
from sabot.web.feed import FeedResponse
from sabot.web.pages.alerts import wait_until_seen
from sabot.web.pages.views import notes_before
from sabot.web.sources import Changed


class _Session(TypedDict):
    name: str
    role: Annotated[str, ROLES]


class _NewSession(TypedDict):
    token: str
    name: str
    role: Annotated[str, ROLES]


class _Done(TypedDict):
    done: bool


class User(TypedDict):
    """A user, who can sign in unless closed."""

    name: str
    role: Annotated[str, ROLES]
    closed: bool
    made_unix_ms: int


class _Users(TypedDict):
    users: list[User]


class _Acknowledgement(TypedDict):
    unix_ms: int
    by: str
    remark: str


class Alert(TypedDict):
    """An alert, of an event or of a shoe that is away."""

    id: str
    unit: str
    kind: str
    event: int | None
    shoe: int
    round: int
    unix_ms: int
    detail: str
    raised_unix_ms: int
    open: bool
    acknowledgements: list[_Acknowledgement]


class _Alerts(TypedDict):
    alerts: list[Alert]


class _AlertsChanged(TypedDict):
    open_alerts: list[Alert]


class Note(TypedDict):
    """What a person or the server did; the fields depend on the kind."""

    number: int
    unix_ms: int
    by: str
    kind: str
    fields: Mapping[str, Any]


class _Notes(TypedDict):
    notes: list[Note]
    older: int | None


def _sign_in(visit: Visit) -> _NewSession:
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


def _session(visit: Visit) -> _Session:
    assert visit.user is not None
    return {"name": visit.user.name, "role": visit.user.role}


def _sign_out(visit: Visit) -> _Done:
    visit.services.desk.sign_out(visit.token)
    return {"done": True}


def _alerts(visit: Visit) -> _Alerts:
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
        changed: _AlertsChanged = {"open_alerts": [_alert_json(each) for each in alerts.open]}
        return now, changed


def _alert_json(raised: RaisedAlert) -> Alert:
    alert = raised.alert
    return {
        "id": alert.id,
        "unit": alert.unit,
        "kind": alert.kind,
        "event": alert.event,
        "shoe": alert.shoe,
        "round": alert.round,
        "unix_ms": alert.unix_ms,
        "detail": alert.detail,
        "raised_unix_ms": raised.raised_unix_ms,
        "open": raised.open,
        "acknowledgements": [
            {"unix_ms": each.unix_ms, "by": each.by, "remark": each.remark}
            for each in raised.acknowledgements
        ],
    }


def _acknowledge(visit: Visit) -> _Done:
    id_, remark = visit.form.get("id", ""), visit.form.get("remark", "")
    _refusing(visit.services.desk.acknowledge, id_, remark, by=visit.name)
    wait_until_seen(visit, id_, remark)
    return {"done": True}


def _users(visit: Visit) -> _Users:
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


def _add_user(visit: Visit) -> _Done:
    it, desk = visit.form, visit.services.desk
    fields = [it.get(name, "") for name in ("name", "role", "password")]
    _refusing(desk.add_user, *fields, by=visit.name)
    return {"done": True}


def _role(visit: Visit) -> _Done:
    it, desk = visit.form, visit.services.desk
    _refusing(desk.change_role, it.get("name", ""), it.get("role", ""), by=visit.name)
    return {"done": True}


def _password(visit: Visit) -> _Done:
    it, desk = visit.form, visit.services.desk
    _refusing(desk.set_password, it.get("name", ""), it.get("password", ""), by=visit.name)
    return {"done": True}


def _close(visit: Visit) -> _Done:
    _refusing(visit.services.desk.close_user, visit.form.get("name", ""), by=visit.name)
    return {"done": True}


def _refusing(change: Callable[..., None], *fields: str, by: str) -> None:
    try:
        change(*fields, by=by)
    except DeskRefused as error:
        raise HTTPException(400, str(error)) from None


def _views(visit: Visit) -> _Notes:
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


OPERATIONS = [
    Operation(
        "POST",
        "/api/session",
        _sign_in,
        PUBLIC,
        "Sign in: the answer has the token of a session",
        body=("name", "password"),
    ),
    Operation("GET", "/api/session", _session, SIGNED_IN, "Who is signed in"),
    Operation("DELETE", "/api/session", _sign_out, SIGNED_IN, "End the session"),
    Operation(
        "GET",
        "/api/alerts",
        _alerts,
        "alerts",
        "The open alerts, the newest first",
        query={"all": "yes: the acknowledged ones too"},
    ),
    Operation(
        "GET",
        "/api/alerts/live",
        _alerts_live,
        "alerts",
        "The open alerts at first, and whenever one is raised or acknowledged",
        streams=_AlertsChanged,
    ),
    Operation(
        "POST",
        "/api/alerts/acknowledge",
        _acknowledge,
        "acknowledge",
        "Acknowledge an alert with a remark; several may follow each other",
        body=("id", "remark"),
    ),
    Operation(
        "GET",
        "/api/users",
        _users,
        "users",
        "All users",
    ),
    Operation(
        "POST",
        "/api/users",
        _add_user,
        "users",
        "Add a user",
        body=("name", "role", "password"),
    ),
    Operation(
        "POST",
        "/api/users/role",
        _role,
        "users",
        "Give a user another role",
        body=("name", "role"),
    ),
    Operation(
        "POST",
        "/api/users/password",
        _password,
        "users",
        "Set a user's password, which ends the user's sessions",
        body=("name", "password"),
    ),
    Operation(
        "POST",
        "/api/users/close",
        _close,
        "users",
        "Close a user, which ends the user's sessions",
        body=("name",),
    ),
    Operation(
        "GET",
        "/api/views",
        _views,
        "views",
        "What people and the server did, the newest first",
        query={"before": "only notes with a lower number: `older` of the answer before"},
    ),
]
