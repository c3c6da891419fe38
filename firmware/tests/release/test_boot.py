"""The boot loader's choice: the table in the documentation, and the state that it keeps."""

from firmware.tests.test_store import Folder
from sabot_firmware.release import boot

try:
    import vfs
except ImportError:
    vfs = None
from firmware.tests.support.slots import LISTS, SlotBoard


def _table():
    """Return the rows of the table in README.md: other slot, current is, other is, runs, kept."""
    path = __file__.replace("\\", "/").rsplit("/", 3)[0] + "/README.md"
    with open(path) as file:
        text = file.read()
    rows = []
    for line in text[text.index("### Which slot runs") :].split("\n"):
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) == 5 and cells[0] in ("nothing", "new", "tried", "undone"):
            rows.append(cells)
    return rows


def _allowed(cell):
    return (True, False) if cell == "any" else (cell == "good",)


def test_every_case_is_in_exactly_one_row_of_the_table_and_has_its_outcome():
    cases = {}
    for other, current_cell, other_cell, runs, then in _table():
        for current_good in _allowed(current_cell):
            for other_good in _allowed(other_cell):
                case = (other, current_good, other_good)
                assert case not in cases, case
                cases[case] = (runs, then)
    assert len(cases) == 4 * 2 * 2
    for other, current_good, other_good in cases:
        runs, then = cases[other, current_good, other_good]
        for current in boot.SLOTS:
            other_slot = boot.other_slot(current)
            good = {current: current_good, other_slot: other_good}
            before = boot.State(current, other, LISTS)
            run, after = boot.choose(before, good.get)
            by_name = {"current": current, "other": other_slot, "none": ""}
            assert run == by_name[runs]
            now_current, now_other = then.split(", ")
            assert (after.current, after.other) == (by_name[now_current], now_other)
            assert after.lists == LISTS


def test_never_a_slot_that_is_not_good():
    for other in (boot.NOTHING, boot.NEW, boot.TRIED, boot.UNDONE):
        for a in (True, False):
            for b in (True, False):
                good = {"a": a, "b": b}
                for current in boot.SLOTS:
                    state = boot.State(current, other, LISTS)
                    run, _ = boot.choose(state, good.get)
                    assert good[run] if run else not (a or b)


def test_a_release_that_is_never_confirmed_runs_once_however_often_the_power_goes():
    state = boot.State("a", boot.NEW, LISTS)
    ran = []
    for _ in range(5):
        slot, state = boot.choose(state, lambda slot: True)
        ran.append(slot)
    assert ran == ["b", "a", "a", "a", "a"]
    assert state.other == boot.UNDONE


def test_the_state_comes_back_as_it_was_kept():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        for current in boot.SLOTS:
            for other in (boot.NOTHING, boot.NEW, boot.TRIED, boot.UNDONE):
                state = boot.State(current, other, {"a": "1" * 64, "b": boot.EMPTY})
                boot.keep(board.root, state)
                assert boot.load(board.root).line() == state.line()


def test_a_state_that_is_not_there_or_damaged_is_that_of_empty_slots():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        empty = boot.load(board.root).line()
        whole = boot.State("b", boot.NEW, LISTS).line().encode()
        damaged = [b"", b"\0", b"\xff\xfe", whole[:20], whole + b" more", b"2" + whole[1:]]
        damaged += [whole.replace(b" b ", b" c "), whole.replace(b"new", b"old")]
        for data in damaged:
            board.write("state/boot", data)
            assert boot.load(board.root).line() == empty, data
