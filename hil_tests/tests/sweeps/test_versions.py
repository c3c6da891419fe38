"""A sample of `make versions`, and tests that its judges find faults."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sabot_hil.kit.versions import tomorrow
from sabot_hil.sweeps.matrix.judging import Bytes, check_prefix, check_whole
from sabot_hil.sweeps.matrix.versions_made import (
    RELEASED,
    TODAY,
    TOMORROW,
    Version,
    all_versions,
)
from sabot_hil.sweeps.versions import COLUMNS, Cell, all_cells, run_cell

_SAMPLE = [
    Cell("log", RELEASED, TODAY, TODAY),
    Cell("log", TODAY, RELEASED, RELEASED),
    Cell("log", TODAY, TOMORROW, TOMORROW),
    Cell("doctor", TODAY, RELEASED, RELEASED),
    Cell("update down", TODAY, TOMORROW, RELEASED),
    Cell("power cuts", TODAY, RELEASED, TODAY),
    Cell("undo, power", RELEASED, RELEASED, TODAY),
    Cell("new board", TODAY, RELEASED, RELEASED),
    Cell("logs before", TODAY, RELEASED, RELEASED),
]


@pytest.fixture(scope="module")
def versions() -> Iterator[Mapping[str, Version]]:
    with all_versions() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("cell", _SAMPLE, ids=str)
def test_hosts_and_shoes_of_different_versions_live_together(
    versions: Mapping[str, Version], cell: Cell
) -> None:
    run_cell(versions, 1, cell)


@pytest.mark.slow
def test_every_pair_meets_in_every_column(versions: Mapping[str, Version]) -> None:
    cells = list(all_cells(versions))
    assert len(set(cells)) == len(cells)
    assert set(_SAMPLE) <= set(cells)
    pairs = len(versions) ** 2
    counted = Counter(cell.column for cell in cells)
    assert set(counted) == {column.name for column in COLUMNS}
    assert counted["log"] == counted["doctor"] == counted["new board"] == pairs
    assert counted["undo, time"] == counted["its log"] == counted["forward"] == pairs
    assert counted["logs before"] == counted["migrate"] == len(versions)
    assert counted["update up"] + counted["update down"] == 2 * pairs
    assert counted["power cuts"] == counted["undo, power"] == 2 * pairs


@pytest.mark.slow
def test_tomorrow_differs_in_its_versions_and_in_all_that_a_later_version_may_add(
    versions: Mapping[str, Version], tmp_path: Path
) -> None:
    host = versions[TOMORROW].host
    assert (host.protocol, host.firmware) == (tomorrow.PROTOCOL, tomorrow.FIRMWARE)
    script = (
        "from sabot_protocol import enums, events, messages\n"
        "print(events.KINDS[-1].name, enums.CLOSED_BY[-1], events.COMPOSITION.fields[-1][0],\n"
        "    messages.STATUS_REPORT.fields[-1][0], messages.WEIGH.name)"
    )
    printed = host.python("-c", script, cwd=tmp_path).stdout.split()
    assert printed == [tomorrow.EVENT, "call", "grams", "grams", "weigh"]


_EVENTS: list[Bytes] = [(number, b"record%d" % number, b"mac%d" % number) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    "rows",
    [
        _EVENTS[:2],
        _EVENTS[1:],
        [_EVENTS[0], _EVENTS[2]],
        [*_EVENTS, _EVENTS[2]],
        [*_EVENTS[:2], (3, b"other", b"mac3")],
        [*_EVENTS[:2], (3, b"record3", b"other")],
    ],
    ids=["last", "first", "middle", "doubled", "record", "MAC"],
)
def test_a_log_that_is_not_what_the_shoe_recorded_is_found(rows: list[Bytes]) -> None:
    check_whole(_EVENTS, _EVENTS)
    check_prefix(_EVENTS[:2], _EVENTS)
    with pytest.raises(AssertionError):
        check_whole(rows, _EVENTS)
