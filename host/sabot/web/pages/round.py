"""A round: its cards, its decisions, its proof; downloads of the bundle and of the printed page."""

import hashlib
import time
from datetime import tzinfo
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from sabot.audit import bundle_file
from sabot.audit.excerpt import collect
from sabot.errors import SabotError
from sabot.floor.rounds import proof
from sabot.floor.rounds.round_view import RoundView, Sources
from sabot.html import page as whole_page
from sabot.keys import signing
from sabot.log.boards import unit_of
from sabot.log.found import LARGEST, Filter
from sabot.log.reading.remainder import shoe_in_play
from sabot.log.reveal import hidden_round
from sabot.notable.clock_changes import change_after
from sabot.notable.incident import Incident
from sabot.table_time import moment_of, text_of, time_of_day
from sabot.web.access import Guarded, Visit
from sabot.web.files import style_of
from sabot.web.rendering import html_of, page
from sabot.web.round_picture import picture_of

_ADDRESS = "/rounds/{unit:path}/{shoe}/{round}"
_BUNDLE, _PAGE = "bundle", "page"
_IN_PLAY = (
    "shoe of cards is in play: its bundle is given out when it has ended, or before by "
    "sabot serve --open-bundles"
)
_FINAL = ("betting_open", "shoe_loaded")
"""What can void a round, a misdeal, cannot come any more after one of these kinds."""


def address_of(unit: str, shoe: int, round_: int, first_event: int | None = None) -> str:
    """The address of a round's page."""
    named = "" if first_event is None else f"?event={first_event}"
    return f"/rounds/{unit}/{shoe}/{round_}{named}"


def _round(visit: Visit) -> Response:
    view = view_of(visit)
    services = visit.services
    note_opened(visit, view)
    before, after = services.index.beside(view.unit, view.first_event)
    shown = _shown(visit, view) | {
        "before": before,
        "after": after,
        "progress": services.index.progress,
        "can_export": visit.may("export"),
        "operator": services.operator is not None,
        "may_leave": _may_leave(visit, view),
        "in_play": "" if _may_leave_open(visit, view) else _IN_PLAY,
    }
    return page(visit, "round.html", shown)


def _shown(visit: Visit, view: RoundView) -> dict[str, Any]:
    zone = visit.services.zone
    times = {each.number: each.unix_ms for each in view.events}
    return {
        "r": view,
        "clock": change_after(visit.services.store, view.unit, view.first_event),
        "time_at": lambda event: _exact(times.get(event), zone),
        "picture": picture_of(view),
        "zone": str(zone),
        "verdict": proof.worst(view.proofs),
        "records": visit.may("records"),
        "time_of": lambda unix_ms: _time_of(unix_ms, zone),
        "exact": lambda unix_ms: _exact(unix_ms, zone),
        "full": lambda unix_ms: text_of(unix_ms, zone),
        "day_of": lambda unix_ms: _day_of(unix_ms, zone),
        "when": lambda incident: _when(incident, zone),
        "what": lambda incident: incident.what(zone),
    }


def _bundle(visit: Visit) -> Response:
    view, services = view_of(visit), visit.services
    if services.operator is None:
        raise HTTPException(409, "the server has no operator's key: sabot serve --operator-key")
    keys = services.keys if services.keys and services.keys.chains(unit_of(view.unit)) else None
    try:
        excerpt = collect(
            services.store, view.unit, view.shoe, keys=keys, still_open=True,
            exported_unix_ms=time.time_ns() // 1_000_000,
        )  # fmt: skip
        if not _may_leave_open(visit, view):
            raise HTTPException(409, f"the {_IN_PLAY}")
        # Now, not before: a round may have ended face down meanwhile.
        if not _may_leave(visit, view):
            raise HTTPException(
                409, "a round of this shoe of cards must not be shown yet; wait for it"
            )
        data = bundle_file.signed(excerpt, services.operator)
    except SabotError as error:
        raise HTTPException(409, str(error)) from None
    _note_export(visit, view, _BUNDLE, data)
    return _download(data, f"{_stem(view, of_shoe=True)}.sabot", "application/octet-stream")


