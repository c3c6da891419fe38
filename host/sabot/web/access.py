"""Who gets a page: every route names the right that it needs, and this module asks for it.

A visitor is known by the token of a session, in a cookie, or for the API in the header
`Authorization: Bearer TOKEN`. A form is taken only from a page of this server: its `Origin` must be
ours, and it must have a value that only such a page can have.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex, token_urlsafe
from typing import Any
from urllib.parse import quote

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sabot.desk.desk import User
from sabot.desk.roles import RIGHTS, may
from sabot.web.services import Services

PUBLIC = "public"
"""In place of a right: everyone gets it, without signing in."""
SIGNED_IN = "signed_in"
"""In place of a right: everyone who has signed in gets it."""

API = "/api/"
"""How paths begin whose answers are JSON."""

_LONGEST_S = 30
_THREADS = 8  # for a user, and for all strangers together
_SIGN_INS = 2
"""Made at the same time: one that hashes a password, and one that is written down."""
_SIGNING_IN = "@signing in"  # no user's name
_MOST_WAITING = 100  # to sign in
_SAFE = ("GET", "HEAD")
_SALT_DIGITS = 16
_SESSION, _FORM = "sabot_session", "sabot_form"


@dataclass(frozen=True, slots=True)
class Visit:
    """A request, and who made it."""

    request: Request
    services: Services
    user: User | None
    token: str
    """The token of the session; empty without one."""
    form: Mapping[str, str]
    """What a form, or the JSON object of a request to the API, sent."""

    def may(self, right: str) -> bool:
        """Whether the visitor has this right."""
        return right == PUBLIC or (self.user is not None and _may(self.user, right))

    @property
    def name(self) -> str:
        """The name of the user. Only where a right was asked for."""
        assert self.user is not None
        return self.user.name

    @property
    def origin(self) -> str:
        """The address of the visitor's machine."""
        return self.request.client.host if self.request.client else ""


Handler = Callable[[Visit], Response]
"""Makes the answer; it is called in a thread of its own."""


class Guarded(Route):
    """A route whose handler is called only for those who have `right`."""

    def __init__(
        self, path: str, handler: Handler, right: str, methods: Sequence[str] = ("GET",)
    ) -> None:
        if right not in (*RIGHTS, PUBLIC, SIGNED_IN):
            raise ValueError(f"{path}: there is no right {right!r}")
        self.right = right
        self.handler = handler
        name = f"{handler.__module__}.{handler.__name__}"
        super().__init__(path, self._answer, methods=list(methods), name=name)

    async def _answer(self, request: Request) -> Response:
        """Answer a request, within a limited time."""
        visit = await _visit_of(request)
        request.state.visit = visit
        if self.right != PUBLIC and visit.user is None:
            return _sign_in_first(request)
        if not visit.may(self.right):
            raise HTTPException(403, "your role may not open this page")
        if request.method not in _SAFE:
            _check_form(visit)
        threads = _threads_for(visit)
        try:
            with anyio.fail_after(_LONGEST_S):
                return await anyio.to_thread.run_sync(
                    self.handler, visit, abandon_on_cancel=True, limiter=threads
                )
        except TimeoutError:
            raise HTTPException(503, "the answer took too long; ask for less") from None


def _threads_for(visit: Visit) -> anyio.CapacityLimiter:
    """The threads of a visitor: one user's searches, or the sign-ins of many, which take long, keep
    no one else from the pages. Raises HTTPException."""
    signs_in = visit.user is None and visit.request.method not in _SAFE
    who = _SIGNING_IN if signs_in else None if visit.user is None else visit.user.name
    threads: dict[str | None, anyio.CapacityLimiter] = visit.request.app.state.threads
    if who not in threads:
        threads[who] = anyio.CapacityLimiter(_SIGN_INS if signs_in else _THREADS)
    if signs_in and threads[who].statistics().tasks_waiting >= _MOST_WAITING:
        raise HTTPException(503, "too many people sign in at once; try again in a moment")
    return threads[who]


