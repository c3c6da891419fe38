"""The page of what the cards give away: who gets it, what it shows, and how a study goes."""

import re
import time
from datetime import UTC
from pathlib import Path
from random import Random

import pytest
from starlette.testclient import TestClient

from host.tests.integrity.shoes import riffled, shuffled
from host.tests.support.logged_cards import LoggedCards
from host.tests.support.screens import ORIGIN, Screens
from sabot.games.baccarat import catalogue
from sabot.integrity.shown import beside
from sabot.integrity.shown.beside import Done, State, StudyBeside, study
from sabot.integrity.shown.words import CANNOT_KNOW, ENDED_ONLY
from sabot.log.store import open_store

_PATIENCE_S = 120


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """What a study finds in a log with one shoe that was riffled once, and one in play."""
    path: Path = tmp_path_factory.mktemp("study") / "log.sqlite"
    random = Random(38)
    first = shuffled(random)
    with open_store(path, create=True) as store:
        dealt = LoggedCards(store, "<b>SHOE", "1", catalogue.document("ez-midi"))
        dealt.deal(first)
        dealt.deal(riffled(first, random))
        dealt.deal(first, ends=False)
        dealt.save()
    return study(path, UTC)


def _visit(screens: Screens, state: State) -> TestClient:
    study_beside = StudyBeside()
    study_beside._state = state
    object.__setattr__(screens.app.state.services, "study", study_beside)
    return screens.visitor("surveillance")


def test_the_page_shows_the_findings_with_links_to_their_rounds(
    screens: Screens, found: Done
) -> None:
    page = _visit(screens, State(found=found)).get("/integrity").text
    assert "&lt;b&gt;SHOE shoe 2" in page and "<b>SHOE" not in page
    assert 'href="/rounds/%3Cb%3ESHOE/2/1"' in page
    assert "The number of riffles that leaves so much: 1.0" in page
    assert f"Left out as in play or not whole: {found.left_out}" in page and found.left_out == 1
    for sentence in (*CANNOT_KNOW, ENDED_ONLY):
        assert sentence.replace("'", "&#x27;") in page


def test_the_report_and_its_pictures_come_as_files(screens: Screens, found: Done) -> None:
    client = _visit(screens, State(found=found))
    report = client.get("/integrity/report")
    assert report.headers["content-disposition"] == 'attachment; filename="integrity.html"'
    assert "data:image/png;base64," in report.text and "http:" not in report.text
    for name in re.findall(r'src="(/integrity/pictures/\w+)"', client.get("/integrity").text):
        assert client.get(name).content.startswith(b"\x89PNG")
    assert client.get("/integrity/pictures/nothing").status_code == 404


def test_a_study_that_runs_says_how_far_it_is(screens: Screens) -> None:
    page = _visit(screens, State(True, 1200, 10_000)).get("/integrity").text
    assert "1,200 of 10,000" in page and 'http-equiv="refresh"' in page
    assert "/integrity/begin" not in page


def test_why_a_study_failed_is_said(screens: Screens) -> None:
    page = _visit(screens, State(problem="the log <x> cannot be read")).get("/integrity").text
    assert "the log &lt;x&gt; cannot be read" in page and "/integrity/begin" in page


def test_the_api_has_the_findings_too(screens: Screens, found: Done) -> None:
    answer = _visit(screens, State(found=found)).get("/api/integrity").json()
    assert (answer["shoes"], answer["running"]) == (2, False)
    assert answer["findings"] == list(found.findings) and answer["findings"]


@pytest.mark.slow
def test_a_study_begins_at_the_page_and_its_result_comes(screens: Screens) -> None:
    client = _visit(screens, State())
    form = re.findall(r'name="form_token" value="(\w+)"', client.get("/integrity").text)[0]
    sent = client.post("/integrity/begin", data={"form_token": form}, headers={"origin": ORIGIN})
    assert sent.status_code == 303
    end_s = time.monotonic() + _PATIENCE_S
    while client.get("/api/integrity").json()["running"]:
        assert time.monotonic() < end_s
        time.sleep(0.05)
    answer = client.get("/api/integrity").json()
    assert answer["problem"] == "" and answer["shoes"] is not None


@pytest.mark.slow
def test_a_log_that_cannot_be_read_is_said_and_not_a_fault(tmp_path: Path) -> None:
    study_beside = StudyBeside()
    assert study_beside.begin(tmp_path / "missing.sqlite", UTC)
    end_s = time.monotonic() + _PATIENCE_S
    while study_beside.state.running:
        assert time.monotonic() < end_s
        time.sleep(0.05)
    assert "missing.sqlite" in study_beside.state.problem


def test_two_studies_at_once_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(beside.threading.Thread, "start", lambda thread: begun.append(thread))
    study_beside = StudyBeside()
    assert study_beside.begin(Path("a"), UTC) and not study_beside.begin(Path("a"), UTC)
    assert len(begun) == 1
