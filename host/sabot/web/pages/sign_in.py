"""Signing in and out."""

from collections.abc import Mapping
from math import ceil

from starlette.responses import RedirectResponse, Response

from sabot.desk.roles import may
from sabot.desk.tables import User
from sabot.errors import TooManyTries, WrongPassword
from sabot.web.access import PUBLIC, SIGNED_IN, Guarded, Visit, keep_form_secret, let_in, let_out
from sabot.web.rendering import page


def _form(visit: Visit) -> Response:
    then = _local(visit.request.query_params.get("then", "/"))
    if visit.user is not None:
        return RedirectResponse(_first_page(then, visit.user), 303)
    return _page(visit, {"then": then, "name": "", "problem": ""})


def _page(visit: Visit, shown: Mapping[str, str], status: int = 200) -> Response:
    response = page(visit, "sign_in.html", shown, status=status)
    keep_form_secret(response, visit.request)
    return response


def _sign_in(visit: Visit) -> Response:
    name, then = visit.form.get("name", ""), _local(visit.form.get("then", "/"))
    shown = {"then": then, "name": name}
    try:
        token = visit.services.desk.sign_in(
            name, visit.form.get("password", ""), origin=visit.origin
        )
    except TooManyTries as error:
        problem = f"Too many tries. Wait {ceil(error.wait_s)} seconds."
        response = _page(visit, shown | {"problem": problem}, 429)
        response.headers["retry-after"] = str(ceil(error.wait_s))
        return response
    except WrongPassword:
        problem = "The name or the password is wrong."
        return _page(visit, shown | {"problem": problem}, 401)
    user = visit.services.desk.user_of(token)
    done = RedirectResponse(_first_page(then, user), 303)
    let_in(done, visit.request, token)
    return done


def _sign_out(visit: Visit) -> Response:
    visit.services.desk.sign_out(visit.token)
    done = RedirectResponse("/sign-in", 303)
    let_out(done, visit.request)
    return done


def _first_page(then: str, user: User | None) -> str:
    """Where a user goes who wants to go to `then`: one who may not see the wall, to the boards."""
    walls = user is None or may(user.role, "wall")
    return "/boards" if then == "/" and not walls else then


def _local(path: str) -> str:
    """The path, if it is of this server; else that of the first page."""
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if ours else "/"


ROUTES = [
    Guarded("/sign-in", _form, PUBLIC),
    Guarded("/sign-in", _sign_in, PUBLIC, ["POST"]),
    Guarded("/sign-out", _sign_out, SIGNED_IN, ["POST"]),
]
