"""The update of a shoe. The other end is the shoe's own link, updater and choice of the slot. What
the chip does is for the test bench.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import sabot_firmware
from sabot.errors import NoShoe, ReleaseUnusable, UpdateFailed
from sabot.keys import signing
from sabot.link.client import Client
from sabot.release import build as releases
from sabot.release import layout
from sabot.release.update import Progress, update
from sabot_firmware.heap import Heap
from sabot_firmware.journal.randomness import Pool
from sabot_firmware.link import commands
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.link import Link
from sabot_firmware.release import boot, updater
from sabot_firmware.release.running import RunningRelease
from sabot_firmware.store import SettingsStore
from sabot_protocol import VERSION, enums, frame, messages
from sabot_protocol.schema import Shape

pytestmark = pytest.mark.slow

_PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
_STEPS = 60  # of the updater between two reads of the host
_UNIT = "e66141040396"


def _modules(version: str) -> dict[str, bytes]:
    return {
        "sabot_firmware/release/boot.mpy": b"boot",
        "sabot_firmware/main.mpy": version.encode() * 3000,
        "sabot_protocol/cbor.mpy": b"cbor",
    }


def _release(
    version: str, key: Ed25519PrivateKey = _PRIVATE, *, may_go_back: bool = False
) -> releases.Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sabot_firmware, "VERSION", version)
        patch.setattr(releases, "modules_of", lambda board: _modules(version))
        return releases.build("pico", key, may_go_back=may_go_back)


class _Board:
    """As much of a board as an updater needs."""

    NAME = "pico"
    reset_cause = 0
    serial = _UNIT

    def __init__(self, folder: Path) -> None:
        self.storage = str(folder / "state")

    def ticks_ms(self) -> int:
        return 0

    def switches(self) -> int:
        return 0

    def set_lamps(self, lit: int) -> None:
        pass

    def show(self, text: str) -> None:
        pass


class _Journal:
    def crowded(self) -> bool:
        return False

    def drain(self) -> None:
        pass


class _Recorder:
    def record(self, *event: object) -> None:
        pass


class _Dealing:
    error = shoe = round = 0

    def lock_released(self) -> bool:
        return False


class _DealingShoe:
    """As much of a shoe as an update needs; a round is in play for the first `busy` questions."""

    def __init__(self, root: str, slot: str, state: boot.State, busy: int) -> None:
        on_trial = slot != state.current
        self.running = RunningRelease(root, slot, state, (lambda: None) if on_trial else None)
        self.build = self.running.build
        self.restart_due = False
        self.busy = busy
        self.journal, self.recorder, self.dealing = _Journal(), _Recorder(), _Dealing()
        self.heap = Heap()
        self.store, self.randomness = SettingsStore(f"{root}/state"), Pool()
        self.link = Link(updater.NoEvents(), self, CommandGuard(None))

    def at_rest(self) -> bool:
        self.busy -= 1
        return self.busy < 0

    def welcome(self, session: int) -> list[list[object]]:
        number = messages.WELCOME.number
        return [
            [number, session, VERSION, _UNIT, 1, 0, 1, 0, frame.MAX_PAYLOAD],
            [messages.FIRMWARE.number, session, "0.1.0", self.build, "pico"],
            [messages.GAME.number, session, "mini", bytes(32)],
        ]

    def heartbeat(self, now_ms: int) -> list[object]:
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, 0]

    def acknowledged(self) -> None:
        pass

    def command(self, shape: Shape, values: list[object]) -> list[object]:
        if shape is messages.STATUS:
            phase = enums.PHASES.index("dealing" if self.busy >= 0 else "between")
            figures = [0, None, phase, 0, False] + [0] * 9
            return [messages.STATUS_REPORT.number, values[0], *figures]
        return commands.run(self, shape, values)


class _Shoe:
    """A unit that was flashed with 0.1.0, at the other end of a line."""

    name = "line"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "state").mkdir()
        public = signing.public_of(_PRIVATE)
        for path, data in layout.contents(_modules("0.1.0"), public).items():
            (folder / path).write_bytes(data)
        self.now_s = 0.0
        self.starts = 0
        self.busy = 0
        """Questions for which a round is in play."""
        self.broken: set[str] = set()
        """Versions that do not start."""
        self.pulled_every = 0
        """Reads after which the cable comes off."""
        self.pulled_at: set[int] = set()
        """Numbers of reads at which it comes off."""
        self.reported: list[Progress] = []
        self._reads = 0
        self._on = True
        self.power_on()

    def power_on(self) -> None:
        """Start as the boot loader does."""
        root = str(self.folder)
        self.starts += 1
        before = boot.load(root)
        found = {}

        def good(slot: str) -> bool:
            found[slot] = boot.modules(f"{root}/{slot}", before.lists[slot])
            return bool(found[slot])

        self.slot, state = boot.choose(before, good)
        boot.keep(root, state)
        wanted = boot._asked_for(boot.WANTED, root)
        if self.slot and self.version() in self.broken:
            assert self.slot != state.current, "a broken release is the current one"
            self.power_on()
        elif not self.slot or (wanted and self.slot == state.current):
            self._program: updater.Updater | _DealingShoe = updater.Updater(
                _Board(self.folder), root, self.slot
            )
        else:
            self._program = _DealingShoe(root, self.slot, state, self.busy)

    def version(self) -> str:
        """The version in the slot that runs."""
        return next(
            version
            for version in ("0.1.0", "0.8.0", "0.9.0", "0.0.9")
            if version.encode() in (self.folder / f"{self.slot}.code").read_bytes()
        )

    def _link(self) -> Link:
        program = self._program
        return program._link if isinstance(program, updater.Updater) else program.link

    def read(self, timeout_s: float) -> bytes:
        self._reads += 1
        every = self.pulled_every and self._reads % self.pulled_every == 0
        if every or self._reads in self.pulled_at:
            raise NoShoe("line: the connection broke")
        self.now_s += timeout_s
        program, link = self._program, self._link()
        size = link.fill(int(self.now_s * 1000))
        if isinstance(program, updater.Updater):
            for _ in range(_STEPS):
                if program._update.busy():
                    program._update.step()
        return bytes(link.out[:size])

    def _restart_due(self) -> bool:
        program = self._program
        if isinstance(program, updater.Updater):
            return program._restart_due
        return program.restart_due

    def write(self, data: bytes | bytearray) -> None:
        self._link().feed(bytes(data), int(self.now_s * 1000))

    @contextmanager
    def attached(self) -> Iterator[Client]:
        yield Client(self, now_s=lambda: self.now_s)

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        if self._restart_due():
            self.power_on()

    def update(self, built: releases.Release) -> str:
        return update(self.attached, built, self.reported.append, lambda: self.now_s, self.pause)


@pytest.fixture
def shoe(tmp_path: Path) -> _Shoe:
    return _Shoe(tmp_path)


def _steps_of(shoe: _Shoe) -> list[str]:
    """What the shoe was reported to do, without repetitions."""
    steps = [progress.what for progress in shoe.reported]
    return [what for n, what in enumerate(steps) if n == 0 or steps[n - 1] != what]


def test_a_release_is_sent_tried_and_confirmed(shoe: _Shoe) -> None:
    assert shoe.update(_release("0.8.0")) == f"{_UNIT}: Sabot 0.8.0, updated"
    assert (shoe.slot, shoe.version()) == ("b", "0.8.0")
    assert _steps_of(shoe) == [
        "restarting to take it",
        "sending",
        "the shoe is checking it",
        "sending",
        "the shoe is checking it",
        "starting it on trial",
    ]
    shoe.power_on()
    assert shoe.version() == "0.8.0"


def test_a_release_that_runs_already_is_not_sent(shoe: _Shoe) -> None:
    assert shoe.update(_release("0.1.0")) == f"{_UNIT}: Sabot 0.1.0, already running"
    assert shoe.starts == 1


def test_each_update_goes_into_the_other_slot(shoe: _Shoe) -> None:
    for version, slot in (("0.8.0", "b"), ("0.9.0", "a")):
        shoe.update(_release(version))
        assert (shoe.version(), shoe.slot) == (version, slot)


def test_a_release_that_does_not_start_is_given_up_and_reported(shoe: _Shoe) -> None:
    shoe.broken.add("0.8.0")
    with pytest.raises(UpdateFailed, match=r"0\.8\.0 was tried and given up, it runs 0\.1\.0"):
        shoe.update(_release("0.8.0"))
    assert shoe.version() == "0.1.0"
    shoe.broken.clear()
    assert shoe.update(_release("0.9.0")).endswith("updated")


@pytest.mark.parametrize("every", [7, 11, 50])
def test_an_update_is_done_although_the_cable_comes_off_repeatedly(shoe: _Shoe, every: int) -> None:
    shoe.pulled_every = every
    assert shoe.update(_release("0.8.0")).endswith("updated")
    assert shoe.version() == "0.8.0"


def test_what_was_updated_is_not_said_to_run_already_if_the_last_answers_are_lost(
    tmp_path: Path,
) -> None:
    """The cable comes off before the answers to the restart and to the confirmation."""
    reads: list[int] = []
    for name in ("first", "again"):
        folder = tmp_path / name
        folder.mkdir()
        shoe = _Shoe(folder)
        shoe.pulled_at = set(reads)

        def note(progress: Progress, shoe: _Shoe = shoe) -> None:
            if progress.what == "starting it on trial":
                reads.append(shoe._reads + 1)

        done = update(
            shoe.attached, _release("0.8.0"), note, lambda shoe=shoe: shoe.now_s, shoe.pause
        )
        assert done == f"{_UNIT}: Sabot 0.8.0, updated", name
        reads.append(shoe._reads)


def test_an_update_waits_for_the_end_of_a_round_and_says_so(shoe: _Shoe) -> None:
    shoe.busy = 5
    shoe.power_on()
    assert shoe.update(_release("0.8.0")).endswith("updated")
    assert "update: waiting for the round to end" in _steps_of(shoe)


@pytest.mark.parametrize(
    ("built", "problem"),
    [
        (_release("0.8.0", _STRANGER), "not signed by this house"),
        (
            _release("0.0.9"),
            f"0.0.9 is older than {sabot_firmware.VERSION}; if it must go back, build it with "
            "--may-go-back",
        ),
    ],
    ids=["stranger", "older"],
)
def test_a_release_that_a_shoe_must_not_run_is_refused_with_the_reason(
    shoe: _Shoe, built: releases.Release, problem: str
) -> None:
    with pytest.raises(UpdateFailed, match=f"{_UNIT}: refused: {problem}"):
        shoe.update(built)
    shoe.power_on()
    assert shoe.version() == "0.1.0"


def test_after_ctrl_c_at_each_step_it_is_known_whether_the_release_may_be_on_trial(
    shoe: _Shoe, tmp_path: Path
) -> None:
    shoe.update(_release("0.8.0"))
    whole = [progress.what for progress in shoe.reported]
    steps = [at for at in range(1, len(whole)) if whole[at] != whole[at - 1]]
    assert len(steps) == 5
    on_trial = []
    for at in [*steps, len(whole)]:
        cut = _interrupted(tmp_path / str(at), at, len(whole))
        on_trial.append(cut.version() == "0.8.0")
        left = cut.reported[-1].left
        assert ("on trial" in left) == on_trial[-1], cut.reported[-1]
        assert ("what it ran before" in left) != on_trial[-1]
    assert on_trial == [False] * 5 + [True]


def _interrupted(folder: Path, at: int, whole: int) -> _Shoe:
    """A shoe whose update Ctrl-C has ended at report `at`, or after all of the `whole` reports. As
    in run_in_parallel, the work ends at its next report."""
    folder.mkdir()
    shoe = _Shoe(folder)

    def interrupt(progress: Progress) -> None:
        if len(shoe.reported) == at:
            raise KeyboardInterrupt
        shoe.reported.append(progress)

    def pause(seconds: float) -> None:
        if len(shoe.reported) == whole:
            raise KeyboardInterrupt
        shoe.pause(seconds)

    with pytest.raises(KeyboardInterrupt):
        update(shoe.attached, _release("0.8.0"), interrupt, lambda: shoe.now_s, pause)
    shoe.pause(1)
    return shoe


def test_an_older_release_that_may_go_back_is_taken(shoe: _Shoe) -> None:
    assert shoe.update(_release("0.0.9", may_go_back=True)).endswith("updated")


def test_a_shoe_with_two_damaged_slots_takes_an_update_and_runs_it(shoe: _Shoe) -> None:
    (shoe.folder / "a.code").write_bytes(b"damaged")
    shoe.power_on()
    assert shoe.slot == ""
    assert shoe.update(_release("0.8.0")).endswith("updated")
    assert shoe.version() == "0.8.0"


def test_a_shoe_that_is_absent_is_an_error_at_once_and_one_that_goes_away_after_a_minute(
    shoe: _Shoe,
) -> None:
    shoe.pulled_every = 1
    with pytest.raises(NoShoe):
        shoe.update(_release("0.8.0"))
    assert _steps_of(shoe) == [] and shoe.now_s < 10
    shoe.pulled_every = 0

    class Pulled(list[Progress]):
        def append(self, progress: Progress) -> None:
            super().append(progress)
            shoe.pulled_every = 1

    shoe.reported = Pulled()
    begun_s = shoe.now_s
    with pytest.raises(NoShoe):
        shoe.update(_release("0.8.0"))
    assert _steps_of(shoe) == ["restarting to take it", "waiting for the shoe"]
    assert shoe.now_s - begun_s > 60


def test_a_release_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    built = _release("0.8.0")
    releases.save(built, tmp_path / "made")
    assert releases.load(tmp_path / "made") == built


@pytest.mark.parametrize("name", ["manifest.cbor", "manifest.sig", "sabot_firmware/main.mpy"])
@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "longer", "empty"])
def test_a_damaged_release_is_refused_with_the_name_of_its_folder(
    tmp_path: Path, name: str, damage: str
) -> None:
    folder = tmp_path / "made"
    releases.save(_release("0.8.0"), folder)
    file = folder / name
    data = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        damaged = {"cut": data[:-1], "longer": data + b"x", "empty": b""}
        file.write_bytes(damaged.get(damage, bytes([data[0] ^ 1]) + data[1:]))
    if name == "manifest.sig" and damage == "changed":
        assert releases.load(folder).signature != data  # the shoe checks the signature
        return
    with pytest.raises(ReleaseUnusable, match=str(folder)):
        releases.load(folder)
