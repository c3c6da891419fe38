"""Makes pages of the templates. Every text that they show is escaped, and is one printable line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from sabot.silences import PICTURE
from sabot.text import card_symbol, counted, printable, spaced
from sabot.web.access import Visit, browser_of, form_token
from sabot.web.files import address_of

NAVIGATION = (
    ("/", "Wall", "wall"),
    ("/alerts", "Alerts", "alerts"),
    ("/search", "Search", "search"),
    ("/integrity", "Integrity", "integrity"),
    ("/boards", "Boards", "boards"),
    ("/views", "Who did what", "views"),
    ("/users", "Users", "users"),
)
"""Path, name and right of the pages in the head of every page; a visitor sees those that may be
opened."""


def _as_text(value: object) -> object:
    """What a template shows in place of a value."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_as_text,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_TEMPLATES.globals |= {"address_of": address_of, "silence": PICTURE}
_TEMPLATES.filters |= {
    "card": card_symbol,
    "counted": counted,
    "pair": lambda text: (text, text),
    "path": lambda text: quote(text, safe=""),
    "spaced": spaced,
}


def html_of(template: str, **shown: object) -> str:
    """A template, or a part of a page."""
    return _TEMPLATES.get_template(template).render(shown)


def beat_of(visit: Visit) -> str:
    """How old is what a page shows, for its scripts, as JSON."""
    return json.dumps(visit.request.app.state.feeds.beat())


def page(
    visit: Visit,
    template: str,
    shown: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    """A page for a visitor, from a template that extends `base.html`."""
    links = [(path, name) for path, name, right in NAVIGATION if visit.may(right)]
    content = html_of(
        template,
        user=visit.user,
        may=visit.may,
        navigation=links if visit.user else [],
        here=visit.request.url.path,
        form_token=form_token(visit),
        beat=beat_of(visit),
        browser=browser_of(visit),
        open_alerts=len(visit.services.floor.alerts.open) if visit.may("alerts") else 0,
        **(shown or {}),
    )
    return HTMLResponse(content, status)
