"""Cards that lie face down are in no answer to anyone, byte for byte, before their reveal.

Two floors differ only in the cards that lie face down: in midi, a hole card, seats and burns of
hold'em. Every page, every answer of the API and the first event of every feed must be the same for
both, to every role, but for sealed bytes, MACs, tokens and times of the server itself.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2 as httpx
import pytest

from host.tests.support.screens import (
    BACCARAT,
    BOXES,
    HANDS,
    MIDI,
    PASSWORD,
    Screens,
    screens_of,
)
from sabot.desk.roles import ROLES
from sabot.listening import Address
from sabot.web.access import Guarded
from sabot.web.app import ROUTES, make_app
from sabot.web.server import Server

_UNITS = (BACCARAT, MIDI, BOXES, HANDS)
_OF_THE_SERVER = re.compile(
    r"[0-9a-f]{8,}(-\d+)?"  # sealed bytes, MACs, tokens, ids of events
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*"
    r'|"(now|unix_ms|raised_unix_ms|made_unix_ms)": ?\d+'
    r"|\d+ an hour|\"rounds_an_hour\": ?\d+"
    r"|(\"|&#34;)(now|s|ago_ms)(\"|&#34;): \d+"  # how old it is
)

_STREAMS = re.compile("/live|/stream")


@pytest.fixture(scope="module")
def floors(
    tmp_path_factory: pytest.TempPathFactory, cheap_hashes: None
) -> Iterator[tuple[Screens, Screens]]:
    """Two floors with other cards face down."""
    with ExitStack() as open_ones:
        one, other = (
            open_ones.enter_context(screens_of(_path(tmp_path_factory), other_face_down=changed))
            for changed in (False, True)
        )
        yield one, other


def _path(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("floor") / "log.sqlite"


def _paths() -> Iterator[str]:
    """Every page and every answer of the API, for each unit and its rounds."""
    for route in ROUTES:
        assert isinstance(route, Guarded)
        if "GET" not in (route.methods or ()) or _STREAMS.search(route.path):
            continue
        given = {"{table:path}": "3", "{version}": "x", "{name}": "sabot.css"}
        for unit in _UNITS:
            for shoe, round_ in (("1", "1"), ("1", "4"), ("2", "1")):
                path = re.sub(r"\{unit(:\w+)?\}", unit, route.path)
                path = re.sub(r"\{shoe(:\w+)?\}", shoe, path)
                path = re.sub(r"\{round(:\w+)?\}", round_, path)
                for name, value in given.items():
                    path = path.replace(name, value)
                yield path
    for asked in ("cards 7 9", "9C", "natural", "any incident", "by hand", "split", "today", ""):
        yield f"/search?words={asked}"
        yield f"/api/search?words={asked}"


def _same(text: str) -> str:
    return _OF_THE_SERVER.sub("...", text)


@pytest.mark.slow
@pytest.mark.parametrize("role", [*ROLES, None])
def test_no_answer_tells_the_cards_that_lie_face_down(
    floors: tuple[Screens, Screens], role: str | None
) -> None:
    one, other = (floor.visitor(role) for floor in floors)
    answered = 0
    for path in sorted(set(_paths())):
        first, second = one.get(path), other.get(path)
        assert first.status_code == second.status_code, path
        assert _same(first.text) == _same(second.text), path
        answered += first.status_code == 200
    assert answered >= 3


@pytest.mark.slow
@pytest.mark.parametrize("role", [*ROLES, None])
def test_no_feed_tells_them_either(floors: tuple[Screens, Screens], role: str | None) -> None:
    paths = ["/live", "/alerts/live", "/api/live", *(f"/live/{unit}" for unit in _UNITS)]
    paths += [f"/board/{table}/live" for table in (1, 3, 4, 5)]
    paths.append(f"/stream?{'&'.join(f'of={path}&after=' for path in paths)}")
    events = [_first_events(floor, role, paths) for floor in floors]
    assert [_same(event) for event in events[0]] == [_same(event) for event in events[1]]
    if role == "surveillance":
        assert all(event.startswith("{") for event in events[0])


def _first_events(screens: Screens, role: str | None, paths: list[str]) -> list[str]:
    server = Server(make_app(screens.app.state.services), Address("127.0.0.1", 0), None)
    server.start()
    client = httpx.Client(base_url=server.url, timeout=100)
    if role is not None:
        client.cookies.set("sabot_session", screens.desk.sign_in(role, PASSWORD, origin="test"))
    try:
        return [_first_event(client, path) for path in paths]
    finally:
        client.close()
        server.stop()


def _first_event(client: httpx.Client, path: str) -> str:
    with client.stream("GET", path) as answer:
        if answer.status_code != 200:
            return str(answer.status_code)
        data = next(line for line in answer.iter_lines() if line.startswith("data: "))
    event = json.loads(data.removeprefix("data: "))
    for page in (event, *event.get("pages", {}).values()):
        for tiles in ("tiles", "tables"):  # in the order in which they were loaded
            page[tiles] = sorted(page.get(tiles, ()), key=str)
    return json.dumps(event)