def _printed(visit: Visit) -> Response:
    view, services = view_of(visit), visit.services
    signer = None
    if services.operator is not None:
        signer = signing.fingerprint(signing.public_of(services.operator))
    later = Filter(view.unit, kinds=_FINAL, first=view.last_event + 1)
    more = {
        "by": visit.name,
        "newest": services.store.last_number(view.unit),
        "final": next(services.store.rows(later), None) is not None,
        "now": text_of(time.time_ns() // 1_000_000, services.zone),
        "address": f"{visit.request.base_url}".rstrip("/") + address_of(
            view.unit, view.shoe, view.round, view.first_event),
        "signer": signer,
    }  # fmt: skip
    body = html_of("round/printed.html", **_shown(visit, view), **more)
    title = f"Round {view.round} of shoe of cards {view.shoe}, unit {view.unit}"
    data = whole_page(title, style_of("printed.css"), [body]).encode()
    _note_export(visit, view, _PAGE, data)
    return _download(data, f"{_stem(view)}.html", "text/html; charset=utf-8")


def _pass(visit: Visit) -> Response:
    view, folder = view_of(visit), visit.services.captures
    name = visit.request.path_params["name"]
    if folder is None or name not in {each.picture for each in view.passes}:
        raise HTTPException(404, "no such picture belongs to this round")
    return FileResponse(folder / name, media_type="image/png")


def view_of(visit: Visit) -> RoundView:
    """The round that was asked for. Raises HTTPException."""
    services, asked = visit.services, visit.request.path_params
    unit = str(asked["unit"])
    shoe, round_ = (_number(str(asked[name])) for name in ("shoe", "round"))
    event = visit.request.query_params.get("event", "")
    sources = Sources(
        services.store, services.index, services.prover, services.zone, services.captures
    )
    view = None
    if shoe is not None and round_ is not None:
        view = sources.view(unit, shoe, round_, _number(event))
    if view is None:
        raise HTTPException(
            404, "the log does not have this round; it may have been removed by retention"
        )
    return view


def note_opened(visit: Visit, view: RoundView) -> None:
    """Note at the desk that the visitor has opened a round."""
    visit.services.desk.opened_round(view.unit, view.shoe, view.round, by=visit.name)


def _number(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
    return number if number is not None and number <= LARGEST else None


def _may_leave_open(visit: Visit, view: RoundView) -> bool:
    """Whether the bundle of a round may be given out although its shoe of cards may be in play."""
    if visit.services.open_bundles:
        return True
    in_play = shoe_in_play(visit.services.store, view.unit)
    return in_play is None or view.last_event < in_play.first_event


def _may_leave(visit: Visit, view: RoundView) -> bool:
    """Whether the records of the shoe of cards may leave: no round in it must be hidden."""
    hidden = hidden_round(visit.services.store, view.unit)
    return hidden is None or hidden[0] != view.shoe


def _note_export(visit: Visit, view: RoundView, what: str, data: bytes) -> None:
    sha256 = hashlib.sha256(data).digest()
    visit.services.desk.exported(
        view.unit, view.shoe, view.round, what=what, sha256=sha256, by=visit.name
    )


def _download(data: bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=kind, headers=headers)


def _stem(view: RoundView, *, of_shoe: bool = False) -> str:
    unit = "".join(each if each.isalnum() and each.isascii() else "-" for each in view.unit)[:40]
    return f"{unit}-shoe{view.shoe}" + ("" if of_shoe else f"-round{view.round}")


def _time_of(unix_ms: int | None, zone: tzinfo) -> str:
    return "no clock" if unix_ms is None else time_of_day(unix_ms, zone)


def _exact(unix_ms: int | None, zone: tzinfo) -> str:
    """A time of day to the hundredth of a second."""
    moment = None if unix_ms is None else moment_of(unix_ms, zone)
    if moment is None:
        return _time_of(unix_ms, zone)
    return f"{moment:%H:%M:%S}.{moment.microsecond // 10_000:02}"


def _day_of(unix_ms: int | None, zone: tzinfo) -> str:
    moment = None if unix_ms is None else moment_of(unix_ms, zone)
    return "no clock" if moment is None else f"{moment:%A %Y-%m-%d}"


def _when(incident: Incident, zone: tzinfo) -> str:
    reckoned = " (reckoned)" * incident.reckoned
    return _time_of(incident.unix_ms, zone) + reckoned


ROUTES = [
    Guarded(f"{_ADDRESS}/bundle", _bundle, "export", ["POST"]),
    Guarded(f"{_ADDRESS}/printed", _printed, "export", ["POST"]),
    Guarded(f"{_ADDRESS}/passes/{{name}}", _pass, "round"),
    Guarded(_ADDRESS, _round, "round"),
]
