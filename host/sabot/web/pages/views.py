"""What people did at the screens: who opened which round, who took a file, who signed in."""

from itertools import takewhile

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.desk.desk import Desk
from sabot.desk.notes import Note
from sabot.table_time import text_of
from sabot.text import counted
from sabot.web.access import Guarded, Visit
from sabot.web.rendering import page

_STEP = 500  # notes that are read at once
_ENOUGH = 100  # on a page
_MOST_STEPS = 10  # most notes may be alerts
_LONGEST_NUMBER = 18


def notes_before(visit: Visit) -> tuple[list[Note], int | None]:
    """The notes before the one that the query names, the newest first, and the number before which
    there are more; None if there are none. Raises HTTPException."""
    return _before(visit.services.desk, _asked(visit))


def _views(visit: Visit) -> Response:
    """What people did: alerts that the server raised have a page of their own."""
    of_people: list[Note] = []
    older: int | None = _asked(visit)
    for _ in range(_MOST_STEPS):
        if older is None or len(of_people) >= _ENOUGH:
            break
        notes, older = _before(visit.services.desk, older)
        of_people += [note for note in notes if note.kind != "alert"]
    shown = {
        "notes": [(note, _what(note), _round(note)) for note in of_people],
        "older": older,
        "time_of": lambda unix_ms: text_of(unix_ms, visit.services.zone),
    }
    return page(visit, "views.html", shown)


def _before(desk: Desk, before: int) -> tuple[list[Note], int | None]:
    first = max(1, before - _STEP)
    notes = list(takewhile(lambda note: note.number < before, desk.notes(first - 1)))
    return notes[::-1], first if first > 1 else None


def _asked(visit: Visit) -> int:
    """The note that the query names; the one that will be the next without it."""
    end = visit.services.desk.newest_note() + 1
    return min(_number(visit.request.query_params.get("before"), end), end)


def _number(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise HTTPException(400, "before is the number of a note")
    return int(text)


def _what(note: Note) -> str:
    """What was done, in words."""
    it = note.fields
    match note.kind:
        case "desk_opened":
            return "the first administrator was made"
        case "user_made":
            return f"added {it['name']}, {it['role']}"
        case "role_changed":
            return f"gave {it['name']} the role {it['role']}"
        case "password_set":
            return f"set the password of {it['name']}"
        case "user_closed":
            return f"closed {it['name']}"
        case "signed_in":
            return f"signed in from {it['origin']}"
        case "sign_in_refused":
            more = f" and {counted(it['more'], 'more time')}" if it["more"] else ""
            return f"refused {it['name'] or 'an unknown name'} from {it['origin']}{more}"
        case "signed_out":
            return "signed out"
        case "acknowledged":
            return f"acknowledged {it['id']}: {it['remark']}"
        case "round_opened":
            return f"opened {_place(note)}"
        case "on_duty":
            return f"noted {it['person'] or 'no one'} as {it['task']} at {it['table']}"
        case "exported":
            return f"took the {it['what']} of {_place(note)}"
    return note.kind.replace("_", " ")


def _place(note: Note) -> str:
    it = note.fields
    return f"{it['unit']}, shoe {it['shoe']}, round {it['round']}"


def _round(note: Note) -> tuple[str, int, int] | None:
    """Unit, shoe of cards and round that a note is about; None if it is about none."""
    it = note.fields
    if note.kind not in ("round_opened", "exported"):
        return None
    return it["unit"], it["shoe"], it["round"]


ROUTES = [Guarded("/views", _views, "views")]
