"""The command and its report: what they say of planted cheats, and that page and report agree."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from host.tests.integrity.shoes import riffled, shuffled
from host.tests.support.logged_cards import LoggedCards
from sabot.cli import app
from sabot.errors import ReportUnusable
from sabot.games.baccarat import catalogue
from sabot.integrity.analyses import ANALYSES
from sabot.integrity.favourable import Favourable
from sabot.integrity.finding import HOLM, Ledger
from sabot.integrity.over_log import look_through
from sabot.integrity.shown.words import CANNOT_KNOW, ENDED_ONLY, METHODS
from sabot.log.store import open_store

_PAGE = Path(__file__).resolve().parents[4] / "docs" / "integrity.md"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A unit at which every shoe is riffled twice."""
    path: Path = tmp_path_factory.mktemp("log") / "log.sqlite"
    random = Random(38)
    cards = shuffled(random)
    with open_store(path, create=True) as store:
        dealt = LoggedCards(store, "SHOE-1", "4", catalogue.document("ez-midi"))
        for _ in range(12):
            dealt.deal(cards)
            cards = riffled(riffled(cards, random), random)
        dealt.save()
        store.derive()
    return path


def _run(log: Path, *more: str) -> Result:
    return CliRunner().invoke(app(), ["integrity", "--db", str(log), *more], env={"COLUMNS": "160"})


def test_findings_are_listed_strongest_first_with_the_exit_code_1(log: Path) -> None:
    done = _run(log, "--analysis", "shuffle")
    assert done.exit_code == 1, done.output
    assert "unit SHOE-1" in done.stdout.splitlines()[1]
    said = " ".join(done.stdout.split())
    assert re.search(r"riffles that leaves so much: (1\.9|2\.\d)", said)
    assert "12 shoes of cards of 1 unit looked at" in done.stderr
    assert " ".join(HOLM.split()) in " ".join(done.stderr.split())


def test_nothing_strange_ends_with_0(log: Path) -> None:
    done = _run(log, "--analysis", "composition")
    assert done.exit_code == 0 and "nothing strange in 12 shoes of cards" in done.stdout


def test_the_json_has_the_same_findings_in_the_same_order(log: Path) -> None:
    found = [json.loads(line) for line in _run(log, "--json").stdout.splitlines()]
    assert [each["corrected"] for each in found] == sorted(each["corrected"] for each in found)
    assert found[0]["about"] == "unit SHOE-1" and found[0]["test"] == "neighbours_of_group"
    assert len({each["tests"] for each in found}) == 1


def test_what_the_house_knows_gives_more_groups(log: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    known.write_text(
        "kind,name,unit,from,to\nmachine,DM-3,SHOE-1,2026-11-18T12:00,2026-11-20T00:00\n"
    )
    found = [
        json.loads(line)
        for line in _run(log, "--known", str(known), "--zone", "UTC", "--json").stdout.splitlines()
    ]
    assert {"unit SHOE-1", "machine DM-3"} <= {each["about"] for each in found}


@pytest.mark.parametrize(
    ("option", "content", "code"),
    [
        ("--known", "kind,name\n", 2),
        ("--known", "kind,name,unit,from,to\nmachine,a,b,never,ever\n", 2),
        ("--wagers", "unit,shoe\n", 20),
        ("--wagers", "unit,shoe,round,player,wager\nU,x,1,P,dragon_7\n", 20),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_named(
    log: Path, tmp_path: Path, option: str, content: str, code: int
) -> None:
    path = tmp_path / "given.csv"
    path.write_text(content)
    done = _run(log, option, str(path))
    given = getattr(done.exception, "exit_code", done.exit_code)
    said = done.stderr + str(done.exception)
    assert given == code and "given.csv" in re.sub(r"[\s│]+", "", said)


def test_the_report_replaces_only_such_a_report(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    for _ in range(2):
        assert _run(log, "-o", str(path)).exit_code == 1
    path.write_text("something else")
    done = _run(log, "-o", str(path))
    assert isinstance(done.exception, ReportUnusable) and path.read_text() == "something else"


def test_the_report_says_what_the_page_says_and_has_its_pictures(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    _run(log, "-o", str(path))
    report = path.read_text()
    assert report.count('<img src="data:image/png;base64,') == len(ANALYSES)
    assert "SHOE-1 shoe" in report and "<script" not in report
    page = " ".join(_PAGE.read_text().split())
    for sentence in (*METHODS.values(), *CANNOT_KNOW, ENDED_ONLY, HOLM):
        assert sentence in page, sentence
        assert sentence.replace("'", "&#x27;") in report, sentence
    assert METHODS.keys() == ANALYSES.keys()


def test_every_favourable_round_comes_as_a_row_of_a_file(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "rounds.csv"
    _run(log, "--analysis", "favourable", "--rounds", str(path))
    rows = list(csv.DictReader(path.open()))
    figures = Favourable(Ledger())
    look_through(log, ["SHOE-1"], only=["favourable"], each=figures.take)
    counted = {each.wager: each.favourable for each in figures.figures() if each.favourable}
    assert Counter(row["wager"] for row in rows) == counted
    best = max((row for row in rows if row["wager"] == "dragon_7"), key=lambda r: float(r["units"]))
    (dragon,) = (each for each in figures.figures() if each.wager == "dragon_7")
    assert (int(best["shoe"]), int(best["round"])) == dragon.best[0][1][1:]
    assert float(best["units"]) == pytest.approx(dragon.best[0][0], abs=1e-6)
    done = _run(log, "--analysis", "favourable", "--rounds", str(path))
    assert isinstance(done.exception, ReportUnusable)


def test_a_shoe_in_play_is_counted_and_nothing_of_it_is_said(tmp_path: Path) -> None:
    random = Random(39)
    cards = shuffled(random)
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        dealt = LoggedCards(store, "SHOE-1", "4", catalogue.document("ez-midi"))
        dealt.deal(cards)
        dealt.deal(cards, ends=False)  # the same order again
        dealt.save()
        store.derive()
    done = _run(path, "-o", str(tmp_path / "report.html"))
    assert done.exit_code == 0 and "left out: 1" in done.stderr
    assert "shoe 2" not in done.output + (tmp_path / "report.html").read_text()


def test_names_that_look_like_formulas_or_controls_are_drawn_as_they_are(tmp_path: Path) -> None:
    random = Random(40)
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        dealt = LoggedCards(store, "$\\frac{\x1b[31m$_", "$x^$", catalogue.document("ez-midi"))
        dealt.deal(shuffled(random))
        dealt.deal(shuffled(random))
        dealt.save()
        store.derive()
    assert _run(path, "-o", str(tmp_path / "report.html")).exit_code == 0
    assert "\x1b" not in (tmp_path / "report.html").read_text()
