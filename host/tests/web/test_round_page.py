"""The pages of a round and of the search: what they show to whom, what they note, what they give
out."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from host.tests.support.helpers import TEST_KEY, FirmwareLog, parsed, stored
from host.tests.support.screens import (
    BACCARAT,
    BOXES,
    FACE_DOWN,
    HANDS,
    MIDI,
    ORIGIN,
    PASSWORD,
    Screens,
    screens_of,
)
from sabot.audit.bundle import verify_bundle
from sabot.desk.notes import Note
from sabot.desk.roles import ROLES
from sabot.floor.rounds.proof import Prover
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.link.events import CardEvent
from sabot.link.wire import parse_event
from sabot.text import card_symbol
from sabot.web.app import make_app
from sabot.web.pages import round as round_page
from sabot.web.pages import search

OPERATOR = Ed25519PrivateKey.from_private_bytes(b"\7" * 32)
_ROUNDS = (
    f"/rounds/{BACCARAT}/1/1", f"/rounds/{MIDI}/1/1", f"/rounds/{BOXES}/1/1",
    f"/rounds/{BOXES}/1/3", f"/rounds/{HANDS}/1/1", f"/rounds/{HANDS}/2/1",
)  # fmt: skip


@pytest.fixture(scope="module")
def armed(screens: Screens, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    """The same screens with the units' keys, the operator's key and a folder of captures."""
    keys, folder = Keys(), tmp_path_factory.mktemp("captures")
    for unit in (BACCARAT, MIDI, BOXES, HANDS):
        keys.put(unit, TEST_KEY)
    services = replace(
        screens.app.state.services, keys=keys, operator=OPERATOR, captures=folder,
        open_bundles=True, prover=Prover(keys),
    )  # fmt: skip
    yield replace(screens, app=make_app(services))


def _notes(screens: Screens, kind: str) -> list[Note]:
    return [each for each in screens.desk.notes() if each.kind == kind]


def _post(client: TestClient, page: str, what: str) -> Any:
    token = re.findall(r'name="form_token" value="(\w+)"', client.get(page).text)[0]
    return client.post(f"{page}/{what}", data={"form_token": token}, headers={"origin": ORIGIN})


@pytest.mark.slow
@pytest.mark.parametrize("role", ["floor", "surveillance"])
def test_a_round_is_shown_to_those_who_may_see_it_with_what_they_may(
    armed: Screens, role: str
) -> None:
    client = armed.visitor(role)
    page = client.get(f"/rounds/{BACCARAT}/1/1")
    assert page.status_code == 200
    for shown in (
        "9 of clubs", "king of clubs", "10 of diamonds", "9 of hearts", "neither hand draws",
        "MACs were made again with the unit&#39;s key", "Everything that was checked agrees",
        "natural", "Rule card",
    ):  # fmt: skip
        assert shown in page.text, shown
    records = [data.hex() for _, data, _ in armed.store.raw(BACCARAT) if parsed(data).round == 1]
    assert all((record in page.text) == (role == "surveillance") for record in records)
    assert ("Signed bundle" in page.text) == (role == "surveillance")
    answer = client.get(f"/api/rounds/{BACCARAT}/1/1").json()
    assert ("record" in answer["events"][0]) == (role == "surveillance")
    assert answer["dealt"]["player"] == ["9C", "TD"] and answer["proofs"][1]["state"] == "agrees"


@pytest.mark.slow
@pytest.mark.parametrize("role", [*ROLES, None])
def test_no_role_sees_a_card_that_lies_face_down(armed: Screens, role: str | None) -> None:
    client = armed.visitor(role)
    with_rounds = [each for path in _ROUNDS for each in (path, f"/api{path}")]
    asked = (f"unit+{MIDI}", "cards+9+K", "9C", "today", "any+incident")
    searches = [f"{path}?words={words}" for path in ("/search", "/api/search") for words in asked]
    for path in (*with_rounds, *searches):
        answer = client.get(path)
        if MIDI in path:
            assert answer.status_code == (200 if role in ("floor", "surveillance") else
                                          403 if role else 401), path  # fmt: skip
            text = answer.text.replace('value="9C"', "")
            for card in FACE_DOWN:
                assert card_symbol(card) not in text and f'"{card}"' not in text, path
                assert f'href="#card-{card}"' not in text, path
        if path.endswith("words=9C"):
            assert MIDI not in answer.text.partition("<table")[2]
    sealed = client.get(f"/rounds/{MIDI}/1/1").text
    assert ("sealed card" in sealed) == (role in ("floor", "surveillance"))


def test_who_opened_which_round_is_noted(armed: Screens) -> None:
    before = len(_notes(armed, "round_opened"))
    armed.visitor("floor").get(f"/rounds/{BOXES}/1/2")
    armed.visitor("surveillance").get(f"/api/rounds/{HANDS}/1/1")
    for path in ("/rounds/NO-ONE/1/1", f"/rounds/{BOXES}/1/99", f"/rounds/{BOXES}/1/x"):
        assert armed.visitor("floor").get(path).status_code == 404
    armed.visitor("technician").get(f"/rounds/{BOXES}/1/2")
    noted = [(note.by, dict(note.fields)) for note in _notes(armed, "round_opened")[before:]]
    assert noted == [
        ("floor", {"unit": BOXES, "shoe": 1, "round": 2}),
        ("surveillance", {"unit": HANDS, "shoe": 1, "round": 1}),
    ]


def test_its_address_leads_a_colleague_to_it_after_signing_in(armed: Screens) -> None:
    client = armed.visitor()
    address = f"/rounds/{BACCARAT}/1/1?event=3"
    answer = client.get(address, headers={"accept": "text/html"})
    assert answer.status_code == 303
    page = client.get(answer.headers["location"]).text
    token = re.findall(r'name="form_token" value="(\w+)"', page)[0]
    then = re.findall(r'name="then" value="([^"]+)"', page)[0].replace("&amp;", "&")
    fields = {"name": "floor", "password": PASSWORD, "form_token": token, "then": then}
    signed_in = client.post("/sign-in", data=fields, headers={"origin": ORIGIN})
    assert signed_in.headers["location"] == address


def test_the_bundle_is_one_that_verify_accepts_and_is_noted(armed: Screens, tmp_path: Path) -> None:
    client = armed.visitor("surveillance")
    answer = _post(client, f"/rounds/{BACCARAT}/1/1", "bundle")
    assert answer.status_code == 200, answer.text
    data = answer.content
    path, operator = tmp_path / "round.bundle", tmp_path / "operator.pub"
    path.write_bytes(data)
    operator.write_bytes(signing.pem_of(signing.public_of(OPERATOR)))
    verdict = verify_bundle(path, None, operator)
    assert verdict.vouched and verdict.bundle.keys and not verdict.findings
    assert (verdict.bundle.unit, verdict.bundle.shoe) == (BACCARAT, 1)
    note = _notes(armed, "exported")[-1]
    assert note.by == "surveillance" and note.fields["what"] == "bundle"
    assert note.fields["sha256"] == hashlib.sha256(data).digest()


def test_no_bundle_leaves_without_the_operators_key_or_with_a_card_that_lies_face_down(
    armed: Screens, screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(_notes(armed, "exported"))
    keyless = _post(screens.visitor("surveillance"), f"/rounds/{BACCARAT}/1/1", "bundle")
    assert keyless.status_code == 409
    monkeypatch.setattr(round_page, "hidden_round", lambda store, unit: (1, 2))
    client = armed.visitor("surveillance")
    assert "disabled>Signed bundle" in client.get(f"/rounds/{BACCARAT}/1/1").text
    assert _post(client, f"/rounds/{BACCARAT}/1/1", "bundle").status_code == 409
    assert len(_notes(armed, "exported")) == before


@pytest.mark.slow
def test_the_printed_page_is_whole_in_itself_and_is_noted(armed: Screens) -> None:
    client = armed.visitor("surveillance")
    for path in _ROUNDS:
        answer = _post(client, path, "printed")
        assert answer.status_code == 200
        page = answer.text
        assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
        assert "<script" not in page and "src=" not in page and "<link" not in page
        assert "Printed" in page and "by surveillance" in page
        assert "Speaks up to" in page
        if MIDI in path:
            assert not any(card_symbol(card) in page for card in FACE_DOWN)
        disposition = answer.headers["content-disposition"]
        assert re.fullmatch(r'attachment; filename="[\w-]+\.html"', disposition)
        assert _notes(armed, "exported")[-1].fields["what"] == "page"


def test_captured_passes_of_the_round_are_shown_and_no_other_file(armed: Screens) -> None:
    services = armed.app.state.services
    folder: Path = services.captures
    events = [parsed(data) for _, data, _ in armed.store.raw(BACCARAT)]
    card = next(e for e in events if isinstance(e, CardEvent) and e.round == 1)
    (folder / "one.png").write_bytes(b"\x89PNG one")
    (folder / "other.png").write_bytes(b"\x89PNG other")
    entry = {"unit": BACCARAT, "boot": card.boot, "pass": 1, "t_ms": card.t_ms, "card": "9C",
             "fault": None, "recording": "one.samples", "picture": "one.png"}  # fmt: skip
    (folder / "captures.json").write_text(json.dumps([entry]))
    client = armed.visitor("floor")
    page = f"/rounds/{BACCARAT}/1/1"
    assert f"{page}/passes/one.png" in client.get(page).text
    picture = client.get(f"{page}/passes/one.png")
    assert picture.content == b"\x89PNG one" and picture.headers["content-type"] == "image/png"
    for name in ("other.png", "captures.json", "..%2Fcaptures.json"):
        assert client.get(f"{page}/passes/{name}").status_code == 404
    (folder / "captures.json").unlink()


def test_a_search_finds_and_says_what_it_understood_or_why_not(armed: Screens) -> None:
    client = armed.visitor("floor")
    assert "can be searched, all of the log" in client.get("/search").text
    found = client.get("/search", params={"words": "table 1, natural"})
    assert found.status_code == 200 and "1 round" in found.text
    assert "table 1, Natural" in found.text
    assert f'href="/rounds/{BACCARAT}/1/1?event=' in found.text
    wrong = client.get("/search", params={"words": "tabel <b>1"})
    assert wrong.status_code == 400 and "is not understood; did you mean table?" in wrong.text
    assert "<b>1" not in wrong.text.replace("<b>1</b>", "")
    fields = client.get("/search", params={"table": "4", "outcome": "loses"})
    assert (
        fields.status_code == 200 and BOXES in fields.text and 'value="4" selected' in fields.text
    )
    answer = client.get("/api/search", params={"words": "table 1", "winner": "banker"}).json()
    assert answer["count"] == len(answer["rounds"]) and answer["complete"]
    assert client.get("/api/search", params={"words": "nothing"}).status_code == 400


def test_results_come_in_pages(armed: Screens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "AT_ONCE", 2)
    client, seen, address = armed.visitor("floor"), list[str](), "/search?outcome=loses"
    while address:
        page = client.get(address).text
        some = re.findall(r'href="(/rounds/[^"]+)"', page)
        assert 0 < len(some) <= 2
        seen += some
        found = re.findall(r'rel="next" href="([^"]+)"', page)
        address = found[0].replace("&amp;", "&") if found else ""
    assert len(seen) == len(set(seen)) == client.get("/api/search?outcome=loses").json()["count"]


def test_a_round_from_before_a_clock_was_set_says_by_how_much_its_times_are_wrong(
    tmp_path: Path,
) -> None:
    """A host whose own clock was wrong attached the shoe, and set it again later."""
    log = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    unix_ms = parse_event(log.records[-1]).unix_ms
    assert unix_ms is not None
    log.set_clock(unix_ms + 40 * 86_400_000)
    number = log.last_number
    log.draw("next", "9C", "KC", "TD", "9H")
    with screens_of(tmp_path / "log.sqlite", {"WRONG": stored(log.records)}) as screens:
        client = screens.visitor("surveillance")
        before, after = (client.get(f"/rounds/WRONG/1/{round_}").text for round_ in (1, 2))
    said = f"40 days 0 h behind: the clock of the shoe was set by so much at event {number}"
    assert said in before and "Look for it later by as much" in before
    assert "the clock of the shoe was set" not in after
