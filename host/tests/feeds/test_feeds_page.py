"""docs/feeds.md: what it shows is run, as a reader would who follows it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from host.tests.support import example_log
from host.tests.support.brokers import _listens, free_port, until
from host.tests.support.commands import SABOT, environment
from host.tests.support.pages import agrees, text_of
from sabot.feeds import config, config_values
from sabot.feeds.message import _WHAT_OF, WHAT
from sabot.log.store import Filter, open_store

pytestmark = pytest.mark.slow

_PAGE = text_of("docs/feeds.md")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)


def test_the_receiver_on_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    port = str(free_port())
    shutil.copytree(example_log.FOLDER, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("evening.sqlite*"):
        path.chmod(0o600)
    (sh,) = _blocks("sh")
    subprocess.run(["bash", "-ec", sh], cwd=tmp_path, check=True)
    (toml,) = _blocks("toml")
    (tmp_path / "feeds.toml").write_text(toml.replace("8080", port))
    (program,) = _blocks("python")
    assert len([line for line in program.splitlines() if line]) <= 25
    shown, printed, _ = _blocks("text")
    command, *expected = shown.splitlines()
    with (tmp_path / "printed").open("w") as out:
        receiver = subprocess.Popen(
            [sys.executable, "-c", program.replace("8080", port)], cwd=tmp_path, stdout=out,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until(lambda: _listens(int(port)))
            words = [str(SABOT), *command.removeprefix("$ sabot ").split()]
            for _ in range(2):  # the second time nothing is left
                done = subprocess.run(
                    words, cwd=tmp_path, env=environment(), capture_output=True, text=True,
                    check=True,
                )  # fmt: skip
                assert agrees(expected, done.stdout + done.stderr)
        finally:
            receiver.kill()
            receiver.wait()
    lines = (tmp_path / "printed").read_text()
    assert agrees(printed.splitlines(), lines)
    with open_store(tmp_path / "evening.sqlite") as store:
        ended = sum(1 for _ in store.rows(Filter(example_log.UNIT, kinds=("result",))))
    assert len(lines.splitlines()) >= ended > 10


def test_every_key_of_a_configuration_is_on_the_page() -> None:
    table = _PAGE[_PAGE.index("## The configuration") : _PAGE.index("## When a receiver fails")]
    keys = {*config._OF_ALL, *(key for _, own in config._OF_KIND.values() for key in own)}
    named = {
        key
        for row in re.findall(r"^\| (`.*?) \|", table, re.M)
        for key in re.findall(r"`(\w+)`", row)
    }
    assert named == keys
    for kind, (schemes, _) in config._OF_KIND.items():
        assert f"`{kind}`" in table
        assert all(f"`{scheme}://`" in table for scheme in schemes)


def test_every_type_of_message_is_on_the_page() -> None:
    table = _PAGE[_PAGE.index("## What is sent") : _PAGE.index("- **What must not show")]
    assert {*re.findall(r"`(sabot\.\w+\.\w+)`", table)} == {*_WHAT_OF}
    assert {*re.findall(r"^\| `(\w+)` \|", table, re.M)} - {"what"} == {*WHAT}
    assert str(config_values.DEFAULT_PULL_PORT) in _PAGE
