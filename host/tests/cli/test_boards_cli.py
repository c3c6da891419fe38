"""`--unit` and boards in the commands that read a log, `sabot replaced`, and the library."""

import json
from pathlib import Path
from typing import cast

import pytest

import sabot
from host.tests.support.boards import OPERATOR, Boards
from host.tests.support.commands import error_line_here, run_here
from sabot.keys import signing
from sabot.link.log_socket import LoggedShoe
from sabot.link.session import Introduction
from sabot.log.store import open_store


@pytest.fixture(scope="module")
def three() -> Boards:
    return Boards(3)


@pytest.fixture
def folder(tmp_path: Path, three: Boards) -> Path:
    """A folder with the log of three boards of U1."""
    three.write(tmp_path / "log")
    with open_store(tmp_path / "log", create=True) as store:
        store.append("U2", three.records(1)[:40])
    return tmp_path


def objects(folder: Path, *arguments: str, code: int = 0) -> list[dict[str, object]]:
    out, problems, exit_code = run_here(folder, *arguments, "--db", "log", "--json")
    assert exit_code == code, problems
    return [json.loads(line) for line in out.splitlines()]


def boards_in(found: list[dict[str, object]]) -> list[tuple[object, object]]:
    return list(dict.fromkeys((each["unit"], each["board_number"]) for each in found))


ALL = [("U1", 1), ("U1", 2), ("U1", 3)]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rounds", "events", "units", "incidents", "receipts"])
def test_a_unit_means_all_its_boards_in_order_and_a_name_one(folder: Path, command: str) -> None:
    if command == "receipts":
        with open_store(folder / "log") as store:
            for name in ("U1", "U1~2", "U1~3"):
                store.keep_receipts(name, [(1, b"none")])
        lines = objects(folder, command, "--unit", "U1")
        assert len(lines) == 3 and len(objects(folder, command, "--unit", "U1~2")) == 1
        return
    assert boards_in(objects(folder, command, "--unit", "U1")) == ALL
    assert boards_in(objects(folder, command, "--unit", "U1~2")) == [("U1", 2)]
    assert boards_in(objects(folder, command, "--unit", "U1~1")) == [("U1", 1)]
    line = error_line_here(folder, command, "--unit", "U1~4", "--db", "log", code=8)
    assert line == "log: has no unit U1~4; there are: U1, U2"


def test_a_shoe_of_cards_that_several_boards_have_is_exported_of_the_one_that_is_named(
    folder: Path,
) -> None:
    signing.make_key_pair(folder / "operator")
    given = ("--shoe", "1", "--key", "operator.pem", "--db", "log", "-o", "bundle", "--json")
    _, problems, code = run_here(folder, "export", "--unit", "U1", *given)
    assert code == 2 and "U1~1, U1~2, U1~3" in " ".join(problems.split()).replace("│ ", "")
    out, _, code = run_here(folder, "export", "--unit", "U1~2", *given)
    assert code == 0 and json.loads(out)["board_number"] == 2


@pytest.mark.slow
def test_the_last_round_of_a_unit_is_that_of_its_newest_board(folder: Path) -> None:
    given = ("settle", "--wager", "1 player 100", "--game", "mini", "--db", "log", "--json")
    for asked, board in (("U1", 3), ("U1~2", 2), ("U1~1", 1)):
        out, problems, code = run_here(folder, *given, "--unit", asked)
        assert code in (0, 1), problems
        assert json.loads(out)["round"]["board_number"] == board


def test_tables_has_one_line_for_a_unit(folder: Path) -> None:
    assert sorted(map(str, boards_in(objects(folder, "tables")))) == ["('U1', 3)", "('U2', 1)"]
    assert boards_in(objects(folder, "tables", "--unit", "U1~2")) == [("U1", 2)]


@pytest.mark.slow
def test_checkpoints_of_all_boards_are_read_again_as_they_were_written(folder: Path) -> None:
    out, _, _ = run_here(folder, "checkpoints", "--db", "log")
    (folder / "kept").write_text(out)
    assert [*ALL, ("U2", 1)] == boards_in([json.loads(line) for line in out.splitlines()])
    _, said, code = run_here(folder, "checkpoints", "--db", "log", "-o", "kept")
    assert code == 0, said
    out, _, _ = run_here(folder, "verify", "--db", "log", "--checkpoints", "kept", "--json")
    kinds = {each["kind"] for each in json.loads(out)["findings"]}
    assert kinds <= {"no_key", "operator", "game"}


