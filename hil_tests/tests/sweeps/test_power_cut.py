"""A sample of `make powercut`, and tests that it finds faults."""

import random
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link import wire
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.flash_image import SECTOR, ChipImage, FlashOperation, read_trace
from sabot_hil.kit.journal_image import KEY_SECTORS, entries_in, events_in, slots_in
from sabot_hil.kit.used_unit import write_key_files
from sabot_hil.sweeps import power_cut
from sabot_hil.sweeps.cut_checker import Checker, read_from_shoe
from sabot_hil.sweeps.cut_plan import CutPlan, JournalCut, last_byte_of
from sabot_hil.sweeps.power_cut import CutTally, cuts_of, sample, sweep_cuts
from sabot_hil.sweeps.recorded_run import UNIT, RecordedRun, record_run

pytestmark = pytest.mark.slow

_NEW_CUTS = 24
_OLD_CUTS = 4
_AGAIN_EVERY = 20
_GO_ON_EVERY = 10
_BESIDES = ("boot", "lid", "key", "service", "journal_fault")
"""The events that a start may also record after a loss."""


@pytest.fixture(scope="module")
def new(request: pytest.FixtureRequest) -> RecordedRun:
    """A short shoe of cards on a new unit."""
    given: int | None = request.config.getoption("--seed")
    seed = random.randrange(2**32) if given is None else given
    print(f"repeat with --seed {seed}")
    return record_run(seed, short=True)


def _sweep(run: RecordedRun, folder: Path, count: int) -> CutTally:
    """Check a sample of a run's cuts; after a few, the power is cut again or dealing goes on."""
    run.save(folder)
    cuts = sample(list(cuts_of(run, CutPlan(run), thorough=False)), _kind_of(run), count)
    for at, cut in enumerate(cuts):
        go_on = power_cut.GO_ON_STEPS if at % _GO_ON_EVERY == 1 else 0
        cuts[at] = replace(cut, go_on=go_on, again=at % _AGAIN_EVERY == 2)
    return sweep_cuts(folder, run, cuts)


def _kind_of(run: RecordedRun) -> Callable[[JournalCut], str]:
    return lambda cut: run.operations[cut.operation].kind


def test_after_a_power_cut_at_any_operation_the_shoe_is_in_the_state_before_it(
    new: RecordedRun, tmp_path: Path
) -> None:
    tally = _sweep(new, tmp_path, _NEW_CUTS)
    assert tally.cuts.total() == _NEW_CUTS
    assert not tally.failures


def test_the_same_on_a_chip_that_is_full_of_old_sectors(tmp_path: Path, seed: int) -> None:
    run = power_cut.record_old(seed)
    assert any(operation.kind == "erase" for operation in run.operations[10:])
    assert not _sweep(run, tmp_path, _OLD_CUTS).failures


def test_a_run_has_every_situation_that_a_power_cut_may_meet(new: RecordedRun) -> None:
    plan = CutPlan(new)
    assert set(plan.kinds) == {"event", "note", "state", "passing"}
    assert {step.action[0] for step in new.steps} == {"power", "switch", "pull", "blank", "press"}
    assert {operation.kind for operation in new.operations} == {"program", "erase"}
    parsed = [wire.parse_event(taken.record) for taken in new.events]
    reasons = {(event.kind, event.fields.get("reason")) for event in parsed}
    assert {("round_void", "supervisor"), ("round_void", "misdeal")} <= reasons
    assert {("shoe_ended", "cut_card"), ("shoe_ended", "supervisor")} <= reasons
    titles = {step.outputs.title for step in new.steps}
    assert {"STOP", "NO MORE BETS", "BETTING OPEN", "NEXT ROUND?", "SHOE ENDED"} <= titles


def test_the_chip_holds_every_event_and_only_the_newest_secret(
    new: RecordedRun,
) -> None:
    image = ChipImage()
    image.apply_all(new.operations)
    held = events_in(image)
    assert [held[number].record for number in sorted(held)] == [
        taken.record for taken in new.events
    ]
    (slot,) = slots_in(image)
    assert slot.epoch == len(new.events) // 4
    chip = image.read(0, 2**20)
    for secret in _secrets(new.first_key, slot.epoch):
        assert secret not in chip


