"""What people did at the screens: who opened which round, who took a file, who signed in."""

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.desk.notes import Note
from sabot.reports.table_time import text_of
from sabot.web.access import Guarded, Visit
from sabot.web.rendering import page

_AT_ONCE = 200
_LONGEST_NUMBER = 18


def notes_before(visit: Visit) -> tuple[list[Note], int | None]:
    """The notes before the one that the query names, the newest first, and the number before which
    there are more; None if there are none. Raises HTTPException."""
    desk = visit.services.desk
    before = _number(visit.request.query_params.get("before"), desk.newest_note() + 1)
    first = max(1, before - _AT_ONCE)
    notes = [note for note in desk.notes(first - 1) if note.number < before]
    return notes[::-1], first if first > 1 else None


def _views(visit: Visit) -> Response:
    notes, older = notes_before(visit)
    shown = {
        "notes": [(note, _what(note), _round(note)) for note in notes],
        "older": older,
        "time_of": lambda unix_ms: text_of(unix_ms, visit.services.zone),
    }
    return page(visit, "views.html", shown)


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
            more = f" and {it['more']:,} more times" if it["more"] else ""
            return f"refused {it['name'] or 'an unknown name'} from {it['origin']}{more}"
        case "signed_out":
            return "signed out"
        case "alert":
            return f"alert: {it['kind'].replace('_', ' ')} at {it['unit']}: {it['detail']}"
        case "acknowledged":
            return f"acknowledged {it['id']}: {it['remark']}"
        case "round_opened":
            return f"opened {_place(note)}"
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
