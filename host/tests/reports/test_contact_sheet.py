"""The page of captured passes: what it shows, and that no text from a shoe gets into its tags."""

from html.parser import HTMLParser
from typing import Any

import pytest

from sabot.reports.contact_sheet import render

_READ = {"set": 3, "speed_mm_s": 812, "margin_permille": 713, "skew_um": 90, "samples": 2000}


def entry(number: int, **changed: Any) -> dict[str, Any]:
    stem = f"U1-boot3-pass{number:03}"
    where = {"unit": "U1", "boot": 3, "pass": number, "t_ms": 3_723_004}
    files = {"recording": f"{stem}.samples", "picture": f"{stem}.png"}
    return where | {"card": "7H"} | _READ | {"cut": False} | files | changed


def unread(number: int, fault: str = "bad_code", **changed: Any) -> dict[str, Any]:
    made = entry(number, fault=fault, **changed)
    del made["card"]
    return made


class Page(HTMLParser):
    """The tags with their attributes, and the texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, tag: str, name: str) -> list[str | None]:
        return [given[name] for each, given in self.tags if each == tag]


def test_faults_come_first_and_then_the_newest() -> None:
    page = Page(render([entry(1), unread(2), entry(3), unread(4)]))
    order = ["pass004", "pass002", "pass003", "pass001"]
    assert page.values("img", "src") == [f"U1-boot3-{each}.png" for each in order]
    assert [given["class"] for tag, given in page.tags if tag == "figure"] == [
        "bad",
        "bad",
        "good",
        "good",
    ]


def test_the_facts_of_a_pass_are_shown() -> None:
    text = " ".join(Page(render([entry(12), unread(13, speed_mm_s=0, cut=True)])).texts)
    for wanted in ("7♥", "U1", "1:02:03.004", "812 mm/s", "71.3 %", "90 um"):
        assert wanted in text
    assert "bad_code (end not kept)" in text
    assert "0 mm/s" not in text


def test_pictures_and_recordings_are_linked() -> None:
    page = Page(render([entry(1)]))
    files = {"U1-boot3-pass001.png", "U1-boot3-pass001.samples"}
    assert set(page.values("a", "href")) == files


def test_without_pictures_there_is_a_table() -> None:
    page = Page(render([entry(1, picture=None), unread(2, picture=None)]))
    tags = [tag for tag, _ in page.tags]
    assert "img" not in tags and "figure" not in tags
    assert tags.count("table") == 2 and page.values("a", "href") == [
        "U1-boot3-pass002.samples",
        "U1-boot3-pass001.samples",
    ]


def test_an_empty_folder_has_a_page() -> None:
    assert "Captured passes" in Page(render([])).texts


def test_there_is_no_script_and_only_files_beside_the_page_are_loaded() -> None:
    html = render([entry(1), unread(2)])
    page = Page(html)
    assert not {"script", "link", "iframe", "object", "form", "base"} & {t for t, _ in page.tags}
    assert "default-src 'none'" in html and "img-src 'self' file:" in html
    assert "http" not in html.replace("http-equiv", "")


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\x1b[2J", "\u202e", "&lt;"],
)
@pytest.mark.parametrize(
    "field", ["unit", "boot", "pass", "t_ms", "fault", "set", "recording", "picture", "speed_mm_s"]
)
def test_what_came_from_a_shoe_is_escaped(field: str, text: str) -> None:
    clean = Page(render([unread(1)]))
    html = render([unread(1, **{field: text})])
    page = Page(html)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in clean.tags]
    assert [list(given) for _, given in page.tags] == [list(given) for _, given in clean.tags]
    assert "\x1b" not in html and "\u202e" not in html


@pytest.mark.parametrize("name", ["javascript:alert(1)", "../../etc/passwd", "https://x/y.png"])
def test_no_file_name_leads_to_another_place(name: str) -> None:
    page = Page(render([entry(1, recording=name, picture=name)]))
    for address in page.values("a", "href") + page.values("img", "src"):
        assert address and not set(address) & set(":/")
