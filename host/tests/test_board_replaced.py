"""A board dies and another takes its place, from the first to the last command, with boards that
run the real firmware: the unit goes on as one, and its log is good."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from host.tests.release.test_provision import House, _board, _settings
from host.tests.support.commands import (
    dealt,
    done_here,
    run_here,
    running,
    short_deck,
)
from host.tests.support.pages import agrees, text_of
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.log.store import open_store
from sabot.sim import deck
from sabot.sim.dealer import Dealer
from sabot.sim.process import JOURNAL, SimulatedShoe
from sabot_protocol import baccarat

pytestmark = pytest.mark.slow

_UNIT = _settings(game=baccarat.document_of(baccarat.MINI_NAME))
_LOG = ("--db", "log.sqlite", "--commands", "commands")


@contextmanager
def dealing(folder: Path, board: SimulatedShoe) -> Iterator[None]:
    """Have a shoe of cards dealt at a board, as soon as a host listens."""
    cards = deck.read(folder / short_deck(folder), short=True)
    dealer = Dealer(board.bench, cards, card_set=_UNIT.card_set, pace=0)
    dealer.start()
    yield
    dealer.stop()
    assert dealer.failure is None


def objects(folder: Path, *arguments: str) -> list[dict[str, object]]:
    out, _, code = run_here(folder, *arguments, "--json")
    assert code == 0
    return [json.loads(line) for line in out.splitlines()]


def test_a_board_dies_and_another_takes_its_place(tmp_path: Path) -> None:
    house = House(tmp_path)
    signing.make_key_pair(tmp_path / "operator")
    state = tmp_path / "old"
    with _board(state) as old:
        old.power_on()
        house.provision(old, _UNIT)
        with dealing(tmp_path, old):
            done_here(tmp_path, "log", old.port, "--once", *_LOG)
    with open_store(tmp_path / "log.sqlite") as store:
        last = store.last_number("SHOE-9")

    quoted = [line for line in text_of("docs/technician.md").splitlines() if "SHOE-9: " in line]

    def is_quoted(line: str) -> bool:
        return any(agrees([each], line) for each in quoted)

    with _board() as new:
        new.power_on()
        house.provision(new, _UNIT, replaces=True)
        first, second = Keys.load(tmp_path / "keys").chains("SHOE-9")
        refused = done_here(tmp_path, "log", new.port, *_LOG, code=10).stderr.splitlines()[-1]
        assert f"another board of SHOE-9: its chain is {second.hex()}" in refused
        assert f"that of SHOE-9 in log.sqlite is {first.hex()}" in refused
        assert is_quoted(refused.replace(f"sabot: {new.port}: ", "sabot: SHOE-9: "))
        (command,) = re.findall("`sabot (.+?)`", refused)
        said = done_here(tmp_path, *shlex.split(command), "--by", "ada").stdout
        assert said.startswith(f"SHOE-9: board 2 since event {last} of SHOE-9, by ada, on ")
        assert is_quoted(said.strip())
        with dealing(tmp_path, new):
            done_here(tmp_path, "log", new.port, "--once", *_LOG)
        undone = done_here(tmp_path, "replaced", "SHOE-9", "--undo", *_LOG[:2], code=44).stderr
        assert "of SHOE-9~2, so that its seam cannot be undone any more" in undone

        # The old board is found in a drawer, and plugged in.
        with _board(state) as back:
            back.power_on()
            with running(tmp_path, "log", back.port, *_LOG) as log:
                error = log.wait_for_line("it has another command key than the one known here")
                assert "SHOE-9~2 has taken the place of a board of SHOE-9 (by ada, on " in error
            lines = (tmp_path / "commands").read_text().splitlines()
            (tmp_path / "old.commands").write_text(lines[0] + "\n")
            (tmp_path / "old.commands").chmod(0o600)
            given = ("--db", "log.sqlite", "--commands", "old.commands")
            error = done_here(tmp_path, "log", back.port, *given, code=10).stderr.splitlines()[-1]
            assert f"this board of SHOE-9 was replaced after event {last}: SHOE-9~2 has" in error

    checked = ("--keys", "keys", "--operator", "operator.pub.pem")
    verified = done_here(tmp_path, "verify", "--db", "log.sqlite", *checked).stdout
    assert "SHOE-9~2: note: seam: board 2 since event" in verified
    assert "log.sqlite: 1 unit," in verified and "nothing to find fault with" in verified

    rounds = objects(tmp_path, "rounds", "--db", "log.sqlite", "--unit", "SHOE-9")
    assert {each["unit"] for each in rounds} == {"SHOE-9"}
    assert [each["board_number"] for each in rounds] == [1] * 6 + [2] * 6
    for name, board in (("SHOE-9~1", 1), ("SHOE-9~2", 2)):
        some = objects(tmp_path, "rounds", "--db", "log.sqlite", "--unit", name)
        assert some == [each for each in rounds if each["board_number"] == board]
    (tile,) = objects(tmp_path, "tables", "--db", "log.sqlite")
    assert (tile["unit"], tile["board_number"], tile["table"]) == ("SHOE-9", 2, "12")
    units = objects(tmp_path, "units", "--db", "log.sqlite")
    assert [each["unit"] for each in units] == ["SHOE-9"] * 2
    assert [each["board_number"] for each in units] == [1, 2]
    shown, _, _ = run_here(tmp_path, "units", "--db", "log.sqlite")
    assert f"SHOE-9: board 2 since event {last} of SHOE-9, by ada, on " in shown
    (replaced,) = objects(tmp_path, "incidents", "--db", "log.sqlite", "--kind", "replaced")
    assert (replaced["unit"], replaced["board_number"]) == ("SHOE-9", 2)
    assert str(replaced["detail"]).startswith(f"board 2 since event {last} of SHOE-9, by ada, on ")

    bundle = ("--unit", "SHOE-9~2", "--shoe", "1", "--key", "operator.pem", "--keys", "keys")
    done_here(tmp_path, "export", "--db", "log.sqlite", *bundle, "-o", "bundle")
    verdict = done_here(tmp_path, "verify", "bundle", *checked).stdout
    assert "SHOE-9~2: note: seam: board 2 since event" in verdict


def test_a_new_journal_chip_in_the_same_board_is_another_board(tmp_path: Path) -> None:
    """The simulated board makes new keys when its chip is blank, as `--replaces` does."""
    signing.make_key_pair(tmp_path / "operator")
    state, log = tmp_path / "memory", ("--db", "log.sqlite")
    with dealt(tmp_path, "U7", state):
        done_here(tmp_path, "log", "U7", "--once", *log)
    (state / JOURNAL).unlink()
    (state / JOURNAL).with_name("chain.cbor").unlink(missing_ok=True)
    with dealt(tmp_path, "U7", state):
        refused = done_here(tmp_path, "log", "U7", *log, code=10).stderr.splitlines()[-1]
        (command,) = re.findall("`sabot (.+?)`", refused)
        done_here(tmp_path, *shlex.split(command))
        done_here(tmp_path, "log", "U7", "--once", *log)
    found = objects(tmp_path, "rounds", *log, "--unit", "U7")
    assert [each["board_number"] for each in found] == [1] * 6 + [2] * 6
    verified = done_here(
        tmp_path, "verify", *log, "--operator", "operator.pub.pem", "--json", code=1
    )
    assert {each["kind"] for each in json.loads(verified.stdout)["findings"]} == {"no_key"}
