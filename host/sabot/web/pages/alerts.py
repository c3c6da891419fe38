"""Alerts: what someone must look at. They stay until they are acknowledged, with a remark."""

import time
from collections import Counter
from collections.abc import Mapping

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from sabot.desk.notes import LONGEST_TEXT
from sabot.errors import DeskRefused
from sabot.notable.kinds import kind_named
from sabot.table_time import text_of
from sabot.web.access import Guarded, Visit, form_token
from sabot.web.feed import Live
from sabot.web.rendering import html_of, page
from sabot.web.sources import Nothing, Parts, Source

_MOST_OPEN, _MOST_DONE = 200, 50
_MANY = 3
"""So many open alerts of a kind can be acknowledged together: a log that was not served for a day
has a silent shoe at every table."""
_SEEN_WITHIN_S = 2.0
_POLL_S = 0.02


def _alerts(visit: Visit) -> Response:
    return _page(visit)


def _page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    version = visit.services.floor.version
    shown = {
        "have": visit.request.app.state.feeds.id_of(version),
        "problem": problem,
        "parts": {id_: Markup(html) for id_, html in _parts(visit).items()},
    }
    return page(visit, "alerts.html", shown, status=status)


def _live(visit: Visit) -> Source:
    """What changes on the page, or for other pages the count alone."""
    floor = visit.services.floor
    if "count" in visit.request.query_params:
        return Nothing()
    return Parts(floor, lambda: floor.alerts.newest, lambda: _parts(visit))


def _acknowledge(visit: Visit) -> Response:
    id_, remark = visit.form.get("id", ""), visit.form.get("remark", "").strip()
    try:
        visit.services.desk.acknowledge(id_, remark, by=visit.name)
    except DeskRefused as error:
        return _page(visit, str(error), 400)
    wait_until_seen(visit, id_, remark)
    return RedirectResponse("/alerts#main", 303)  # the next Tab is in the first open alert


def _acknowledge_kind(visit: Visit) -> Response:
    """All open alerts of a kind that the page showed, with one remark."""
    kind, remark = visit.form.get("kind", ""), visit.form.get("remark", "").strip()
    newest = visit.form.get("newest", "")
    number = int(newest) if newest.isascii() and newest.isdecimal() and len(newest) < 16 else 0
    try:
        last = visit.services.desk.acknowledge_kind(kind, number, remark, by=visit.name)
    except DeskRefused as error:
        return _page(visit, str(error), 400)
    wait_until_seen(visit, last, remark)
    return RedirectResponse("/alerts#main", 303)


def wait_until_seen(visit: Visit, alert_id: str, remark: str) -> None:
    """Wait for a moment until the floor has seen the acknowledgement that was just made."""
    alerts, end_s = visit.services.floor.alerts, time.monotonic() + _SEEN_WITHIN_S
    while time.monotonic() < end_s:
        raised = alerts.of(alert_id)
        seen = () if raised is None else raised.acknowledgements
        if any((each.by, each.remark) == (visit.name, remark) for each in seen):
            return
        time.sleep(_POLL_S)


def _parts(visit: Visit) -> Mapping[str, str]:
    """The parts of the page that change, by the id of their element."""
    floor = visit.services.floor
    alerts = floor.alerts
    still_open = alerts.open
    done = [raised for raised in alerts.all if not raised.open]
    tables = {tile.table.unit: tile.table.name for tile in floor.tiles()}
    shown = {
        "tables": tables,
        "kind_named": kind_named,
        "time_of": lambda unix_ms: text_of(unix_ms, visit.services.zone),
        "may": visit.may,
        "form_token": form_token(visit),
        "most": LONGEST_TEXT,
    }
    more = max(0, len(still_open) - _MOST_OPEN)
    counts = Counter(raised.alert.kind for raised in still_open)
    many = [(kind, count) for kind, count in counts.most_common() if count >= _MANY]
    newest = max((raised.number for raised in still_open), default=0)
    return {
        "part-many": html_of("alerts/many.html", many=many, newest=newest, **shown),
        "part-open": html_of(
            "alerts/list.html", raised=still_open[:_MOST_OPEN], more=more, **shown
        ),
        "part-done": html_of("alerts/list.html", raised=done[:_MOST_DONE], more=0, **shown),
    }


ROUTES = [
    Guarded("/alerts", _alerts, "alerts"),
    Live("/alerts/live", _live, "alerts"),
    Guarded("/alerts/acknowledge", _acknowledge, "acknowledge", ["POST"]),
    Guarded("/alerts/acknowledge-kind", _acknowledge_kind, "acknowledge", ["POST"]),
]
