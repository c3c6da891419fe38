"""A Pico's whole life with a real MicroPython on it, emulated: bare, flashed, provisioned, dealt
from, updated, dealt from, given a release that does not run, dealt from. Without an image skipped.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import sabot_firmware
from sabot.errors import UpdateFailed
from sabot.link.events import ErrorEvent
from sabot.log.rounds import rounds_of
from sabot.log.store import Filter, open_store
from sabot.release.uf2 import Image
from sabot_hil.kit import releases
from sabot_hil.kit.dealer import BenchDealer, logged, shuffled_shoe
from sabot_hil.kit.logbook import findings, received
from sabot_hil.targets.bare_board import BareBoard

pytestmark = pytest.mark.skipif(
    find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
)  # without an import of it: `package.load_emulator` must come first

_UNIT = "SHOE-9"
_OLD, _NEWER, _BROKEN = sabot_firmware.VERSION, releases.NEWER, "100.0.0"
_CUT_FROM_END = 405  # two rounds or three in a shoe of cards
_TIMEOUT_S = 3600  # four releases and four shoes of cards: a quarter of an hour on a busy machine


@pytest.fixture
def board(image: Image) -> Iterator[BareBoard]:
    """A bare board, closed after the test."""
    made = BareBoard(image)
    try:
        yield made
    finally:
        made.shoe.close()
        made.power.off()


def _deal(board: BareBoard, seed: int) -> list[tuple[object, ...]]:
    """Deal a shoe of cards; return its rounds as a log must have them."""
    board.wait_for_service()
    board.bench.settle()
    dealing = BenchDealer(board.bench, shuffled_shoe(seed, _CUT_FROM_END))
    dealing.deal_shoe()
    return [hand.as_logged() for hand in dealing.hands]


@pytest.mark.timeout(_TIMEOUT_S)
def test_from_a_bare_pico_to_a_shoe_in_service_and_never_a_brick(
    board: BareBoard, tmp_path: Path
) -> None:
    first, newer, broken = (
        releases.changed("pico", releases.HOUSE, version, changes)
        for version, changes in (
            (_OLD, None),
            (_NEWER, None),
            (_BROKEN, releases.DOES_NOT_START),
        )
    )
    assert f": Sabot {_OLD}, flashed; provision it" in board.flash(first)
    assert board.bench.outputs.title == "NOT PROVISIONED"
    assert board.provision(_UNIT, tmp_path).startswith(f"{_UNIT}: table 12, game mini")
    dealt = _deal(board, 1)

    assert board.update(newer) == f"{_UNIT}: Sabot {_NEWER}, updated"
    dealt += _deal(board, 2)

    with pytest.raises(UpdateFailed, match=rf"{_OLD} is older than {_NEWER}"):
        board.update(first)
    dealt += _deal(board, 3)

    with pytest.raises(UpdateFailed, match=rf"it runs {_NEWER} again"):
        board.update(broken)
    dealt += _deal(board, 4)
    board.power.off()
    board.power.on()
    assert board.runs() == _NEWER

    with open_store(tmp_path / "life.sqlite", create=True) as store:
        with board.attached() as client:
            client.begin(1)
            store.keep_game(client.read_game())
            records = received(client, board.clock)
        store.append(_UNIT, records)
        assert [f for f in findings(store, tmp_path) if f.kind != "incomplete"] == []
        events = [row.event() for row in store.rows(Filter(unit=_UNIT))]
    assert [logged(ended) for ended in rounds_of(_UNIT, events)] == dealt and len(dealt) >= 4
    kinds = [event.kind for event in events]
    for kind in ("provisioned", "updated", "update_undone"):
        assert kinds.count(kind) == 1, kind
    errors = {event.error for event in events if isinstance(event, ErrorEvent)}
    assert errors == {"cards_missing"}, "the cut card lies so far in front that some are left"
