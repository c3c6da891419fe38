"""The table of what is notable: each kind is whole, is found, and is on the pages."""

import re
from pathlib import Path

import pytest
import yaml

from host.tests.notable.examples import EXAMPLES
from sabot.notable import kinds
from sabot.notable.incident import Incident
from sabot.notable.kinds import KINDS, LATER, LISTED, Kind, Maker, Severity, kind_named

_DOCS = Path(__file__).resolve().parents[3] / "docs"
_WHOLE = {
    "name": "hot",
    "words": "the processor is hot",
    "do": "open a window",
    "page": "technician.md#care",
    "maker": Maker.EVENTS,
    "severity": Severity.ALERT,
}


def _page(name: str) -> str:
    return (_DOCS / name).read_text(encoding="utf-8")


def _section(page: str, anchor: str) -> str:
    """The text of a page under the heading with this anchor, up to the next of its rank."""
    found = re.split(r"^(#+) (.*)$", _page(page), flags=re.MULTILINE)[1:]
    pieces = list(zip(found[::3], found[1::3], found[2::3], strict=True))
    for at, (rank, title, _) in enumerate(pieces):
        if re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") == anchor:
            after = [each for each, _, _ in pieces[at + 1 :]]
            end = next((n for n, each in enumerate(after) if len(each) <= len(rank)), len(after))
            return "".join(text for _, _, text in pieces[at : at + 1 + end])
    raise AssertionError(f"docs/{page} has no section #{anchor}")


def _row(kind: Kind) -> str:
    """A kind as docs/surveillance.md has it, up to what only its own table says."""
    page, _, anchor = kind.page.partition("#")
    link = f"[here](#{anchor})" if page == "surveillance.md" else f"[{page[:-3]}]({kind.page})"
    return f"| `{kind.name}` | {kind.words} | {kind.do} | {kind.severity.value} | {link} |"


def _named(text: str) -> set[str]:
    """The kinds that a text names."""
    return set(re.findall(r"`([a-z_]+)`", text)) & set(KINDS)


# ---- the table


@pytest.mark.parametrize("lacking", ["name", "words", "do", "page"])
@pytest.mark.parametrize("instead", ["", " ", "two\nlines"])
def test_a_kind_without_one_of_its_words_cannot_be_made(lacking: str, instead: str) -> None:
    Kind(**_WHOLE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lacks"):
        Kind(**_WHOLE | {lacking: instead})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=lacking):
        Kind(**{name: value for name, value in _WHOLE.items() if name != lacking})  # type: ignore[arg-type]


def test_a_kind_of_the_floor_that_no_one_would_see_cannot_be_made() -> None:
    Kind(**_WHOLE | {"maker": Maker.FLOOR})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="severity"):
        Kind(**_WHOLE | {"maker": Maker.FLOOR, "severity": Severity.NOTE})  # type: ignore[arg-type]


def test_two_kinds_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="'lid' is there twice"):
        kinds._kind("lid", "the lid fell off", do="look for it", page="technician.md#care")


def test_an_incident_of_a_kind_that_is_not_in_the_table_cannot_be_made() -> None:
    for name in ("surplus_copy", "silent"):
        with pytest.raises(ValueError, match=name):
            Incident("U1", name, 1, 1, 1, 1, 0, None, False, None, False, "")


def test_an_alert_of_a_later_version_has_words_too() -> None:
    assert kind_named("lid") is kinds.LID
    assert kind_named("surplus_copy") is LATER and LATER.name not in KINDS


# ---- who makes each


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_found(name: str, tmp_path: Path) -> None:
    assert name in EXAMPLES, f"host/tests/notable/examples.py has no example of {name!r}"
    found = EXAMPLES[name](tmp_path)
    assert name in found, f"nothing makes {name!r} of its example, only {found or 'nothing'}"


def test_no_example_is_of_a_kind_that_there_is_not() -> None:
    lost = sorted(EXAMPLES.keys() - KINDS.keys())
    assert not lost, (
        f"host/sabot/notable/kinds.py has no kind {lost}, host/tests/notable/examples.py has"
    )


# ---- the pages


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_officers_page_has_the_row_of_each_kind(kind: Kind) -> None:
    section = "what-to-look-at-on-the-video" if kind.listed else "alerts"
    row = _row(kind)
    assert row in _section("surveillance.md", section), f"docs/surveillance.md lacks the row {row}"


@pytest.mark.parametrize("section", ["what-to-look-at-on-the-video", "alerts"])
def test_the_officers_page_has_no_row_of_a_kind_that_there_is_not(section: str) -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|", _section("surveillance.md", section), re.MULTILINE)
    listed = section != "alerts"
    assert rows == [kind.name for kind in KINDS.values() if kind.listed == listed]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_page_that_explains_a_kind_has_that_section(kind: Kind) -> None:
    page, _, anchor = kind.page.partition("#")
    assert _section(page, anchor)


def test_the_page_of_feeds_names_what_is_not_sent() -> None:
    (said,) = (each for each in _page("feeds.md").split("\n- ") if "are not sent" in each)
    assert _named(said) == {kind.name for kind in LISTED.values() if kind.maker is not Maker.EVENTS}


def test_the_page_of_json_names_the_incidents_without_an_event() -> None:
    section = _section("json.md", "sabot-incidents")
    (said,) = re.findall(r"^\| `event` \|.*$", section, re.MULTILINE)
    assert _named(said) == {kind.name for kind in LISTED.values() if kind.maker is Maker.HOST}


def test_the_description_of_feeds_has_each_kind_that_is_sent() -> None:
    incident = yaml.safe_load(_page("asyncapi.yaml"))["components"]["schemas"]["incident"]
    sent = [kind.name for kind in KINDS.values() if kind.maker is Maker.EVENTS]
    said = "docs/asyncapi.yaml: schemas, incident, kind, examples"
    assert incident["properties"]["kind"]["examples"] == sent, said