def test_a_start_that_finds_a_loss_reports_it_however_often_the_power_is_cut_in_it(
    new: RecordedRun, tmp_path: Path, seed: int
) -> None:
    """The sector of the last write is erased within a round, as if it had gone bad."""
    steps = new.steps[len(new.steps) // 2 :]
    dealing = [step.operations for step in steps if step.outputs.title == "NO MORE BETS"]
    lost = (_without_last_sector(new, operations) for operations in dealing)
    image, first = next((image, first) for image, first in lost if _can_be_found(image, first))
    trace = _lost(new, image, tmp_path / "whole", first)
    rng = np.random.default_rng(seed)
    for at, operation in enumerate(trace):
        for how in ("all", str(rng.choice(operation.cuts[:-1]))):
            torn = image.copy()
            torn.apply_all(trace[:at])
            torn.cut(operation, how, rng)
            _lost(new, torn, tmp_path / f"{at} {how}", first)


def _without_last_sector(run: RecordedRun, operations: int) -> tuple[ChipImage, int]:
    """Return the chip after so many operations, without the sector of the last write, and the
    number of the first event that is lost."""
    image = ChipImage()
    image.apply_all(run.operations[:operations])
    sector = entries_in(image)[-1].place[0]
    image.write((KEY_SECTORS + sector) * SECTOR, b"\xff" * SECTOR)
    return image, max(events_in(image)) + 1


def _can_be_found(image: ChipImage, first: int) -> bool:
    """Whether an older epoch's events are lost too: the newest alone leaves no trace of its own."""
    return first < 4 * max(slot.epoch or 0 for slot in slots_in(image))


def _lost(run: RecordedRun, image: ChipImage, state: Path, first: int) -> list[FlashOperation]:
    """Start on the damaged chip, and check that the loss is reported; return the operations."""
    state.mkdir()
    image.save(state / "journal.nor")
    write_key_files(state, UNIT, run.first_key)
    trace = state / "trace"
    trace.touch()
    with SimulatedShoe(UNIT, state=state, flash_speed_permille=0, trace=trace) as shoe:
        shoe.power_on()
        done = read_trace(trace.read_bytes())
        assert shoe.bench.outputs.title == "LOAD CARDS", state.name
        _, records = read_from_shoe(shoe.port, 1)
    rows = [(record.event.number, record.data, record.mac) for record in records]
    findings = UnitChecks(UNIT, macs=Ratchet(run.first_key)).verify(rows, Summary())
    found = {(finding.kind, finding.event) for finding in findings if finding.kind != "incomplete"}
    assert found == {("gap", first)}, (state.name, found)
    new = [record.event for record in records if record.event.number >= first]
    kinds = [event.kind for event in new if event.kind not in _BESIDES]
    assert kinds[:2] == ["gap", "shoe_ended"], (state.name, kinds)
    assert set(kinds[2:]) <= {"gap"}, "only gaps may follow, for events that a host asked for"
    return done


def _secrets(first_key: bytes, epoch: int) -> list[bytes]:
    """Return the secrets of all epochs before this one (protocol/README.md)."""
    secrets = [first_key]
    while len(secrets) < epoch:
        secrets.append(sha256(b"sabot next" + secrets[-1]).digest())
    return secrets


@pytest.mark.parametrize("what", ["an event", "a note", "a card that passed"])
def test_a_shoe_that_has_forgotten_something_is_found(
    new: RecordedRun, tmp_path: Path, what: str
) -> None:
    """The firmware gets a chip that lacks the last entries that the plan expects on it."""
    kind = {"an event": "event", "a note": "note", "a card that passed": "passing"}[what]
    checker = Checker(new, tmp_path)
    cut, image = _cut_after(checker, kind)
    expected = checker.plan.expected(cut, image)
    last = entries_in(image)[-1]
    assert last.kind == kind
    forgetful = image.copy()
    address = last_byte_of(image, last)
    forgetful.write(address, b"\0")
    with pytest.raises(AssertionError):
        checker.start(forgetful, cut, expected)
    checker.start(image, cut, expected)


def test_a_start_that_takes_the_number_of_a_forgotten_event_and_no_more_is_found(
    tmp_path: Path,
) -> None:
    """In this run a start on the forgetful chip records its `boot` and nothing else."""
    run = record_run(126089311, short=True)
    test_a_shoe_that_has_forgotten_something_is_found(run, tmp_path, "an event")


def _cut_after(checker: Checker, kind: str) -> tuple[JournalCut, ChipImage]:
    """Return a cut right after the operation that completes the last entry of this kind."""
    operations = checker.run.operations
    for at in range(len(operations) // 2, len(operations)):
        if checker.run.steps[checker.plan.step_of(at)].action[0] != "pull":
            continue
        image = checker.chip.cut(at, "all", checker.rng(JournalCut(at)))
        entries = entries_in(image)
        if entries[-1].kind == kind and operations[at].kind == "program":
            return JournalCut(at), image
    raise AssertionError(f"no such operation: {kind}")
