"""The users, for the administrator: who may sign in, and with which role."""

from collections.abc import Callable

from starlette.responses import RedirectResponse, Response

from sabot.desk.desk import Desk
from sabot.desk.roles import RIGHTS, ROLES
from sabot.errors import DeskRefused
from sabot.table_time import text_of
from sabot.web.access import Guarded, Handler, Visit
from sabot.web.rendering import page

_MOST_PASSWORD = 200
_RIGHTS = {
    "boards": "the list of the players' boards",
    "wall": "the wall",
    "table": "a table",
    "round": "a round",
    "search": "the search",
    "records": "raw records and MACs",
    "counts": "the cards that came out of a shoe of cards in play",
    "alerts": "alerts",
    "acknowledge": "acknowledging alerts",
    "health": "the health of the sensors",
    "export": "a round's printed page and signed bundle",
    "integrity": "what the cards of shoes that have ended give away, and who wagered when",
    "users": "users",
    "views": "who did what",
}


def _users(visit: Visit) -> Response:
    return _page(visit)


def _page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    shown = {
        "users": visit.services.desk.users(),
        "roles": ROLES,
        "rights": [(_RIGHTS[right], roles) for right, roles in RIGHTS.items()],
        "problem": problem,
        "most": _MOST_PASSWORD,
        "time_of": lambda unix_ms: text_of(unix_ms, visit.services.zone),
    }
    return page(visit, "users.html", shown, status=status)


def _changing(change: Callable[[Desk, dict[str, str], str], None]) -> Handler:
    """A handler that makes a change, and shows the users as they are then."""

    def handler(visit: Visit) -> Response:
        fields = {name: visit.form.get(name, "") for name in ("name", "role", "password")}
        fields["name"] = fields["name"].strip()
        try:
            change(visit.services.desk, fields, visit.name)
        except DeskRefused as error:
            return _page(visit, str(error), 400)
        return RedirectResponse("/users", 303)

    return handler


def _add(desk: Desk, it: dict[str, str], by: str) -> None:
    desk.add_user(it["name"], it["role"], it["password"], by=by)


def _role(desk: Desk, it: dict[str, str], by: str) -> None:
    desk.change_role(it["name"], it["role"], by=by)


def _password(desk: Desk, it: dict[str, str], by: str) -> None:
    desk.set_password(it["name"], it["password"], by=by)


def _close(desk: Desk, it: dict[str, str], by: str) -> None:
    desk.close_user(it["name"], by=by)


ROUTES = [
    Guarded("/users", _users, "users"),
    *(
        Guarded(f"/users/{name}", _changing(change), "users", ["POST"])
        for name, change in (
            ("add", _add),
            ("role", _role),
            ("password", _password),
            ("close", _close),
        )
    ),
]
