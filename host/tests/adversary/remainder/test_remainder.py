"""No output tells what is left in a shoe of cards in play: no screen of any role, no operation of
the API, no feed, no command that reads a log, no metric, no file.

Operations, routes and commands are listed from where they are defined: a new one that is not looked
at fails.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from prometheus_client import CollectorRegistry, generate_latest
from rich.console import Console
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send
from typer.testing import CliRunner

from host.tests.adversary.remainder.telling import (
    IN_PLAY,
    TABLE,
    UNIT,
    log,
    what_it_tells,
)
from host.tests.adversary.screens.floors import screens_with
from host.tests.support.chained import FIRST_KEY
from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.screens import ORIGIN, PASSWORD, Screens
from sabot.cli import app
from sabot.cli.commands import MODULES
from sabot.cli.screens.serve import AtHand, _open_bundles
from sabot.desk.desk import Desk
from sabot.desk.roles import ROLES
from sabot.feeds.message import HELD_ROUNDS, ROUNDS, Position
from sabot.feeds.unit_messages import Context, messages_between
from sabot.floor.live import Floor
from sabot.keys import chain_keys, signing
from sabot.link.events import CardEvent, ShoeLoadedEvent
from sabot.log.store import open_store
from sabot.metrics.floor_metrics import FloorMetrics
from sabot.metrics.log_metrics import LogMetrics
from sabot.watch import table_text, tile_text
from sabot.web import feed
from sabot.web.access import Guarded
from sabot.web.api.routes import DESCRIPTION
from sabot.web.app import ROUTES
from sabot_protocol import cards

pytestmark = pytest.mark.slow

_PLACES = {
    "unit": "U", "table": TABLE, "shoe": str(IN_PLAY), "round": "3", "version": "x",
    "name": "sabot.css",
}  # fmt: skip
"""What stands for the parameters of paths."""


def _drawn(records: FirmwareLog) -> Counter[str]:
    """The cards that have come out of the shoe of cards in play."""
    found: Counter[str] = Counter()
    for record in stored(records.records):
        if isinstance(record.event, ShoeLoadedEvent):
            found.clear()
        elif isinstance(record.event, CardEvent):
            found[cards.name_of(record.event.card)] += 1
    return found


@pytest.fixture(scope="module")
def drawn() -> Counter[str]:
    """The cards that have come out of the shoe of cards in play."""
    return _drawn(log())


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    """The screens of the log."""
    with screens_with(tmp_path_factory.mktemp("screens"), log()) as made:
        yield made


@pytest.fixture
def first_of_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed answers with what it sends first, and ends."""

    async def answer(self: feed.FeedResponse, scope: Scope, receive: Receive, send: Send) -> None:
        _, changed = await asyncio.to_thread(self.source.since, None)
        await PlainTextResponse(json.dumps(changed))(scope, receive, send)

    monkeypatch.setattr(feed.FeedResponse, "__call__", answer)


def _filled(path: str) -> str:
    found = re.sub(r"\{(\w+)(?::path)?\}", lambda each: _PLACES[each[1]], path)
    return f"{found}?shoe={IN_PLAY}&of=/live/U&after=" if path in ("/search", "/stream") else found


def test_the_finder_finds_what_it_looks_for(drawn: Counter[str]) -> None:
    ranks = [sum(drawn[rank + suit] for suit in "SHDC") for rank in "A23456789TJQK"]
    left = [32 - came for came in ranks]
    assert what_it_tells(json.dumps({"cards": dict(sorted(drawn.items()))}), drawn)
    assert what_it_tells("<tr>" + "".join(f"<td>{each}</td>" for each in left), drawn)
    assert what_it_tells(" ".join(map(str, ranks)), drawn) and what_it_tells(
        '{"cards_left": 7}', drawn
    )
    assert what_it_tells(f"{416 - drawn.total()} cards", drawn)
    assert not what_it_tells(" ".join(sorted(drawn)), drawn) and not what_it_tells(
        "[1, 2, 3]", drawn
    )


def test_no_operation_of_the_api_tells_it_to_any_role(
    screens: Screens, drawn: Counter[str], first_of_feeds: None
) -> None:
    asked = [path for path, of in DESCRIPTION["paths"].items() if "get" in of]
    assert asked
    answered = set()
    for role in [*ROLES, None]:
        client = screens.visitor(role)
        for path in asked:
            answer = client.get(_filled(path))
            assert answer.status_code in (200, 401, 403), (path, answer.text)
            answered |= {path} if answer.status_code == 200 else set()
            assert not what_it_tells(answer.text, drawn), (role, path)
    assert answered == {*asked}


