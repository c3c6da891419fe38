"""The logger and boards that take each other's place: no record ever gets another board's name."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.tests.log.test_logger import logging, wait_until
from host.tests.support.boards import MALLORY, OPERATOR, WHEN, Board
from host.tests.support.helpers import event_bytes
from host.tests.support.naive_shoe import KEY, answering_shoe, recorded
from sabot.audit import replacing
from sabot.errors import HistoryDiffers, SameUnit, SeamRefused, UnitNotProven
from sabot.link import command_keys
from sabot.log import attribution
from sabot.log.attribution import Known, Look, attributed
from sabot.log.logger import Logger, LogWatcher
from sabot.log.place import Place
from sabot.log.seam import Seam
from sabot.log.store import open_store

pytestmark = pytest.mark.slow


def logged(place: Place, board: Board, last: int, name: str = "U1") -> None:
    """Log a board up to an event."""
    with answering_shoe(board) as port, logging(place, port.path) as log:  # type: ignore[arg-type]
        log.wait_for(last, name)
        wait_until(lambda: board.acknowledged >= last)


def refusal(place: Place, board: Board) -> str:
    """Why a log refuses a board, of which it acknowledges nothing."""
    before = board.acknowledged
    with answering_shoe(board) as port, logging(place, port.path) as log:  # type: ignore[arg-type]
        failure = log.failure
    assert isinstance(failure, HistoryDiffers) and str(failure).startswith(f"{port.path}: ")
    assert board.acknowledged <= max(before, board.first_held - 1)  # nothing that it holds
    return str(failure).removeprefix(f"{port.path}: ")


def replace(place: Place, new: Board) -> Seam:
    """Do what `sabot replaced` does."""
    with open_store(place) as store:
        return replacing.replace(store, "U1", new.chain, OPERATOR, by="ada", now_unix_ms=WHEN)


def assert_has(place: Place, *boards: tuple[str, Board, int]) -> None:
    """Check that a log has exactly these boards, each with its own events up to one."""
    with open_store(place) as store:
        assert store.units() == [name for name, _, _ in boards]
        for name, board, last in boards:
            assert list(store.raw(name)) == board.rows(last)
        assert store.faults() == []


def test_a_board_with_a_seam_goes_on_where_the_other_ended(log_place: Place) -> None:
    old, new = Board(1, 30), Board(2, 70)
    logged(log_place, old, 30)
    replace(log_place, new)
    logged(log_place, new, 70, "U1~2")
    new.grow(5)
    logged(log_place, new, 75, "U1~2")  # another logger goes on with it
    assert_has(log_place, ("U1", old, 30), ("U1~2", new, 75))


@pytest.mark.parametrize("count", [5, 29, 30, 31, 200])
def test_another_board_without_a_seam_is_refused_with_the_command_to_give(
    tmp_path: Path, count: int
) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, count)
    logged(path, old, 30)
    for _ in range(2):
        said = refusal(path, new)
        assert said == (
            f"another board of U1: its chain is {'02' * 16}, and that of U1 in {path} is "
            f"{'01' * 16}; if the house has replaced the board, `sabot replaced U1 --chain "
            f"{'02' * 16} --key operator.pem --db {path}`"
        )
    assert new.acknowledged == 0
    assert_has(path, ("U1", old, 30))
    replace(path, new)
    logged(path, new, count, "U1~2")
    assert_has(path, ("U1", old, 30), ("U1~2", new, count))


def test_a_third_board_is_refused_until_it_has_a_seam_too(tmp_path: Path) -> None:
    path, boards = tmp_path / "log", [Board(n, 20) for n in (1, 2, 3)]
    logged(path, boards[0], 20)
    replace(path, boards[1])
    # Another one than the seam names:
    said = refusal(path, boards[2])
    assert f"its chain is {'03' * 16}, and the seam of U1~2 in {path} names {'02' * 16}" in said
    assert f"`sabot replaced U1 --undo --db {path}`" in said and f"--chain {'03' * 16}" in said
    logged(path, boards[1], 20, "U1~2")
    assert "that of U1~2 in" in refusal(path, boards[2])
    replace(path, boards[2])
    logged(path, boards[2], 20, "U1~3")
    for old, later in ((boards[0], "U1~2"), (boards[1], "U1~3")):
        said = refusal(path, old)
        assert said.startswith(f"this board of U1 was replaced after event 20: {later} has taken")
    assert_has(path, *zip(("U1", "U1~2", "U1~3"), boards, (20, 20, 20), strict=True))


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("more", [0, 5])
def test_the_board_that_was_replaced_is_refused_when_it_comes_back(
    tmp_path: Path, recorded: bool, more: int
) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 30)
    logged(path, old, 30)
    replace(path, new)
    if recorded:
        logged(path, new, 30, "U1~2")
    old.grow(more)
    said = refusal(path, old)
    assert said.startswith(
        "this board of U1 was replaced after event 30: U1~2 has taken its place (by ada, on "
    )
    assert "take it off its table, none of its later events is stored" in said
    undo = f"if it was replaced by mistake, `sabot replaced U1 --undo --db {path}`"
    assert (undo in said) is not recorded
    assert_has(path, ("U1", old, 30), *([("U1~2", new, 30)] if recorded else []))


def test_a_replaced_board_that_is_still_logged_stores_nothing_more(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 30)
    with answering_shoe(old) as port, logging(path, port.path) as log:
        log.wait_for(30)
        wait_until(lambda: old.acknowledged == 30)
        replace(path, new)
        old.grow(1)
        failure = log.failure
        assert isinstance(failure, HistoryDiffers)
        assert "U1~2 has taken the place of this board after event 30" in str(failure)
    assert old.acknowledged == 30
    logged(path, new, 30, "U1~2")
    assert_has(path, ("U1", old, 30), ("U1~2", new, 30))


def test_a_seam_that_is_undone_lets_the_old_board_go_on(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 30)
    logged(path, old, 30)
    replace(path, new)
    with open_store(path) as store:
        assert replacing.undo(store, "U1") == "U1~2"
    old.grow(3)
    logged(path, old, 33)
    replace(path, new)
    logged(path, new, 30, "U1~2")
    with open_store(path) as store:
        with pytest.raises(SeamRefused, match=r"has 30 events of U1~2, .* cannot be undone"):
            replacing.undo(store, "U1")
    assert_has(path, ("U1", old, 33), ("U1~2", new, 30))


def test_both_boards_at_once_on_two_ports_of_a_logger_never_mix(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 60), Board(2, 90)
    logged(path, old, 40)
    replace_at = 60
    for ports in ((old, new), (new, old)):
        with answering_shoe(ports[0]) as one, answering_shoe(ports[1]) as two:
            with logging(path, one.path, two.path) as log:
                wait_until(lambda log=log: log.logger.failures != {})  # type: ignore[misc]
                time.sleep(0.3)
                for failure in log.logger.failures.values():
                    assert isinstance(failure, HistoryDiffers | SameUnit)
        if ports[0] is old:
            with open_store(path) as store:
                if store.last_number("U1") < replace_at:  # the other port was first
                    logged(path, old, replace_at)
            replace(path, new)
    logged(path, new, 90, "U1~2")
    assert_has(path, ("U1", old, 60), ("U1~2", new, 90))


def test_a_log_of_several_shoes_takes_a_new_board_once_its_key_and_its_seam_are_there(
    tmp_path: Path,
) -> None:
    path, key, other = tmp_path / "log", bytes(range(32)), Board(3, 10)
    old, new = Board(1, 30), Board(2, 50, key)
    other.unit = "U2"
    logged(path, old, 30)
    commands = tmp_path / "sabot.commands"
    for unit in ("U1", "U2"):
        command_keys.add(commands, unit, KEY)
    with (
        answering_shoe(new) as one,
        answering_shoe(other) as two,
        open_store(path, create=True) as store,
    ):
        said: list[str] = []
        watcher = LogWatcher(lost=lambda port, error: said.append(str(error)))
        keys = command_keys.CommandKeyFile.load(commands)
        logger = Logger(store, (one.path, two.path), watcher, keys=keys)
        logger.start()
        wait_until(lambda: any("another command key" in each for each in said))
        command_keys.add(commands, "U1", key)
        wait_until(lambda: any("another board of U1" in each for each in said))
        assert isinstance(logger.failures[one.path], HistoryDiffers)
        assert new.acknowledged == 0
        replace(path, new)
        wait_until(lambda: store.last_number("U1~2") == 50)
        assert logger.failures == {} and store.last_number("U2") == 10
        logger.stop()
        assert logger.wait(30)


def test_two_loggers_with_a_board_each_never_mix(log_place: Place) -> None:
    old, new = Board(1, 30), Board(2, 50)
    logged(log_place, old, 30)
    with answering_shoe(old) as one, answering_shoe(new) as two:
        with logging(log_place, one.path) as first:  # type: ignore[arg-type]
            wait_until(lambda: first.store.last_number("U1") == 30)
            replace(log_place, new)
            with logging(log_place, two.path) as second:  # type: ignore[arg-type]
                second.wait_for(50, "U1~2")
                old.grow(4)
                assert isinstance(first.failure, HistoryDiffers)
    assert_has(log_place, ("U1", old, 30), ("U1~2", new, 50))


def test_a_seam_that_waits_is_signed_with_one_key(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 50)
    logged(path, old, 30)
    first = replace(path, new)
    assert replace(path, new) == first
    with open_store(path) as store, pytest.raises(SeamRefused, match=r"--undo"):
        replacing.replace(store, "U1", new.chain, MALLORY, by="ada", now_unix_ms=WHEN)


def test_a_logger_that_is_killed_between_seam_and_first_event_goes_on(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 50)
    logged(path, old, 30)
    replace(path, new)
    with answering_shoe(new) as port, logging(path, port.path) as log:
        log.logger.stop()  # before or after its first event
    logged(path, new, 50, "U1~2")
    assert_has(path, ("U1", old, 30), ("U1~2", new, 50))


def test_a_copy_of_a_board_is_refused_and_named(tmp_path: Path) -> None:
    path, shoe = tmp_path / "log", Board(1, 30)
    logged(path, shoe, 30)
    copied = Board(1, 20)
    copied._made = 9  # it has recorded other events since it was copied
    copied.held = {1: shoe.held[1]}
    copied.next_number = 2
    copied.grow(28)
    said = refusal(path, copied)
    assert "has recorded 29 events" in said and "has 30 of it" in said
    assert "its chain is the same, so its memory was copied or set back" in said
    copied.grow(10)
    with answering_shoe(copied) as port, logging(path, port.path) as log:
        failure = log.failure
    assert isinstance(failure, HistoryDiffers)
    assert "event 30 is in" in str(failure) and "other contents" in str(failure)
    assert "its chain is the same, so its memory was copied or set back" in str(failure)
    assert_has(path, ("U1", shoe, 30))


def test_a_copy_of_the_new_board_is_refused_and_named_too(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 30)
    logged(path, old, 30)
    replace(path, new)
    logged(path, new, 30, "U1~2")
    said = refusal(path, Board(2, 29))
    assert "its chain is the same, so its memory was copied or set back" in said
    assert_has(path, ("U1", old, 30), ("U1~2", new, 30))


def test_a_new_board_whose_first_events_are_gone_is_refused(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 50)
    logged(path, old, 30)
    replace(path, new)
    new.held = {number: data for number, data in new.held.items() if number > 20}
    said = refusal(path, new)
    assert said == (
        f"the first events of this board of U1 are gone: it holds those from 21 on, and {path} has "
        "none of U1~2; log it to another database and keep both"
    )
    assert_has(path, ("U1", old, 30))


def test_a_board_that_holds_nothing_of_the_log_and_is_younger_is_refused(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 90)
    logged(path, old, 30)
    for number in range(1, 61):
        del new.held[number]
    for number in new.held:
        new.held[number] = event_bytes("identified", number, t_ms=number)
    assert "those that it holds are of an earlier start: it is another board" in refusal(path, new)
    assert_has(path, ("U1", old, 30))
    # Those of the same board go on after a loss.
    old.grow(60)
    for number in range(1, 61):
        del old.held[number]
    logged(path, old, 90)
    with open_store(path) as store:
        assert [number for number, _, _ in store.raw("U1")][29:31] == [30, 61]


def test_a_start_in_another_chain_after_a_loss_is_not_stored(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 90)
    logged(path, old, 30)
    new.held = {number: data for number, data in new.held.items() if number > 60}
    new.held[61] = event_bytes("boot", 61, boot=2, chain=new.chain)
    said = refusal(path, new)
    assert said.startswith(f"another board of U1: its chain is {'02' * 16}")
    assert_has(path, ("U1", old, 30))


def test_the_old_boards_key_is_not_known_any_more_and_the_message_says_why(
    tmp_path: Path,
) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 30)
    logged(path, old, 30)
    replace(path, new)
    old.key = bytes(32)  # the key file has that of the new board
    with answering_shoe(old) as port, logging(path, port.path, "/no/such/port") as log:
        wait_until(lambda: any(isinstance(each, UnitNotProven) for each in log.lost))
        (said,) = {str(each) for each in log.lost if isinstance(each, UnitNotProven)}
    assert "it has another command key than the one known here, or is not U1" in said
    assert "U1~2 has taken the place of a board of U1 (by ada, on " in said
    assert said.endswith("if this is the old board, take it off its table")
    assert_has(path, ("U1", old, 30))


class _Counting(Board):
    """A board that counts how often a host asks for its events from the first one on."""

    def __init__(self, chain: int, count: int) -> None:
        super().__init__(chain, count)
        self.looks = 0
        self._attaches = True  # no acknowledgement came since `hello`; a later one may repeat it

    def introduction(self, session: int) -> list[bytes]:
        self._attaches = True
        return super().introduction(session)

    def _acknowledged(self, acknowledged: int) -> None:
        self.looks += self._attaches and acknowledged == 0
        self._attaches = False
        super()._acknowledged(acknowledged)


def test_a_board_that_was_recognised_is_not_looked_at_again(tmp_path: Path) -> None:
    path, shoe = tmp_path / "log", _Counting(1, 100)
    logged(path, shoe, 100)
    shoe.looks = shoe.acknowledged = 0
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        wait_until(lambda: shoe.acknowledged == 100 and shoe.looks == 1)
        for count in (1, 2):
            del log.lost[:]
            shoe._attached, shoe._acked = False, None  # it has restarted
            wait_until(lambda: log.lost != [])
            shoe.grow(1)
            log.wait_for(100 + count)
        assert shoe.looks == 1
    assert_has(path, ("U1", shoe, 102))


# What decides, without a shoe.


def known(name: str, last: int, chain: int | None) -> Known:
    return Known(name, last, None if chain is None else bytes([chain]) * 16, None)


def look(chain: int | None, first: int = 1, last: int = 50) -> Look:
    board = Board(chain or 9)
    numbers = range(max(first, 2) if chain is None else first, 4)
    return Look(first, last, [recorded(board.event(number)) for number in numbers])


def decided(boards: Sequence[Known], seen: Look, first: dict[str, str] | None = None) -> str:
    try:
        attributed("PORT", Path("LOG"), "U1", boards, seen, first or {})
    except HistoryDiffers as error:
        return str(error)
    return ""


TWO = [known("U1", 30, 1), known("U1~2", 20, 2)]


@pytest.mark.parametrize(
    ("boards", "seen", "first", "said"),
    [
        (TWO, look(2), {}, ""),
        (TWO, look(2), {"U1": "contents", "U1~2": ""}, ""),
        (TWO, look(None), {"U1~2": ""}, ""),
        (TWO, look(None), {}, ""),  # the newest event decides
        (TWO, look(1), {}, "was replaced after event 30"),
        (TWO, look(None), {"U1": ""}, "was replaced after event 30"),
        (TWO, look(3), {}, "another board of U1"),
        (TWO, look(2, last=19), {}, "has recorded 19 events"),
        (TWO, look(None, last=19), {}, "its memory was replaced"),
        (TWO, look(2), {"U1~2": "MAC"}, "U1 has other events than U1~2"),
        (TWO, look(None), {"U1~2": "MAC"}, "with other MAC"),
        ([TWO[0], known("U1~2", 0, 2)], look(2), {}, ""),
        ([TWO[0], known("U1~2", 0, 2)], look(None), {}, "does not say what its chain is"),
        ([TWO[0], known("U1~2", 0, 2)], look(3), {}, "the seam of U1~2"),
        ([TWO[0], known("U1~2", 0, 2)], look(2, first=2), {}, "are gone"),
        ([known("U1", 30, None)], look(2), {}, ""),  # the newest event decides
    ],
)
def test_what_decides_which_board_a_shoe_is(
    boards: Sequence[Known], seen: Look, first: dict[str, str], said: str
) -> None:
    error = decided(boards, seen, first)
    assert (said in error) if said else not error


def test_a_log_that_lacks_all_starts_knows_the_chains_by_the_seams(tmp_path: Path) -> None:
    path, old, new = tmp_path / "log", Board(1, 30), Board(2, 30)
    logged(path, old, 30)
    replace(path, new)
    logged(path, new, 30, "U1~2")
    with open_store(path) as store:
        store.prune_all([])
        for name in ("U1", "U1~2"):
            store.prune(name, 1, 5, b"")
        assert [each.chain for each in attribution._known(store, ["U1", "U1~2"])] == [
            old.chain,
            new.chain,
        ]
    old.held = {number: data for number, data in old.held.items() if number > 4}
    old.held[31] = old.event(31)
    old.next_number = 32
    with answering_shoe(old) as port, logging(path, port.path) as log:
        assert "U1~2: event 30 is in" in str(log.failure)
        assert "its chain is the same" not in str(log.failure)
    with open_store(path) as store:
        assert (store.last_number("U1"), store.last_number("U1~2")) == (30, 30)