def form_token(visit: Visit) -> str:
    """The value by which a form is known to be from a page for this visitor. It is another one on
    each page: the lengths of compressed answers, compared, tell nothing of it."""
    state = visit.request.state
    if not hasattr(state, "salt"):
        state.salt = token_hex(_SALT_DIGITS // 2)
    return _form_token(visit, state.salt)


def _form_token(visit: Visit, salt: str) -> str:
    secret = visit.token or visit.request.state.form_secret
    return salt + hmac.digest(secret.encode(), f"sabot form {salt}".encode(), "sha256").hex()


def browser_of(visit: Visit) -> str:
    """A value that is the same on all pages of a session, and on no others; empty without one. The
    pages of a browser share a feed as long as they have the same."""
    return (
        hmac.digest(visit.token.encode(), b"sabot feed", "sha256").hex()[:16] if visit.token else ""
    )


def let_in(response: Response, request: Request, token: str) -> None:
    """Have the browser keep the token of a new session, until it is closed."""
    _set_cookie(response, request, _SESSION, token)


def let_out(response: Response, request: Request) -> None:
    """Have the browser forget the session."""
    response.delete_cookie(_cookie(request, _SESSION), secure=_tls(request), httponly=True)


def keep_form_secret(response: Response, request: Request) -> None:
    """Have the browser keep what proves the form of a page without a session."""
    _set_cookie(response, request, _FORM, request.state.form_secret)


def stranger(request: Request) -> Visit:
    """A visit of which it is not known who made it."""
    request.state.form_secret = token_urlsafe(32)
    return Visit(request, request.app.state.services, None, "", {})


async def _visit_of(request: Request) -> Visit:
    services: Services = request.app.state.services
    token, by_header = _token_of(request)
    user = await run_in_threadpool(services.desk.user_of, token) if token else None
    request.state.by_header = by_header
    request.state.form_secret = request.cookies.get(_cookie(request, _FORM)) or token_urlsafe(32)
    form = await _form_of(request) if request.method not in _SAFE else {}
    return Visit(request, services, user, token if user else "", form)


def _token_of(request: Request) -> tuple[str, bool]:
    """The token, and whether it came in a header, which no other site's page can send."""
    if request.url.path.startswith(API):
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip(), True
    return request.cookies.get(_cookie(request, _SESSION), ""), False


async def _form_of(request: Request) -> Mapping[str, str]:
    """The fields that came. Raises HTTPException."""
    try:
        return await _form_in_time(request)
    except ClientDisconnect:
        raise HTTPException(400, "the connection ended before the request") from None


async def _form_in_time(request: Request) -> Mapping[str, str]:
    kind = request.headers.get("content-type", "")
    with anyio.move_on_after(_LONGEST_S):
        if kind.startswith("application/json"):
            return _fields_of(await _json_of(request))
        if kind.startswith("multipart/"):  # no page of ours sends it
            raise HTTPException(400, "a form cannot come in parts; send its fields")
        async with request.form(max_fields=100) as form:
            return {name: value for name, value in form.items() if isinstance(value, str)}
    raise HTTPException(408, "the request came too slowly; send it again")


async def _json_of(request: Request) -> Any:
    try:
        return await request.json()
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None


def _fields_of(sent: Any) -> Mapping[str, str]:
    if not isinstance(sent, dict) or not all(map(_is_text, sent.values())):
        raise HTTPException(400, "the body must be a JSON object of texts")
    return sent


def _is_text(sent: object) -> bool:
    """Whether it is text that can be stored: JSON can have halves of characters."""
    return isinstance(sent, str) and not any("\ud800" <= each <= "\udfff" for each in sent)


def _check_form(visit: Visit) -> None:
    """Raise HTTPException unless the form is from a page of ours, for this visitor."""
    request = visit.request
    origin = request.headers.get("origin")
    if origin is not None and origin != f"{request.url.scheme}://{request.url.netloc}":
        raise HTTPException(403, "the form is from another site")
    if request.state.by_header or _not_by_a_form(request):
        return
    given = visit.form.get("form_token", "")
    wanted = _form_token(visit, given[:_SALT_DIGITS])
    if not hmac.compare_digest(given.encode(), wanted.encode()):
        raise HTTPException(403, "the form is too old; open the page again")


def _not_by_a_form(request: Request) -> bool:
    """Whether it is a request to the API that no form of another site's page can send."""
    is_json = request.headers.get("content-type", "").startswith("application/json")
    return request.url.path.startswith(API) and (is_json or request.method != "POST")


def _sign_in_first(request: Request) -> Response:
    """The way to the sign-in page, for a browser that opens a page; an error for all else."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/sign-in?then={quote(wanted, safe='')}", 303)
    raise HTTPException(401, "sign in first")


def _may(user: User, right: str) -> bool:
    return right == SIGNED_IN or may(user.role, right)


def _tls(request: Request) -> bool:
    return request.url.scheme == "https"


def _cookie(request: Request, name: str) -> str:
    """The name of a cookie; under TLS one that no other host or path can set."""
    return f"__Host-{name}" if _tls(request) else name


def _set_cookie(response: Response, request: Request, name: str, value: str) -> None:
    response.set_cookie(
        _cookie(request, name), value, secure=_tls(request), httponly=True, samesite="strict"
    )