def test_no_page_and_no_feed_of_one_tells_it_to_any_role(
    screens: Screens, drawn: Counter[str], first_of_feeds: None
) -> None:
    paths = {
        route.path
        for route in ROUTES
        if isinstance(route, Guarded) and "GET" in (route.methods or ())
    }
    answered = set()
    for role in [*ROLES, None]:
        client = screens.visitor(role)
        for path in paths:
            answer = client.get(_filled(path))
            answered |= {path} if answer.status_code == 200 else set()
            assert not what_it_tells(answer.text, drawn), (role, path)
    assert paths - answered <= {
        # Of a study that has ended; the same report is asked of the command below.
        "/integrity/report", "/integrity/pictures/{name}",
        "/rounds/{unit:path}/{shoe}/{round}/passes/{name}", "/static/{version}/{name}",
    }  # fmt: skip


def test_what_surveillance_downloads_does_not_tell_it(
    screens: Screens, drawn: Counter[str]
) -> None:
    client = screens.visitor("surveillance")
    page = f"/rounds/U/{IN_PLAY}/3"
    for what in ("bundle", "printed"):
        answer = _bundle(client, page, what)
        assert answer.status_code == 200, answer.text
        assert not what_it_tells(answer.content.decode(errors="replace"), drawn)


def test_a_bundle_of_a_shoe_of_cards_in_play_is_the_choice_of_the_house(tmp_path: Path) -> None:
    made = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    with screens_with(tmp_path, made, open_bundles=False) as here:
        client, page = here.visitor("surveillance"), "/rounds/U/1/1"
        assert "its bundle is given out when it has ended" in client.get(page).text
        answer = _bundle(client, page, "bundle")
        assert answer.status_code == 409 and "--open-bundles" in answer.text
        assert not any(note.kind == "exported" for note in here.desk.notes())
        so_far = len(made.records)
        made.draw("end")
        here.store.append("U", stored(made.records[so_far:]))
        assert _bundle(client, page, "bundle").status_code == 200


def test_a_house_that_has_given_out_bundles_goes_on_and_a_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    with screens_with(tmp_path, made) as here:
        services = here.app.state.services
        at_hand = AtHand(services.zone, None, services.operator)
        assert not _open_bundles(at_hand, here.desk) and not capsys.readouterr().err
        assert _bundle(here.visitor("surveillance"), "/rounds/U/1/1", "bundle").status_code == 200
        assert _open_bundles(at_hand, here.desk)
        assert "--no-open-bundles" in capsys.readouterr().err
        for chosen in (True, False):
            assert _open_bundles(replace(at_hand, open_bundles=chosen), here.desk) == chosen
        assert not capsys.readouterr().err


def _bundle(client: TestClient, page: str, what: str) -> Response:
    (token, *_) = re.findall(r'name="form_token" value="(\w+)"', client.get(page).text)
    return client.post(f"{page}/{what}", data={"form_token": token}, headers={"origin": ORIGIN})


def test_surveillance_sees_what_lay_face_up_and_every_role_the_count_after_the_end(
    tmp_path: Path,
) -> None:
    made = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    with screens_with(tmp_path, made) as here:
        seen = _tables(here)
        assert seen["surveillance"]["laid_open"]["rounds"] == [
            {"round": 0, "cards": ["AC", "2H"]},
            {"round": 1, "cards": ["9C", "KC", "TD", "9H"]},
        ]
        assert seen["floor"]["laid_open"] is seen["technician"]["laid_open"] is None
        assert {each["counts"] for each in seen.values()} == {None}
        page = here.visitor("surveillance").get("/tables/U").text
        assert "Cards that lay face up" in page and "Of 8 decks" not in page
        so_far = len(made.records)
        made.draw("end")
        here.store.append("U", stored(made.records[so_far:]))
        here.floor.look()
        seen = _tables(here)
        for role in ("floor", "surveillance"):
            assert sum(seen[role]["counts"]["cards"].values()) == 6
            assert seen[role]["laid_open"] is None
        assert seen["technician"]["counts"] is None


def _tables(screens: Screens) -> dict[str, Any]:
    roles = ("floor", "surveillance", "technician")
    return {role: screens.visitor(role).get("/api/tables/U").json() for role in roles}


def test_the_count_of_the_shoe_of_cards_before_is_there_all_the_while(
    screens: Screens, drawn: Counter[str]
) -> None:
    before = Counter[str]()
    for record in stored(log().records):
        if isinstance(record.event, CardEvent) and record.event.shoe == 1:
            before[cards.name_of(record.event.card)] += 1
    for path in ("/tables/U", "/api/tables/U"):
        text = screens.visitor("surveillance").get(path).text
        assert what_it_tells(text, before) and not what_it_tells(text, drawn)


def test_no_message_of_a_feed_tells_it(tmp_path: Path, drawn: Counter[str]) -> None:
    with new_log(tmp_path / "log") as store:
        store.append(UNIT, stored(log().records))
        context = Context(store)
        made = [*messages_between(context, UNIT, Position(0, 0), 1 << 60, with_held=True)]
    assert {json.loads(each.body)["data"]["shoe"] for each in made if each.what == ROUNDS} == {1, 2}
    assert {json.loads(e.body)["data"]["shoe"] for e in made if e.what == HELD_ROUNDS} == {1}
    assert not what_it_tells("\n".join(each.body.decode() for each in made), drawn)


