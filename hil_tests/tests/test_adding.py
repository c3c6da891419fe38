"""The examples in docs/adding.md, applied to a copy of the project in the order of the page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
_COPIED = ("protocol", "firmware", "host", "hil_tests", "docs")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "golden", "samples", "*.samples")
_TIMEOUT_S = 120

_TESTS = (
    "protocol/tests/test_definitions_cpython.py",
    "protocol/tests/test_messages.py",
    "protocol/tests/test_cddl_cpython.py",
    "protocol/tests/test_readme_cpython.py",
    "host/tests/link/test_typed.py",
)
_NOTABLE = ("host/tests/notable/test_kinds.py", "host/tests/notable/test_incident_search.py")
_PLAIN = ("-q", "-p", "no:cacheprovider", "-o", "consider_namespace_packages=true")
_BENCH_TEST = "hil_tests/sabot_hil/suite/acceptance/test_temperature.py"
_COMPLETENESS_TESTS = (
    "overheated or temperature or every_shape_has or names_of_fields or every_kind_has "
    "or left_out or is_current or what_version_10 or tables_list or times_and_the_window"
)
_ANSWER = """\
from unittest.mock import MagicMock
from sabot.link import messages, wire
from sabot_firmware.link import commands
from sabot_protocol import messages as definitions
shoe = MagicMock()
shoe.board.temperature_c.return_value = 71
shoe.journal.crowded.return_value = False
number, *values = commands.run(shoe, definitions.TEMPERATURE, [7])
(recorded,) = shoe.recorder.record.call_args_list
payload = wire.payload_of(definitions.TEMPERATURE_REPORT, *values)
print(recorded.args[0].name, messages.shoe_message_of(wire.parse_message(payload)))
"""
_CHOICES = """\
from sabot.games.baccarat import catalogue, wager_file, wager_rules
from sabot_protocol.game_rules import game_to_deal
from sabot_protocol.baccarat import Game
assert game_to_deal(catalogue.document("pairs-down")).shown == "after_reveal"
game = Game(catalogue.document("md-mini", {"called_wagers": False}))
placed = wager_file.parse(
    b'{"positions": [{"seat": 1, "player": "Ann", "wagers": {"tie": 8000}, "called": "converted"}]}'
)
print([refusal.why for refusal in wager_rules.Rules(game).refusals(placed)])
"""


def _apply(diff: str, root: Path) -> None:
    """Apply a diff of the page: a file, then pieces separated by `@@`."""
    heading, _, body = diff.partition("\n")
    path = root / heading.removeprefix("+++ ")
    pieces = [piece.strip("\n").splitlines() for piece in f"\n{body}".split("\n@@\n")]
    if all(line.startswith("+") for piece in pieces for line in piece):
        assert not path.exists(), f"{path} is there already"
        path.write_text("".join(f"{line[1:]}\n" for piece in pieces for line in piece))
        return
    text = path.read_text(encoding="utf-8")
    for piece in pieces:
        old = "".join(f"{line[1:]}\n" for line in piece if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in piece if not line.startswith("-"))
        assert text.count(old) == 1, (
            f"{heading}: these lines are there {text.count(old)} times:\n{old}"
        )
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def _run(root: Path, *arguments: str) -> str:
    folders = [str(root), *(str(root / folder) for folder in _COPIED)]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with every example of the page."""
    root = tmp_path_factory.mktemp("adding") / "project"
    for folder in _COPIED:
        shutil.copytree(_ROOT / folder, root / folder, ignore=_NOT_COPIED)
    for diff in re.findall(r"^```diff\n(.*?)^```$", _PAGE, re.DOTALL | re.MULTILINE):
        _apply(diff, root)
    # -B: it changes modules in the second in which they would be compiled.
    _run(root, "-B", "-m", "sabot_definitions.generate")
    return root


def test_the_event_and_the_message_pass_the_tests_of_completeness(changed: Path) -> None:
    # The bench test is imported; without a shoe that is all.
    bench = ("-p", "sabot_hil.pytest_plugin.plugin", _BENCH_TEST, "--deselect", _BENCH_TEST)
    only = ("-k", _COMPLETENESS_TESTS)
    ran = _run(changed, "-m", "pytest", *_PLAIN, *bench, *only, *_TESTS)
    assert " passed" in ran and " skipped" not in ran


def test_the_command_is_answered_and_recorded(changed: Path) -> None:
    printed = _run(changed, "-c", _ANSWER)
    assert printed == "overheated TemperatureReport(id=7, temperature_c=71)\n"


def test_the_game_and_the_choice_are_there(changed: Path) -> None:
    why = "called out, which this house does not accept; the floor returns it"
    assert _run(changed, "-c", _CHOICES) == f"['{why} (Maryland, Chapter 7 C)']\n"


_OF_A_KIND = ("-k", "key_left_on or every_kind or row or is_sent or is_found", *_NOTABLE)


def test_the_kind_of_incident_is_found_and_is_on_the_pages(changed: Path) -> None:
    ran = _run(changed, "-m", "pytest", *_PLAIN, *_OF_A_KIND)
    assert " passed" in ran and " skipped" not in ran


@pytest.mark.parametrize(
    ("forgotten", "said"),
    [
        ("host/sabot/notable/kinds.py", "has no attribute 'KEY_LEFT_ON'"),
        ("host/sabot/notable/incident_finder.py", "nothing makes 'key_left_on' of its example"),
        ("host/tests/notable/examples.py", "examples.py has no example of 'key_left_on'"),
        ("docs/surveillance.md", "docs/surveillance.md lacks the row | `key_left_on` |"),
        ("docs/asyncapi.yaml", "docs/asyncapi.yaml: schemas, incident, kind, examples"),
    ],
)
def test_each_place_of_a_kind_that_is_forgotten_is_named(
    changed: Path, forgotten: str, said: str
) -> None:
    path = changed / forgotten
    whole = path.read_bytes()
    shutil.copyfile(_ROOT / forgotten, path)
    try:
        with pytest.raises(AssertionError) as raised:
            _run(changed, "-m", "pytest", *_PLAIN, *_OF_A_KIND)
    finally:
        path.write_bytes(whole)
    assert said in str(raised.value)


def test_the_command_has_its_help(changed: Path) -> None:
    script = "from sabot.cli import run; run()"
    assert "how warm" in _run(changed, "-c", script, "temperature", "--help")
