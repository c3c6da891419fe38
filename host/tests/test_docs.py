"""The pages in docs/: commands print what the pages show, and tables agree with the code."""

import ast
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from host.tests.support import example_log
from host.tests.support.pages import DOCS, ROOT, agrees, follow, steps_of, text_of
from host.tests.support.postgres import Server
from sabot import errors
from sabot.cli.key_files import ENVIRONMENT
from sabot.log.store import Filter, open_store
from sabot_firmware import panel
from sabot_firmware.table import baccarat, blackjack, holdem
from sabot_protocol import enums

pytestmark = pytest.mark.slow

_PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted(DOCS.glob("*.md")))]
_WITH_COMMANDS = [page for page in _PAGES if steps_of(page)]
_MALTA = {"TZ": "Europe/Malta"}
_LATER = {"architecture.md", "adding.md", "decisions", "json.md", "library.md"}
_TYPED = {"docs/screens.md": "a password of a test\n"}
_WITH_LOGS = {"docs/running-house.md": "house", "docs/running-group.md": "centre"}
"""Pages that need a PostgreSQL server, with the name of the empty database in it."""
_ROLES = ("logger1", "screens", "officer", "macau", "signer", "auditor")
_GIVEN = {"docs/surveillance.md": _MALTA, "docs/laboratory.md": _MALTA}


def _copy_example(folder: Path) -> None:
    shutil.copytree(example_log.FOLDER, folder, dirs_exist_ok=True)


@pytest.mark.parametrize("page", _WITH_COMMANDS)
def test_the_commands_print_what_the_page_shows(
    tmp_path: Path, page: str, request: pytest.FixtureRequest
) -> None:
    if page != "README.md":  # the README begins in an empty folder
        _copy_example(tmp_path)
    given = {"XDG_RUNTIME_DIR": str(tmp_path), ENVIRONMENT: "a passphrase of a test"}
    given |= _GIVEN.get(page, {})
    if (name := _WITH_LOGS.get(page)) is None:
        follow(page, tmp_path, given, _TYPED.get(page, ""))
        return
    server: Server = request.getfixturevalue("postgres")
    with _own_database(server, name):
        follow(page, tmp_path, given | {"PGHOST": str(server.folder)})


@contextmanager
def _own_database(server: Server, name: str) -> Iterator[None]:
    """An empty database with an owner, and the roles of the pages."""
    with server.connect() as session:
        session.execute("CREATE ROLE sabot LOGIN SUPERUSER")
        session.execute(f"CREATE DATABASE {name} OWNER sabot")
        for role in _ROLES:
            session.execute(f"CREATE ROLE {role} LOGIN")
    try:
        yield
    finally:
        server.drop_database(name)
        with server.connect() as session:
            for role in (*_ROLES, "sabot"):
                session.execute(f"DROP ROLE {role}")


def test_the_readme_and_four_people_have_commands() -> None:
    wanted = {"README.md", "docs/technician.md", "docs/surveillance.md", "docs/laboratory.md"}
    assert {*wanted, "docs/bench.md", "docs/games.md"} <= set(_WITH_COMMANDS)


def test_output_that_differs_from_the_page_does_not_agree() -> None:
    assert agrees(["a ... z", "...", "end"], "a   b z\nx\ny\nend")
    assert not agrees(["a ... z"], "a b z\nmore")
    assert not agrees(["a b"], "a c")


def test_the_program_on_the_programmers_page_runs(tmp_path: Path) -> None:
    _copy_example(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", text_of("docs/programmer.md"), re.DOTALL)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"[1-9]\d* ties\n", done.stdout), done.stdout


def test_the_example_log_is_what_its_module_writes() -> None:
    records = example_log.evening().records
    with open_store(example_log.LOG) as store:
        kept = [row.data for row in store.rows(Filter(unit=example_log.UNIT))]
    assert kept == [bytes(record) for record in records]


@pytest.mark.parametrize("page", _PAGES)
def test_every_link_has_a_target(page: str) -> None:
    folder = (ROOT / page).parent
    text = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        there = "://" in target or (folder / target).exists() or target in _LATER
        assert there, f"{page}: {target}"


def test_every_page_is_in_the_index() -> None:
    index = text_of("docs/README.md")
    missing = [path.name for path in DOCS.glob("*.md") if f"]({path.name})" not in index]
    assert missing == ["README.md"]


def test_every_exit_code_is_documented() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|([^|]*)\|$", text_of("docs/exit-codes.md"), re.M)
    kinds = [errors.SabotError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    codes = {0, errors.FINDINGS, 2, errors.INTERRUPTED} | {kind.exit_code for kind in kinds}
    assert [int(code) for code, _, _ in rows] == sorted(codes)
    assert all(to_do.strip() for code, _, to_do in rows if code != "0")


def test_the_supervisors_page_has_every_text_of_the_display() -> None:
    page = text_of("docs/supervisor.md")
    faults = [name.upper().replace("_", " ") for name in enums.FAULTS[1:]]
    titles = [*panel._TITLES.values(), *baccarat._WINNERS, *filter(None, panel._ERRORS), *faults]
    notices = [panel.ON_TRIAL, panel.NO_HOST, panel.LOG_BEHIND, panel.HOST]
    for text in [*titles, *panel._CHOICES.values(), *notices]:
        assert f"`{text}" in page, text


@pytest.mark.parametrize("family", [blackjack, holdem])
def test_the_supervisors_page_has_every_text_of_the_other_families(family: ModuleType) -> None:
    page = text_of("docs/supervisor.md")
    texts = {
        node.value.strip()
        for node in ast.walk(ast.parse(inspect.getsource(family)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"[A-Z ][A-Z ?:.]{2,}(%d)?[A-Z ?:.]*", node.value)
    }
    assert len(texts) > 15
    for text in texts - {"HAND ENDED"}:  # SHOE ENDED takes its place
        assert re.search(re.escape(text).replace("%d", r"\d"), page), text
