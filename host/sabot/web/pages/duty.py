"""Who is on duty at a table: signing on and off, from the table's page."""

import time

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from sabot.desk.roster import Shift
from sabot.errors import DeskRefused
from sabot.web.access import Guarded, Visit
from sabot.web.pages.table import tile_of


def note(visit: Visit, unit: str) -> None:
    """Note what the form says: that a person has a task at the table of this unit from now on, or
    without a person that no one has it any more. Raises DeskRefused, HTTPException."""
    tile = tile_of(visit, unit)
    table = tile.table.name
    if not table:
        raise DeskRefused("the log does not say at which table this unit stands")
    person, task = visit.form.get("person", "").strip(), visit.form.get("task", "")
    shift = Shift(table, task, person, _now_unix_ms(), None, visit.name)
    visit.services.desk.note_shifts([shift], by=visit.name)


def _note(visit: Visit) -> Response:
    unit = visit.request.path_params["unit"]
    try:
        note(visit, unit)
    except DeskRefused as error:
        raise HTTPException(400, str(error)) from None
    return RedirectResponse(f"{visit.request.url.path.removesuffix('/duty')}#duty", 303)


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


ROUTES = [Guarded("/tables/{unit:path}/duty", _note, "acknowledge", ["POST"])]
