"""A sample of `make setupcuts`, and tests that it finds faults."""

from dataclasses import replace

import pytest

from sabot_hil.sweeps.flash_cuts import FlashCut
from sabot_hil.sweeps.setup_cuts import (
    AGAIN,
    FLASHED,
    PROVISIONED,
    RecordedSetup,
    SetupCut,
    check_setup_cut,
    record_setup,
    setup_cuts,
)

pytestmark = pytest.mark.slow

_EVERY = 1600


@pytest.fixture(scope="module")
def recorded_setup(tmp_path_factory: pytest.TempPathFactory) -> RecordedSetup:
    return record_setup(1, tmp_path_factory.mktemp("set-up"))


def test_after_any_power_cut_a_board_has_its_prompt_or_runs_with_or_without_settings(
    recorded_setup: RecordedSetup,
) -> None:
    seen = {check_setup_cut(recorded_setup, cut) for cut in setup_cuts(recorded_setup, _EVERY)}
    assert {each.partition(":")[0] for each in seen} == {FLASHED, PROVISIONED, AGAIN}


def test_after_the_last_operation_of_each_step_it_is_done(recorded_setup: RecordedSetup) -> None:
    ends = [
        check_setup_cut(recorded_setup, SetupCut(number, FlashCut(len(step.operations) - 1)))
        for number, step in enumerate(recorded_setup.steps)
    ]
    assert ends == [f"{FLASHED}: whole", f"{PROVISIONED}: the unit", f"{AGAIN}: table 13"]


def test_a_main_py_that_comes_too_early_is_found(recorded_setup: RecordedSetup) -> None:
    step = recorded_setup.steps[0]
    last = len(step.operations) - 1
    # Without one of the programs before it some file is not right.
    for at in range(last // 2, last):
        if step.operations[at].kind == "program" and len(step.operations[at].data) == 256:
            break
    spoiled = replace(step, operations=[*step.operations[:at], *step.operations[at + 1 :]])
    with pytest.raises(AssertionError, match="not as they should be"):
        check_setup_cut(replace(recorded_setup, steps=[spoiled]), SetupCut(0, FlashCut(last - 1)))
