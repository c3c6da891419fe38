"""Long tables: laid out as rich lays out a whole one, and printed while their rows are read."""

import io
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.cli import app, view
from sabot.cli.long_table import HELD
from sabot.log.found import Filter, Row
from sabot.log.sqlite.store import SqliteStore
from sabot.reports.selected import selection

NAMES = ("unit", "event", "time", "shoe", "round", "kind", "what")
WORDS = ("card=7H", "build=" + "ab" * 32, "é", "漢字", "x", "by_hand=False", "", "  two", "y" * 250)


def random_rows(rng: random.Random, count: int) -> list[list[str]]:
    return [
        [
            "U" * rng.randint(1, 9),
            str(rng.randrange(10 ** rng.randint(1, 7))),
            rng.choice(["no clock", "2026-11-24 04:00:00"]),
            str(rng.randrange(400)),
            str(rng.randrange(80)),
            rng.choice(["lid", "betting_closed", "10♥ 2♣"]),
            " ".join(rng.choice(WORDS) for _ in range(rng.randrange(9))),
        ]
        for _ in range(count)
    ]


def by_rich(rows: Sequence[Sequence[str]]) -> str:
    """The table, laid out by rich on lines that are long enough, without blanks at the end."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in NAMES:
        table.add_column(name, justify="right" if name in ("event", "shoe", "round") else "left")
    for row in rows:
        table.add_row(*row)
    out = io.StringIO()
    view.Door(highlight=False, width=100_000, file=out).print(table)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


@pytest.fixture
def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Prints rows with `print_rows` into a pipe; returns the text."""

    def call(rows: Sequence[Sequence[str]], least: dict[str, int]) -> str:
        monkeypatch.setattr(view, "console", view.Door(highlight=False, width=200))
        view.print_rows(NAMES, rows, least)
        return capsys.readouterr().out

    return call


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_table_that_is_not_long_is_laid_out_by_all_its_rows(
    printed: Callable[..., str], seed: int
) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, rng.choice([0, 1, 2, 40, HELD - 1]))
    assert printed(rows, {"event": 30}) == by_rich(rows)


@pytest.mark.slow
def test_a_long_table_has_the_widths_that_were_given(printed: Callable[..., str]) -> None:
    rows = random_rows(random.Random(1), HELD)
    last = ["U" * 12, "12345678901", *rows[0][2:]]
    least = {"unit": 12, "event": 11}
    assert printed([*rows, last], least) == by_rich([*rows, last])


def test_a_column_becomes_wider_when_a_later_row_needs_it(printed: Callable[..., str]) -> None:
    short = ["U1", "1", "no clock", "1", "1", "lid", "open"]
    lines = printed([short] * (HELD + 1) + [["U1", "1234567", *short[2:]]] * 2, {})
    *before, wide, same = lines.splitlines()
    assert len({len(line) for line in before}) == 1
    assert len(wide) == len(same) == len(before[0]) + 2 and wide.startswith("U1    1234567  no")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_screen_of_any_width_shows_every_cell_whole(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    long = "x" * 300
    row = ["U1", "1", "2026-11-24", "1", "1", "betting_closed", f"by the button {long} end"]
    shown_on = view.Door(width=width, file=io.StringIO(), record=True, force_terminal=True)
    monkeypatch.setattr(view, "console", shown_on)
    view.print_rows(NAMES, [row], {})
    shown = shown_on.export_text()
    assert "…" not in shown and all(len(line) <= width for line in shown.splitlines())
    letters = Counter(shown.replace(" ", "").replace("\n", ""))
    assert letters == Counter("".join([*NAMES, *row]).replace(" ", ""))


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True])
def test_rows_are_printed_while_later_ones_are_read(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    read, most_held = 0, 0

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            nonlocal most_held
            super().write(text)
            most_held = max(most_held, read - max(0, self.getvalue().count("\n") - 1))
            return len(text)

    def rows() -> Iterator[list[str]]:
        nonlocal read, most_held
        for n in range(2000):
            read += 1
            yield ["U1", str(n), "no clock", "1", "1", "lid", "open"]

    out = Out()
    console = view.Door(highlight=False, width=200, file=out, force_terminal=terminal)
    monkeypatch.setattr(view, "console", console)
    monkeypatch.setattr("sys.stdout", out)
    view.print_rows(NAMES, rows(), {})
    assert out.getvalue().count("\n") == 2001
    assert 0 < most_held <= HELD + 50


@pytest.mark.parametrize("how", ["table", "screen", "json"])
def test_rows_that_come_slowly_are_printed_as_they_come(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    now_s, flushed = 0.0, 0

    class Out(io.StringIO):
        def flush(self) -> None:
            nonlocal flushed
            flushed = self.getvalue().count("\n")

    def rows() -> Iterator[list[str]]:
        nonlocal now_s
        for n in range(20):
            now_s += 10.0
            yield ["U1", str(n), "no clock", "1", "1", "lid", "open"]
            header = 0 if how == "json" else 1
            assert flushed == n + 1 + header

    out = Out()
    console = view.Door(highlight=False, width=200, file=out, force_terminal=how == "screen")
    monkeypatch.setattr(view, "console", console)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr(view.time, "monotonic", lambda: now_s)
    if how == "json":
        view.print_objects(({"row": each} for each in rows()), view.Output.JSON)
    else:
        view.print_rows(NAMES, rows(), {})
    assert flushed >= 20


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with about 9,000 events and 600 rounds."""
    path = tmp_path_factory.mktemp("long") / "log.sqlite"
    with new_log(path) as store:
        log = FirmwareLog()
        for seed in range(8):
            log.deal_shoe(shuffled_names(seed))
        store.append("U1", stored(log.records))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("how", [[], ["--json"]])
@pytest.mark.parametrize("command", ["rounds", "events"])
def test_a_listing_holds_a_few_of_a_logs_rounds_or_events(
    monkeypatch: pytest.MonkeyPatch, log: Path, command: str, how: list[str]
) -> None:
    """By count: how many are read and not printed yet, and how many events are read before the
    first line."""
    read, made, lines, read_before, most_held = 0, 0, 0, 0, 0
    rows, print_line = SqliteStore.rows, print
    name = "rounds_between" if command == "rounds" else "logged_events"
    listing = getattr(selection, name)

    def counted_rows(self: SqliteStore, wanted: Filter) -> Iterator[Row]:
        nonlocal read
        for row in rows(self, wanted):
            read += 1
            yield row

    def counted_listing(*arguments: object) -> Iterator[object]:
        nonlocal made, most_held
        for each in listing(*arguments):
            made += 1
            most_held = max(most_held, made - lines)
            yield each

    def counted_print(line: str) -> None:
        nonlocal lines, read_before
        read_before = read_before or read
        lines += 1
        print_line(line)

    monkeypatch.setattr(SqliteStore, "rows", counted_rows)
    monkeypatch.setattr(selection, name, counted_listing)
    monkeypatch.setattr(view, "print", counted_print, raising=False)
    done = CliRunner().invoke(app(), [command, "--db", str(log), *how])
    assert done.exit_code == 0, done.output
    assert made > HELD + 100 and lines >= made
    assert 0 < most_held <= HELD
    assert read_before < 0.95 * read
