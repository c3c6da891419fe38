"""What the cards of the log give away: the last study of it, and the way to begin another."""

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from sabot.table_time import text_of
from sabot.web.access import Guarded, Visit
from sabot.web.rendering import page

_ADDRESS = "/integrity"


def _integrity(visit: Visit) -> Response:
    state, found = visit.services.study.state, visit.services.study.state.found
    shown = {
        "state": state,
        "found": found,
        "parts": Markup("" if found is None else found.parts),  # escaped by the report
        "ended": "" if found is None else text_of(found.unix_ms, visit.services.zone),
    }
    return page(visit, "integrity.html", shown)


def _begin(visit: Visit) -> Response:
    visit.services.study.begin(visit.services.store.place, visit.services.zone)
    return RedirectResponse(_ADDRESS, 303)


def _picture(visit: Visit) -> Response:
    found = visit.services.study.state.found
    name = visit.request.path_params["name"]
    if found is None or name not in found.pictures:
        raise HTTPException(404, "there is no such picture")
    return Response(found.pictures[name], media_type="image/png")


def _report(visit: Visit) -> Response:
    found = visit.services.study.state.found
    if found is None:
        raise HTTPException(404, "no study has ended yet; begin one first")
    name = {"content-disposition": 'attachment; filename="integrity.html"'}
    return Response(found.report, media_type="text/html", headers=name)


ROUTES = [
    Guarded(_ADDRESS, _integrity, "integrity"),
    Guarded(f"{_ADDRESS}/begin", _begin, "integrity", ["POST"]),
    Guarded(f"{_ADDRESS}/report", _report, "integrity"),
    Guarded(f"{_ADDRESS}/pictures/{{name}}", _picture, "integrity"),
]
