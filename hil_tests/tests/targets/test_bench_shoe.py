"""The target of a real shoe, with the bench board's own firmware logic (sabot_rig/rig.py)
at the other end of a pseudo-terminal and a simulated shoe in place of the real one."""

import json
import os
import re
import threading
import time
import tty
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from host.tests.support.commands import error_line_here, running
from sabot.sim.channel import Outputs
from sabot.sim.process import SimulatedShoe
from sabot.sim.waveform import pack, pass_samples, unpack
from sabot_hil.capabilities import BrokenRig, Unable, session_with
from sabot_hil.emulation.oled import glyphs
from sabot_hil.kit.dealer import load_cards
from sabot_hil.kit.waiting import wait_until
from sabot_hil.suite.acceptance.surroundings import test_surroundings
from sabot_hil.targets import NoSuchTarget, bench_board, choice_of
from sabot_hil.targets import bench_shoe as board_module
from sabot_hil.targets.bench_board import BenchBoard, runs_of_samples
from sabot_hil.targets.bench_shoe import BoardTarget
from sabot_protocol import cards, enums
from sabot_protocol.rig import rig
from sabot_rig.changes import BEEP, LAMPS, LOCK, SUPPLY
from sabot_rig.rig import RigController as Rig

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from sabot_rig.board import RigBoard

_UNIT = "HIL-BOARD"
_OLED_START = bytes((0x00, 0x8D, 0x14, 0x20, 0x00, 0xA1, 0xC8, 0xAF))


