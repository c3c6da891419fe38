"""Hostile text of a shoe, of a user or of an address stays text on every page."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from host.tests.support.helpers import stored
from host.tests.support.hostile import OVERLONG, hostile_log, seen_by
from host.tests.support.screens import Screens, screens_of
from sabot_protocol import events

_MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
_UNITS = ("FORGER", OVERLONG[:200], f"A/{_MARKUP}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, cheap_hashes: None) -> Iterator[Screens]:
    """Screens of a floor with hostile shoes, and with a hostile remark."""
    path: Path = tmp_path_factory.mktemp("hostile") / "log.sqlite"
    log = hostile_log()
    log.record(events.PROVISIONED, 0, 0, ("a table whose name is hostile", 0))
    with screens_of(path, extra={unit: stored(log.records) for unit in _UNITS}) as made:
        alert = made.floor.alerts.open[0].alert
        made.desk.acknowledge(alert.id, _MARKUP, by="surveillance")
        yield made


def _paths(screens: Screens) -> list[str]:
    tables = {tile.table.name for tile in screens.floor.tiles()} - {""}
    return [
        "/", "/alerts", "/boards", "/views", "/search", f"/search?words={quote(_MARKUP)}",
        f"/search?unit={quote(_UNITS[2])}", f"/search?cards={quote(_MARKUP)}",
        *(f"/tables/{quote(unit, safe='')}" for unit in _UNITS),
        *(f"/rounds/{quote(unit, safe='')}/1/1" for unit in _UNITS),
        *(f"/board/{quote(name, safe='')}" for name in tables),
        f"/tables/{quote(_MARKUP, safe='')}", f"/board/{quote(_MARKUP, safe='')}",
        f"/sign-in?then=/{quote(_MARKUP)}", f"/{quote(_MARKUP)}",
    ]  # fmt: skip


@pytest.mark.slow
def test_every_page_has_only_printable_text_and_no_markup_of_others(hostile: Screens) -> None:
    client = hostile.visitor("surveillance")
    assert "\\x1b" in client.get("/boards").text
    escaped = 0
    for path in _paths(hostile):
        page = client.get(path)
        assert page.status_code < 500, path
        lines = page.text.replace("\t", " ")
        assert seen_by(lines) == [], path
        assert "<script>" not in page.text and "<img" not in page.text, path
        escaped += "&lt;script&gt;" in page.text
    assert escaped > 4


@pytest.mark.slow
def test_the_administrators_pages_too(hostile: Screens) -> None:
    client = hostile.visitor("administrator")
    hostile.desk.add_user("<b>Eve</b>", "floor", "a password of the tests", by="administrator")
    for path in ("/users", "/views"):
        page = client.get(path).text
        assert seen_by(page) == [] and "<b>Eve" not in page and "&lt;b&gt;Eve" in page


def test_data_of_an_event_is_one_line(hostile: Screens) -> None:
    # A line end in a text would begin an event that the server did not send.
    client = hostile.visitor("surveillance")
    assert len(client.get("/api/tables").text.split("\n")) == 1