def test_the_seam_of_a_unit_is_shown_below_its_boards(folder: Path, three: Boards) -> None:
    out, _, _ = run_here(folder, "units", "--db", "log")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["U1", "U1~2", "U1~3", "U2"]
    last = three.logs[0].last_number
    assert lines[5].startswith(f"U1: board 2 since event {last} of U1, by ada, on ")
    assert lines[6].startswith("U1: board 3 since event ")
    found = objects(folder, "units")
    assert found[0]["seam"] is None
    seam = found[1]["seam"]
    assert isinstance(seam, dict) and seam["last_event"] == last
    assert seam["signer"] == signing.fingerprint(signing.public_of(OPERATOR))


def test_replaced_refuses_what_is_wrong_in_one_line(folder: Path, three: Boards) -> None:
    signing.make_key_pair(folder / "operator")
    key, new = ("--key", "operator.pem", "--db", "log"), ("--chain", "ab" * 16)
    current = three.logs[2].chain.id.hex()
    for arguments, code, said in (
        (("U1~2", *new, *key), 2, "'U1~2' is not the id of a unit"),
        (("U1", "--chain", "ab", *key), 2, "'ab' is not the id of a chain"),
        (("U1", "--chain", "xy" * 16, *key), 2, "is not the id of a chain"),
        (("U1", *key), 2, "name the new board's chain and the operator's key"),
        (("U1", "--undo", *new, "--db", "log"), 2, "--undo takes no --chain"),
        (("U9", *new, *key), 8, "log: has no unit U9; there are: U1, U2"),
        (("U1", "--chain", current, *key), 44, "the newest board has the chain"),
        (("U1", "--undo", "--db", "log"), 44, "so that its seam cannot be undone any more"),
        (("U2", "--undo", "--db", "log"), 44, "no board of U2 was replaced"),
    ):
        _, problems, exit_code = run_here(folder, "replaced", *arguments)
        assert exit_code == code and said in " ".join(problems.split()).replace("│ ", ""), problems


@pytest.mark.parametrize("logged", [True, False])
def test_who_replaces_a_board_that_a_log_still_has_is_warned(
    folder: Path, monkeypatch: pytest.MonkeyPatch, logged: bool
) -> None:
    signing.make_key_pair(folder / "operator")
    welcome = cast(Introduction, object()) if logged else None
    shoe = LoggedShoe("77-1", "/dev/x", "/dev/x", welcome, "U2", "")
    monkeypatch.setattr("sabot.cli.records.replaced.through_log", lambda unit: shoe)
    given = ("U2", "--chain", "99" * 16, "--key", "operator.pem", "--db", "log")
    out, problems, code = run_here(folder, "replaced", *given)
    assert code == 0 and out.startswith("U2: board 2 since event 40 of U2, on "), problems
    warning = "U2: `sabot log` (process 77) has it now; if that is the old board"
    assert problems.startswith(warning) if logged else "process" not in problems


@pytest.mark.slow
def test_the_library_reads_all_boards_of_a_unit_or_one(folder: Path, three: Boards) -> None:
    with sabot.open(folder / "log") as log:
        assert log.units() == ["U1", "U2"]
        assert log.boards("U1") == ["U1", "U1~2", "U1~3"] and log.boards("U9") == []
        events = [len(each.records) for each in three.logs]
        assert len(list(log.events("U1"))) == sum(events)
        assert len(list(log.events("U1~2"))) == events[1]
        assert len(list(log.events())) == sum(events) + 40
        every, second = list(log.rounds("U1")), list(log.rounds("U1~2"))
        assert second and {each.unit for each in second} == {"U1~2"}
        assert [each for each in every if each.unit == "U1~2"] == second
        assert list(dict.fromkeys(each.unit for each in every)) == ["U1", "U1~2", "U1~3"]
