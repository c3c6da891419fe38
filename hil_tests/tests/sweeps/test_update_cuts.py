"""A sample of `make updatecuts`, and tests that it finds faults."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sabot.errors import KeysUnusable
from sabot.keys import chain_keys as unit_keys
from sabot_hil.kit import releases
from sabot_hil.sweeps.flash_cuts import FlashCut
from sabot_hil.sweeps.matrix.versions_made import RELEASED, TODAY
from sabot_hil.sweeps.update_cuts import (
    RecordedUpdate,
    UpdateCut,
    change_of,
    check_update_cut,
    record_update,
    update_cuts,
)

pytestmark = pytest.mark.slow

_EVERY = 150
_ONLY_IN_PLAY = "sabot_firmware/table/dealing.mpy"
"""A module that no start needs: with a damaged copy in `rescue` the shoe starts as before."""


@pytest.fixture(scope="module")
def recorded_update(tmp_path_factory: pytest.TempPathFactory) -> RecordedUpdate:
    return record_update(1, tmp_path_factory.mktemp("updated"))


def test_after_a_loss_of_power_in_an_update_the_shoe_runs_a_whole_release(
    recorded_update: RecordedUpdate,
) -> None:
    for cut in update_cuts(recorded_update, _EVERY):
        check_update_cut(recorded_update, cut)


def test_after_the_last_operation_the_new_release_runs(
    recorded_update: RecordedUpdate,
) -> None:
    assert (
        check_update_cut(recorded_update, UpdateCut(FlashCut(len(recorded_update.operations) - 1)))
        == releases.NEWER
    )


@pytest.mark.parametrize(("before", "after"), [(RELEASED, TODAY), (TODAY, RELEASED)])
def test_a_loss_of_power_in_an_update_across_versions_leaves_a_whole_release(
    before: str, after: str, tmp_path: Path
) -> None:
    recorded = record_update(1, tmp_path, change_of(before, after))
    left = Counter(check_update_cut(recorded, cut) for cut in update_cuts(recorded, 2 * _EVERY))
    assert set(left) <= set(recorded.change.builds)
    last = UpdateCut(FlashCut(len(recorded.operations) - 1))
    assert check_update_cut(recorded, last) == recorded.change.newer


def test_a_shoe_whose_slot_is_damaged_is_found(recorded_update: RecordedUpdate) -> None:
    code = releases.compiled("sim")[_ONLY_IN_PLAY]
    piece = code[len(code) // 2 :][:40]
    found = []
    copies = list(re.finditer(re.escape(piece), recorded_update.before))
    assert len(copies) == 2, "one in its slot, one in `rescue`"
    for copy in copies:
        spoiled = bytearray(recorded_update.before)
        spoiled[copy.start() : copy.end()] = bytes(len(piece))
        try:
            check_update_cut(
                replace(recorded_update, before=bytes(spoiled)), UpdateCut(FlashCut(0))
            )
        except AssertionError as error:
            found.append(str(error))
    assert len(found) == 1 and found[0].startswith("NO FIRMWARE")


def test_a_journal_of_other_keys_is_found(recorded_update: RecordedUpdate, tmp_path: Path) -> None:
    unit_keys.add(tmp_path / "sabot.keys", "CUT-1", unit_keys.new_key())
    other = (tmp_path / "sabot.keys").read_bytes()
    with pytest.raises(KeysUnusable, match="another command key"):
        check_update_cut(replace(recorded_update, keys=other), UpdateCut(FlashCut(0)))