def test_no_metric_and_no_screen_of_the_terminal_tells_it(
    screens: Screens, drawn: Counter[str]
) -> None:
    floor: Floor = screens.floor
    registry = CollectorRegistry()
    for each in (LogMetrics(screens.store), FloorMetrics(floor)):
        registry.register(each)
    assert not what_it_tells(generate_latest(registry).decode(), drawn)
    zone = screens.app.state.services.zone
    console = Console(width=200)
    with console.capture() as caught:
        for tile in floor.tiles():
            for text in (
                table_text.heading(tile, 0), table_text.current(tile), table_text.roads(tile, 150),
                table_text.last_rounds(tile, zone), *tile_text.cells(tile, 0),
            ):  # fmt: skip
                console.print(text)
    assert not what_it_tells(caught.get(), drawn)


_ONE = ("--unit", UNIT)
_BUNDLE = ("export", *_ONE, "--shoe", str(IN_PLAY), "--key", "operator.pem", "-o", "open.sabot")
_COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "rounds": [("rounds",), ("rounds", "--json"), ("rounds", "--csv"), ("rounds", "--with-void")],
    "integrity": [("integrity",), ("integrity", "--json"), ("integrity", "-o", "report.html")],
    "events": [("events",), ("events", "--json"), ("events", "--csv"), ("events", *_ONE)],
    "incidents": [("incidents",), ("incidents", "--json")],
    "tables": [("tables",), ("tables", "--json")],
    "units": [("units",), ("units", "--json")],
    "pace": [("pace", "--by", by) for by in ("table", "hour", "person")] + [("pace", "--json")],
    "roster": [("roster", "list", "--json")],
    "users": [("users", "list", "--json")],
    "desk": [("desk", "--json")],
    "verify": [("verify",), ("verify", "--json")],
    "checkpoints": [("checkpoints", "--json"), ("checkpoints", "-o", "kept.jsonl")],
    "receipts": [("receipts", "--json")],
    "export": [
        (*_BUNDLE, "--open", "--html", "open.html"),
        (*_BUNDLE, "--open", "--json"),
        _BUNDLE,
    ],
    "copy": [("copy", "-o", "copy.sqlite")],
    "convert": [("convert", "--json")],
    "retention": [("retention", "--json")],
    "prune": [("prune", "--keep-days", "9", "--key", "operator.pem", "--dry-run", "--json")],
    "rebuild": [("rebuild",)],
    "score": [("score", *_ONE, "--json"), ("score", *_ONE)],
    "settle": [("settle", *_ONE, "--wager", "1 player 100")],
}
"""Commands that read a log, with the option --db at their end."""
_ELSEWHERE = {
    "serve": "its pages and its API are asked above",
    "watch": "its screen is looked at above; it needs a terminal",
    "feed": "its messages are looked at above, and in feeds/test_in_play.py",
    "forward": "sends the records as they are to a log of the house",
    "notary": "signs how many records there are",
    "database": "administers a log in PostgreSQL",
    "log": "writes a log",
    "replaced": "writes a seam",
    "open-seats": "opens named cards by a regulator's order",
    "doctor": "reads of a log how many cards of a unit's life were not read",
}
_NO_LOG = {
    "demo", "sim", "sim-do", "ports", "games", "odds", "load", "health", "capture", "read",
    "waveform", "keys", "build", "release", "flash", "provision", "update", "debug", "hil",
}  # fmt: skip


def test_every_command_is_looked_at_or_reads_no_log() -> None:
    assert {*_COMMANDS, *_ELSEWHERE, *_NO_LOG} == {*MODULES}
    assert len(_COMMANDS) + len(_ELSEWHERE) + len(_NO_LOG) == len(MODULES)


def test_no_command_and_no_file_that_one_writes_tells_it(
    tmp_path: Path, drawn: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append(UNIT, stored(log().records))
    signing.make_key_pair(tmp_path / "operator")
    chain_keys.add(tmp_path / "sabot.keys", UNIT, FIRST_KEY)
    with open_store(tmp_path / "log.sqlite") as store:
        Desk.make(store, tmp_path / "sabot.keys", "ada", PASSWORD)
    for line in [line for lines in _COMMANDS.values() for line in lines]:
        done = CliRunner().invoke(app(), [*line, "--db", "log.sqlite"], env={"COLUMNS": "300"})
        assert done.exit_code != 2, (line, done.output)
        assert not what_it_tells(done.output, drawn), line
    written = [each for each in tmp_path.iterdir() if each.suffix in (".html", ".jsonl", ".sabot")]
    assert {each.name for each in written} == {
        "kept.jsonl", "open.html", "open.sabot", "report.html",
    }  # fmt: skip
    for each in written:
        assert not what_it_tells(each.read_bytes().decode(errors="replace"), drawn), each


def test_an_odds_command_knows_no_log() -> None:
    """Odds are of new cards: what a shoe in play has left cannot be given to it."""
    done = CliRunner().invoke(app(), ["odds", "--db", "log.sqlite"])
    assert done.exit_code == 2
