"""`sabot provision --list`: many boards become units."""

import json
import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from host.tests.support.commands import (
    done_here,
    error_line_here,
    running,
)
from sabot.cli.service import provision_many
from sabot.errors import Interrupted
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.release import layout
from sabot.release.provision_list import Defaults
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases as made

pytestmark = pytest.mark.slow

_HOUSE = signing.public_of(made.HOUSE)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with the house's key, while two flashed boards are attached that are no units."""
    (tmp_path / "releases.pub.pem").write_bytes(signing.pem_of(_HOUSE))
    files = layout.contents(made.compiled("sim"), _HOUSE)
    del files["state/release_key.cbor"]
    with ExitStack() as stack:
        for name in ("BARE-1", "BARE-2"):
            board = SimulatedShoe(name, files=files, provisioned=False)
            stack.enter_context(board).power_on()
        yield tmp_path


def _list(folder: Path, *lines: str) -> None:
    (folder / "list.csv").write_text("\n".join(lines) + "\n", encoding="utf-8-sig")


def test_a_list_is_provisioned_goes_on_after_an_error_and_may_be_given_again(folder: Path) -> None:
    _list(folder, "board;unit;table;set;choose", "BARE-1;SHOE-1;12;3;tie_pays=9", "NONE;SHOE-2;2;;")
    with (folder / "list.csv").open("a") as file:
        file.write("\nBARE-2;SHOE-3;13;;\n")
    done = done_here(folder, "provision", "--list", "list.csv", code=3)
    first, third = done.stdout.splitlines()
    assert first.startswith("1 of 3: SHOE-1 at BARE-1: SHOE-1: table 12, game mini, card set 3")
    assert third.startswith("3 of 3: SHOE-3 at BARE-2: SHOE-3: table 13, game mini, card set 0")
    failed, counts, last = done.stderr.splitlines()
    assert failed.startswith("2 of 3: SHOE-2 at NONE: NONE: no such unit is attached")
    assert counts == "list.csv: 2 provisioned, 0 left as they are, 1 failed"
    assert last == "sabot: list.csv: 1 unit failed"
    keys = (folder / "sabot.keys").read_bytes(), (folder / "sabot.commands").read_bytes()
    known = Keys.load(folder / "sabot.keys")
    assert len(known.chains("SHOE-1")) == len(known.chains("SHOE-3")) == 1
    assert known.chains("SHOE-2") == []
    for name in ("sabot.keys", "sabot.commands"):
        assert (folder / name).stat().st_mode & 0o077 == 0

    done = done_here(folder, "provision", "--list", "list.csv", "--json", code=3)
    reported = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["result"] for each in reported] == ["left", "failed", "left"]
    assert [each["exit_code"] for each in reported] == [0, 3, 0]
    assert keys == ((folder / "sabot.keys").read_bytes(), (folder / "sabot.commands").read_bytes())

    _list(folder, "board,unit,table,game", "BARE-1,SHOE-1,12,ez-midi", "BARE-2,SHOE-4,4,")
    done = done_here(folder, "provision", "--list", "list.csv", code=33)
    assert "left as it is, though it deals another game than the list says" in done.stdout
    assert "SHOE-3: this board is already that unit" in done.stderr


def test_every_bad_line_is_named_and_no_board_is_touched(folder: Path) -> None:
    _list(
        folder,
        "Board,unit,table,set,game,choose,when_full",
        "BARE-1,SHOE-1,1,13,,,",
        "BARE-2,SHOE-2,,,,,",
        "BARE-2,SHOE 3,3,,,,",
        "BARE-4,SHOE-1,4,,,,",
        "BARE-5,SHOE-5,5,,midi,,",
        "BARE-6,SHOE-6,6,,,tie_pays=7,",
        "BARE-7,SHOE-7,7,,,,never",
        "BARE-8,SHOE-8,8",
        ",SHOE-9,9,,,,",
    )
    done = done_here(folder, "provision", "--list", "list.csv", code=39)
    *lines, last = done.stderr.splitlines()
    starts = [line.partition(": ")[0] for line in lines]
    assert starts == [f"list.csv, line {n}" for n in (2, 3, 4, 4, 5, 6, 7, 8, 9, 10)]
    assert "line 2: set '13' is not a number from 0 to 12" in lines[0]
    assert lines[1].endswith("line 3: the table is missing")
    assert lines[3].endswith("board BARE-2 is in line 3 already")
    assert lines[-1].endswith("line 10: the board is missing")
    assert last == "sabot: list.csv: 10 errors; no board was touched"
    assert done.stdout == "" and not (folder / "sabot.keys").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read"),
        (b"", "empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"board,unit\nA,B\n", "must name each column once, and board, unit, table"),
        (b"board,unit,table,tables\n", "no column 'tables'; did you mean table?"),
        (b"board,unit,table\n", "it names no board"),
        (b'board,unit,table\n"A,B,C\n', "not CSV"),
        (b"board,unit,table\n" + b"A" * (1 << 20), "over 1,048,576 bytes"),
    ],
)
def test_a_file_that_is_no_list(tmp_path: Path, content: bytes | None, says: str) -> None:
    (tmp_path / "releases.pub.pem").write_bytes(signing.pem_of(_HOUSE))
    if content is not None:
        (tmp_path / "list.csv").write_bytes(content)
    assert says in error_line_here(tmp_path, "provision", "--list", "list.csv", code=39)


@pytest.mark.parametrize(
    "arguments",
    [(), ("BARE-1",), ("--list", "l.csv", "BARE-1")],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done_here(tmp_path, "provision", *arguments, code=2)


def test_ctrl_c_between_two_units_says_that_the_first_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _list(tmp_path, "board,unit,table", "BARE-1,SHOE-1,1", "BARE-2,SHOE-2,2")

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(provision_many.ports, "lasting_names", lambda names: {n: n for n in names})
    monkeypatch.setattr(provision_many.console, "print", pressed)
    defaults = Defaults(0, "stop", bytes(32), lambda *_: catalogue.document("mini", {}))
    with pytest.raises(Interrupted) as interrupted:
        provision_many.provision_list_file(
            tmp_path / "list.csv", defaults, lambda *_: (True, "done"), as_json=False
        )
    assert str(interrupted.value) == (
        "SHOE-1: interrupted after it was done; 1 unit after it not begun"
    )


def test_after_ctrl_c_the_same_command_goes_on(folder: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    _list(folder, "board,unit,table", "BARE-1,SHOE-1,1", "BARE-2,SHOE-2,2")
    with running(folder, "provision", "--list", "list.csv") as command:
        command.wait_for_line("1 of 2: ")
        time.sleep(random.Random(seed).uniform(0, 1.0))
        code = command.end()
        if code == 130:
            assert re.match(r"sabot: SHOE-[12]: interrupted", command.problems[-1])
        else:  # it was done; Ctrl-C may still have come before the end of the process
            assert code in (0, -signal.SIGINT)
            assert command.problems[-1].startswith("list.csv: 2 provisioned")
    done = done_here(folder, "provision", "--list", "list.csv", "--replaces")
    assert "SHOE-1: a unit already, left as it is" in done.stdout
    assert len(done.stdout.splitlines()) == 2
