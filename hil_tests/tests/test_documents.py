"""The documents name files and rooms that exist, and the decisions have their form."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = {
    "sabot_firmware": "firmware",
    "sabot_rig": "firmware",
    "sabot_protocol": "protocol",
    "sabot_definitions": "protocol",
    "sabot": "host",
    "sabot_hil": "hil_tests",
}
"""Where each package is."""

_DOCS = _ROOT / "docs"
_ARCHITECTURE = _DOCS / "architecture.md"
_DECISIONS = _DOCS / "decisions"
_MOST_LINES_OF_A_DECISION = 35

_PATH = re.compile(r"(?:\.?[\w*-]+/)+(?:[\w*-]+\.[a-z]+)?|[\w-]+\.(?:py|md|toml|cddl|csv)")


def _pages() -> list[Path]:
    folders = ("firmware", "protocol", "hil_tests", "hil_tests/golden")
    readmes = [_ROOT / each / "README.md" for each in folders]
    readmes += (_ROOT / "host" / "sabot" / "games").rglob("README.md")
    own = [_ARCHITECTURE, _DOCS / "adding.md", *_DECISIONS.glob("*.md")]
    return sorted([*(page for page in own if page.exists()), *readmes])


def _all_pages() -> list[Path]:
    """Every page of the project."""
    folders = ("docs", "firmware", "protocol", "hil_tests", "host")
    found = [page for folder in folders for page in (_ROOT / folder).rglob("*.md")]
    return [_ROOT / "README.md", *sorted(found)]


def _make_targets(text: str) -> set[str]:
    """The targets that a page names: in code spans, also over the end of a line, and in blocks.
    `make NAME=value` sets a variable and names none."""
    return set(re.findall(r"(?:`|^ {4}|^\$ )make\s+(\w[\w-]*)\b(?!=)", text, re.MULTILINE))


def _spans(text: str) -> list[str]:
    """The code spans of a page, code blocks left out."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def _paths(page: Path) -> Iterator[str]:
    """What names a file or a folder on a page: code spans, and the headings of diffs. `NAME` stands
    for any name."""
    text = page.read_text()
    spans = [span for span in _spans(text) if _PATH.fullmatch(span) and "NAME" not in span]
    return iter({*spans, *_changed(text)} - _made(text))


def _changed(text: str) -> list[str]:
    """The files that the diffs of a page change or make."""
    return re.findall(r"^```diff\n\+\+\+ (\S+)", text, re.MULTILINE)


def _made(text: str) -> set[str]:
    """The files that the diffs of a page make: every line is new."""
    diffs = re.findall(r"^```diff\n\+\+\+ (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return {path for path, body in diffs if not re.search(r"^[^+]", body, re.MULTILINE)}


def _named(path: str, page: Path) -> list[Path]:
    """What a path on a page may mean: from the repository, from a package's folder, or from the
    page's own folder."""
    package = _FOLDER.get(path.split("/")[0])
    own = [*page.parent.glob(path), *page.parent.glob(f"*/{path}")]
    if "/" not in path:
        own += page.parent.rglob(path)
    return [*_ROOT.glob(path), *((_ROOT / package).glob(path) if package else ()), *own]


def _rooms() -> set[str]:
    """Every folder with modules of a package, as the documents write it: `sabot/cli/records/`."""
    return {
        path.parent.relative_to(_ROOT / folder).as_posix() + "/"
        for package, folder in _FOLDER.items()
        for path in (_ROOT / folder / package).rglob("*.py")
        if path.name != "__init__.py"
    }


def test_every_module_of_a_shoe_is_in_its_readme() -> None:
    named = set(_spans((_ROOT / "firmware" / "README.md").read_text()))
    package = _ROOT / "firmware" / "sabot_firmware"
    modules = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.name != "__init__.py"
    }
    # The boards' folders have one row each, with their modules by name alone.
    assert not [
        each
        for each in modules - named
        if not each.startswith("boards/") or each.rpartition("/")[2] not in named
    ]


def test_every_room_is_named_in_the_architecture() -> None:
    named = set(_spans(_ARCHITECTURE.read_text()))
    # The folder of a whole package is named by its heading, where it has rooms.
    assert _rooms() - named <= {"sabot_firmware/", "sabot/", "sabot_hil/"}


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.relative_to(_ROOT).as_posix())
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    assert not [path for path in _paths(page) if not _named(path, page)]


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.relative_to(_ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


@pytest.mark.parametrize("page", _all_pages(), ids=lambda page: page.relative_to(_ROOT).as_posix())
def test_every_make_target_that_a_page_names_is_in_the_makefile(page: Path) -> None:
    makefile = (_ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    missing = _make_targets(page.read_text()) - targets
    where = page.relative_to(_ROOT)
    assert not missing, f"{where}: the Makefile has no target {sorted(missing)}"


def test_make_targets_are_found_in_spans_and_blocks() -> None:
    page = "`make a`, `make\nb`, to make\nmake x\n\n    make c-e  # ...\n```\n$ make d\n`make E=1`"
    assert _make_targets(page) == {"a", "b", "c-e", "d"}


def _layers(drawn: str) -> list[set[str]]:
    return [{room.strip() for room in layer.split("|")} for layer in drawn.split(">")]


def test_the_picture_has_the_rooms_in_the_order_that_is_enforced() -> None:
    (picture,) = re.findall(r"```rooms\n(.*?)```", _ARCHITECTURE.read_text(), re.DOTALL)
    rows: dict[str, str] = {}
    for line in picture.splitlines():
        package, row = line[:19].strip(), line[19:].strip()
        if package in _FOLDER:
            rows[package] = row
        elif row.startswith(">") or line.strip().startswith("|  "):
            rows[[*rows][-1]] += " " + line.strip().removeprefix("|").strip()
    contracts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    packages, *rooms = contracts["contracts"]
    assert [*rows] == packages["layers"]
    assert rooms
    for contract in rooms:
        (package,) = contract["containers"]
        if package not in rows:  # within a room, whose own page says it
            assert "." in package
            continue
        enforced = [{room.strip() for room in layer.split("|")} for layer in contract["layers"]]
        assert _layers(rows[package]) == enforced, package


def test_every_decision_is_in_the_list_has_the_same_parts_and_is_short() -> None:
    pages = {page.name: page.read_text() for page in _DECISIONS.glob("*.md")}
    listed = re.findall(r"^\| \[.+?\]\(([\w-]+\.md)\)", pages.pop("README.md"), re.MULTILINE)
    assert sorted(listed) == sorted(pages)
    parts = ["Question", "Decision", "Why", "Rejected", "Figures"]
    for name, text in pages.items():
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == parts, name
        assert len(text.splitlines()) <= _MOST_LINES_OF_A_DECISION, name


def test_every_section_of_adding_is_in_its_table() -> None:
    text = (_DOCS / "adding.md").read_text()
    linked = re.findall(r"^\|.*\[(.+?)\]\(#.+\) \|$", text, re.MULTILINE)
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert linked and [section.split(":")[0] for section in sections] == linked


def test_lines_that_a_page_shows_are_in_their_file_as_they_are_shown() -> None:
    """The blocks ```lines of docs/adding.md: a file's path, then lines of it."""
    page = (_ROOT / "docs" / "adding.md").read_text()
    blocks = re.findall(r"^( *)```lines\n(.*?)^ *```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for margin, block in blocks:
        path, *lines = [line.removeprefix(margin) for line in block.rstrip().split("\n")]
        assert "\n".join(lines) in (_ROOT / path).read_text(), path