class _Player:
    def __init__(self, board: "_BoardPins") -> None:
        self.playing = False
        self.length_us = 0
        self._board = board
        self._total = 0
        self._samples: list[int] = []
        self._runs = 0

    def prepare(self, runs: int) -> None:
        self._total, self._runs, self.length_us, self._samples = runs, 0, 0, []

    def room(self) -> int:
        return min(rig.MAX_RUNS, self._total - self._runs)

    def load(self, runs: bytes) -> bool:
        for at in range(0, len(runs), rig.RUN_BYTES):
            word = int.from_bytes(runs[at : at + rig.RUN_BYTES], "little")
            self.length_us += word >> 4
            assert (word >> 4) % 50 == 0
            self._samples += [word & 15] * ((word >> 4) // 50)
            self._runs += 1
        return True

    def ready(self) -> bool:
        return self._runs == self._total

    def start(self) -> int:
        self.playing = True
        self._board.shoe.bench.play(pack(np.array(self._samples, np.uint8)))
        return self._board.now_us()

    def look(self) -> bool:
        return True

    def finish(self) -> None:
        self.playing = False

    def stop(self) -> None:
        self.playing = False


class _Queue:
    """The messages that wait for the host, in place of `Changes` and `Screen`."""

    def __init__(self) -> None:
        self.lost = 0
        self._waiting: deque[tuple[object, ...]] = deque()

    def add(self, *values: object) -> None:
        self._waiting.append(values)

    def take(self) -> object:
        return self._waiting.popleft() if self._waiting else None

    def forget(self) -> None:
        self._waiting.clear()


class _BoardPins:
    """In place of sabot_rig/board.py, its pins at a simulated shoe."""

    watching_since_us = 0

    def __init__(self, shoe: SimulatedShoe) -> None:
        self.shoe = shoe
        shoe.bench.history()  # all that it shows is kept from now on
        self.player = _Player(self)
        self.watcher = self  # its `look`, and its `changes`
        self.changes = _Queue()
        self.screen = _Queue()
        self.stuck = 0
        self.supply = False
        self.sagged: list[tuple[int, int, int, int]] = []
        self.contacts: dict[str, bool] = {}
        self._outputs = Outputs()
        self._begin_s = time.monotonic()
        self._glyphs = {text: cell for cell, text in glyphs().items()}

    def now_us(self) -> int:
        return round((time.monotonic() - self._begin_s) * 1e6)

    def at_us(self, t_us: int) -> int:
        return t_us

    def power(self, on: bool) -> None:
        if on == self.supply:
            return
        self.supply = on
        self.changes.add(self.now_us(), SUPPLY, int(on))
        if on:
            self.shoe.power_on()
            self.screen.add(self.now_us(), _OLED_START)
        else:
            self.shoe.power_off()
            self._show(Outputs())

    def brown_out(self, us: int) -> None:
        self.power(False)
        self.power(True)

    sags = False

    def sag(self, mv: int, fall_us: int, low_us: int, rise_us: int) -> None:
        """Below the 1.8 V that a chip needs it starts again."""
        self.sagged.append((mv, fall_us, low_us, rise_us))
        if mv < 1800:
            self.brown_out(low_us)

    def contact(self, part: str, on: bool) -> None:
        self.contacts[part] = on
        kind, _, name = part.partition("_")
        if kind == "switch":
            self.shoe.bench.switch(name, on)
        elif on and self.supply:
            self.shoe.bench.press(name)

    def open_contacts(self) -> None:
        for button in enums.BUTTONS:
            self.contacts["button_" + button] = False
        for switch in enums.SWITCHES:
            self.contacts["switch_" + switch] = switch == "lid_open"

    def levels(self) -> int:
        return self.stuck | self.supply << rig.SENSES.index("supply")

    def look(self) -> None:
        if self.supply:
            for _, outputs in self.shoe.bench.history():
                self._show(outputs)

    def _show(self, outputs: Outputs) -> None:
        before, self._outputs, t_us = self._outputs, outputs, self.now_us()
        if outputs.lock_released != before.lock_released:
            self.changes.add(t_us, LOCK, int(outputs.lock_released))
        if outputs.lamps != before.lamps:
            lit = sum(1 << enums.LAMPS.index(lamp) for lamp in outputs.lamps)
            self.changes.add(t_us, LAMPS, lit)
        if outputs.beeps != before.beeps:
            self.changes.add(t_us, BEEP, 100_000)
        if outputs.display != before.display and outputs.display:
            for row in range(8):
                line = outputs.display[row] if row < len(outputs.display) else ""
                cells = b"".join(self._glyphs[letter] for letter in line.ljust(16)[:16])
                self.screen.add(t_us, bytes((0x00, 0x21, 0, 127, 0x22, row, 7)))
                self.screen.add(t_us, b"\x40" + cells)


class FakeRig:
    """A bench board at `port`. With `quiet` it neither reads nor answers."""

    def __init__(self, shoe: SimulatedShoe) -> None:
        self.board = _BoardPins(shoe)
        self.quiet = False
        self._end, slave = os.openpty()
        tty.setraw(slave)
        os.set_blocking(self._end, False)
        self.port = os.ttyname(slave)
        self._slave = slave
        self._stop = False
        self._rig = Rig(cast("RigBoard", self.board))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop:
            try:
                data = os.read(self._end, 64)
            except BlockingIOError:
                data = b""
            if not self.quiet:
                self._rig.feed(data)
                self._rig.step()
                size = self._rig.fill()
                while size and not self._stop:
                    self._write(bytes(self._rig.out[:size]))
                    size = self._rig.fill()
            if not data:
                time.sleep(0.001)

    def _write(self, data: bytes) -> None:
        while data and not self._stop:
            try:
                data = data[os.write(self._end, data) :]
            except BlockingIOError:  # the reader is slow
                time.sleep(0.001)

    def vanish(self) -> None:
        self._stop = True
        self._thread.join()
        os.close(self._end)
        os.close(self._slave)


@pytest.fixture(autouse=True)
def _a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A BrokenRig that a test does not expect would end the session."""
    for module, patience in (
        (bench_board, "_ANSWER_S"),
        (bench_board, "_HELLO_S"),
        (board_module, "_SUPPLY_S"),
    ):
        monkeypatch.setattr(module, patience, 60.0)


@pytest.fixture
def fake() -> Iterator[FakeRig]:
    with SimulatedShoe(_UNIT) as shoe:
        made = FakeRig(shoe)
        yield made
        if not made._stop:
            made.vanish()


@pytest.fixture
def board_target(fake: FakeRig) -> Iterator[BoardTarget]:
    made = BoardTarget(_UNIT, fake.port)
    yield made
    made.close()


def test_a_round_is_dealt_and_seen(board_target: BoardTarget) -> None:
    board_target.power.on()
    with session_with(board_target.shoe) as client:
        assert client.unit == _UNIT == board_target.shoe.unit
        client.begin(1)
        load_cards(board_target.bench, "AC", "2C", "9C", "TD", "KH")
        shown = board_target.bench.outputs
        assert shown.lock_released and len(shown.display) == 8 and shown.title
        board_target.bench.seen()
        begun_us = board_target.bench.play(pass_samples(cards.number_of("7S"), 0))
        shown = board_target.bench.settle()
    assert not shown.lock_released and shown.lamps
    changes = board_target.bench.seen()
    assert {"lock_released", "lamps", "display"} <= {change.what for change in changes}
    assert all(begun_us <= change.t_us <= board_target.clock.now_us() for change in changes)
    assert board_target.about()["Unit"] == _UNIT and "0.1.0" in board_target.about()["Rig"]


def test_switches_keep_their_positions_over_a_power_cycle(
    board_target: BoardTarget, fake: FakeRig
) -> None:
    assert fake.board.contacts["switch_lid_open"] is False
    board_target.bench.switch("key_on", True)
    board_target.power.on()
    assert fake.board.supply and board_target.bench.outputs.title
    board_target.power.off()
    assert not fake.board.supply
    assert board_target.bench.outputs == Outputs(beeps=board_target.bench.outputs.beeps)
    assert fake.board.contacts["switch_key_on"] is True
    board_target.power.on()
    board_target.power.brown_out(1000)
    board_target.bench.wait_for(lambda shown: bool(shown.title), "started again")


def test_a_supply_sags_only_by_a_bench_board_with_the_filter(board_target: BoardTarget) -> None:
    board_target.power.on()
    with pytest.raises(Unable, match="no filter for the level of the supply; see hil_tests/wiring"):
        board_target.power.sag(1.8, fall_ms=1, low_ms=1, rise_ms=1)


def test_the_suite_of_slow_ramps_runs_on_a_bench_board_with_the_filter(
    board_target: BoardTarget, fake: FakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.board.sags = True
    judged: list[BoardTarget] = []  # without the log: this shoe's keys are not in the folder
    monkeypatch.setattr(test_surroundings, "_judge", lambda target, _: judged.append(target))
    board_target.power.on()
    test_surroundings.test_a_supply_that_falls_and_rises_slowly_leaves_a_round_as_it_was(
        board_target, tmp_path
    )
    assert judged and fake.board.sagged[-1] == (0, 1_000_000, 200_000, 1_000_000)


def test_an_emulated_shoe_has_an_emulated_bench_board_or_none() -> None:
    assert choice_of("emulator").bench == ""
    assert choice_of("emulator", bench="emulator").bench == "emulator"
    with pytest.raises(NoSuchTarget, match="--bench emulator"):
        choice_of("emulator", bench="E66118604B3A2D2A")


def test_power_cannot_be_cut_in_a_chosen_flash_operation(board_target: BoardTarget) -> None:
    with pytest.raises(Unable, match="emulator"):
        board_target.power.off_in_flash(0, 0.5)


def test_samples_become_the_same_runs_whatever_they_are() -> None:
    samples = pass_samples(cards.number_of("7H"), 0)
    played = []
    runs = runs_of_samples(samples)
    for at in range(0, len(runs), rig.RUN_BYTES):
        word = int.from_bytes(runs[at : at + rig.RUN_BYTES], "little")
        assert rig.MIN_RUN_US <= word >> 4 <= rig.MAX_RUN_US
        played += [word & 15] * ((word >> 4) // 50)
    assert played == list(unpack(samples))
    assert len(runs) // rig.RUN_BYTES < 100
    still = pack(np.full(8 * 30_000, 9, np.uint8))  # 12 s
    assert [word >> 4 for word in memoryview(runs_of_samples(still)).cast("I")] == [
        10_000_000,
        2_000_000,
    ]


def test_a_rig_that_vanishes_is_a_broken_rig(board_target: BoardTarget, fake: FakeRig) -> None:
    board_target.power.on()
    fake.vanish()
    with pytest.raises(BrokenRig, match="vanished") as why:
        board_target.bench.pull("7H")
        board_target.bench.settle()
    assert "\n" not in str(why.value)


def test_a_rig_that_stops_answering_is_a_broken_rig(
    board_target: BoardTarget, fake: FakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_board, "_ANSWER_S", 0.2)
    fake.quiet = True
    with pytest.raises(BrokenRig, match="no answer to rig_switch"):
        board_target.bench.switch("key_on", True)
    with pytest.raises(BrokenRig, match="no answer to rig_switch"):
        board_target.power.on()  # the first cause stays


def test_a_rig_that_never_answers_is_a_broken_rig(
    fake: FakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_board, "_HELLO_S", 0.5)
    fake.quiet = True
    with pytest.raises(BrokenRig, match="no answer;"):
        BenchBoard(fake.port)


def test_a_rig_of_another_version_is_a_broken_rig(
    fake: FakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    _speak_version_9(fake, monkeypatch)
    with pytest.raises(BrokenRig, match="uses version 9"):
        BoardTarget(_UNIT, fake.port)


def _speak_version_9(fake: FakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = fake._rig._answers
    monkeypatch.setattr(
        fake._rig, "_answer", lambda message: answers.append([message[0], 9, *message[2:]])
    )


def test_a_missing_rig_is_a_broken_rig() -> None:
    with pytest.raises(BrokenRig, match="NOT-THERE"):
        BoardTarget(_UNIT, "NOT-THERE")


def test_a_sense_that_is_high_without_power_is_a_broken_rig(
    fake: FakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_module, "_SUPPLY_S", 0.2)
    fake.board.stuck = 1 << rig.SENSES.index("lock")
    with pytest.raises(BrokenRig, match="lock high"):
        BoardTarget(_UNIT, fake.port)


def test_a_rig_that_has_lost_reports_is_broken(board_target: BoardTarget, fake: FakeRig) -> None:
    fake.board.changes.lost += 1
    with pytest.raises(BrokenRig, match="changes lost"):
        board_target.bench.wait_for(lambda shown: False, "nothing")


def test_a_supply_that_goes_by_itself_breaks_the_rig(
    board_target: BoardTarget, fake: FakeRig
) -> None:
    board_target.power.on()
    fake.board.changes.add(fake.board.now_us(), SUPPLY, 0)
    with pytest.raises(BrokenRig, match="supply went off"):
        board_target.bench.wait_for(lambda shown: False, "nothing")


# ---- the command's messages


def _command(fake: FakeRig, *arguments: str) -> tuple[str, ...]:
    return ("hil", "--target", f"board:{_UNIT}", "--bench", fake.port, *arguments)


def test_the_command_refuses_a_rig_of_another_version_in_one_line(
    fake: FakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _speak_version_9(fake, monkeypatch)
    line = error_line_here(tmp_path, *_command(fake, "--report", "report"), code=28)
    assert line.startswith(f"bench board {fake.port}: its firmware 0.1.0 uses version 9 of")
    assert line.endswith("update the older") and not (tmp_path / "report").exists()


def test_a_rig_that_vanishes_in_mid_test_ends_the_command_with_one_line_and_a_report(
    fake: FakeRig, tmp_path: Path
) -> None:
    with running(tmp_path, *_command(fake, "--report", "report")) as command:
        _wait(lambda: fake.board.supply, "power at the shoe")
        fake.vanish()
        assert command.end(by=None) == 28
    error, report = command.problems
    # It may vanish while it is first asked for the shoe, or when it is opened for the test.
    assert re.search(rf": bench board {fake.port}: (it vanished: |no such port)", error)
    assert report == "Report: report/report.html"
    results = json.loads((tmp_path / "report" / "results.json").read_text())["results"]
    assert "Not judged to the end" in (tmp_path / "report" / "report.html").read_text()
    assert {result["outcome"] for result in results} == {"stopped"}
    (reason,) = {result["reason"] for result in results}
    assert error == f"sabot: {reason}; repair the rig, then run this again"


def test_ctrl_c_leaves_a_real_shoe_without_power_and_its_lock_shut(
    fake: FakeRig, tmp_path: Path
) -> None:
    with running(tmp_path, *_command(fake, "-k", "answers")) as command:
        _wait(lambda: fake.board.supply, "power at the shoe")
        assert command.end() == 130
        assert not fake.board.supply
    assert command.problems == []


def _wait(done: Callable[[], bool], what: str) -> None:
    assert wait_until(done, 60), f"no {what}"
