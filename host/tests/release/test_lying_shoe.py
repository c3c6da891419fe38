"""Shoes that answer an update or a provisioning with what they like: both come to an end.

Each makes its answers from a seed, and says that it is at any stage, at any offset, a unit or not,
and that it runs any release. A program may only be stopped by the operator while a shoe says that
a round is in play.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sabot_firmware
from host.tests.adversary.cases import cases
from sabot.errors import BadAnswer, NoShoe, SabotError, UpdateFailed
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import Reply, UpdateReport
from sabot.release import build as releases
from sabot.release.provision import KeyFiles, UnitSettings, provision
from sabot.release.update import update
from sabot_hil.kit.releases import HOUSE
from sabot_protocol import OLDEST, VERSION, enums, messages

_MOST = 5000  # answers that a host may wait for
_STAGES = [stage for stage in enums.UPDATE_STAGES if stage != "refused"]


class _LyingShoe:
    """Stands in for a client whose shoe answers as `rng` says, or always with `stage`."""

    def __init__(self, rng: random.Random, stage: str | None = None, unit: str = "SHOE-9") -> None:
        self.unit = unit
        self.answers = 0
        self._rng = rng
        self._stage = stage
        self._challenge = rng.choice((b"", b"", bytes(16)))

    @property
    def welcome(self) -> SimpleNamespace:
        game = self._rng.choice(("mini", messages.NO_GAME))
        return SimpleNamespace(
            unit=self.unit,
            board="pico",
            build=bytes(32),
            firmware="0.1.0",
            protocol=self._rng.choice((OLDEST, VERSION)),
            game=game if self._stage is None else messages.NO_GAME,
            game_sha256=self._rng.choice((bytes(32), b"")),
            challenge=self._challenge,
        )

    @contextmanager
    def attached(self) -> Iterator[Any]:
        yield self

    def receive(self, timeout_s: float) -> None:
        pass

    def ask(self, command: object) -> object:
        self.answers += 1
        assert self.answers < _MOST, "it never ends"
        rng = self._rng
        if self._stage is None and rng.random() < 0.02:
            raise NoShoe("line: the connection broke")
        stage = self._stage or rng.choice(_STAGES[:2] * 8 + _STAGES)
        offset = rng.choice((0, 1, 400, rng.getrandbits(20), 1 << 62))
        detail = rng.choice(("", "x" * 300))
        if type(command).__name__ in ("SetClockCommand", "ConfirmCommand", "RestartCommand"):
            return Reply(1, "none", "")
        return UpdateReport(1, stage, rng.choice((b"", bytes(32))), offset, "none", detail)


def _release() -> releases.Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sabot_firmware, "VERSION", "0.2.0")
        patch.setattr(
            releases, "modules_of", lambda board: {"sabot_firmware/main.mpy": b"m" * 9000}
        )
        return releases.build("pico", HOUSE)


def _update(shoe: _LyingShoe) -> str:
    return update(shoe.attached, _release(), pause=lambda seconds: None)


def _provision(shoe: _LyingShoe, folder: Path) -> str:
    house = signing.public_of(HOUSE)
    settings = UnitSettings("SHOE-9", "12", 3, "stop", catalogue.document("mini", {}), house)
    files = KeyFiles(folder / "keys", folder / "commands", CommandKeyFile())
    return provision(
        shoe.attached, settings, files, replaces=True, pause=lambda seconds: None, unix_ms=lambda: 1
    )


@pytest.mark.parametrize("stage", _STAGES)
def test_an_update_ends_with_a_shoe_that_is_always_at_one_stage(stage: str) -> None:
    with pytest.raises(UpdateFailed) as raised:
        _update(_LyingShoe(random.Random(1), stage))
    assert str(raised.value).startswith("SHOE-9: ") and "\n" not in str(raised.value)


@pytest.mark.parametrize("stage", [*_STAGES, "refused"])
def test_provisioning_ends_with_a_board_that_is_always_at_one_stage(
    stage: str, tmp_path: Path
) -> None:
    with pytest.raises(BadAnswer) as raised:
        _provision(_LyingShoe(random.Random(1), stage), tmp_path)
    assert str(raised.value).startswith("SHOE-9: ") and "\n" not in str(raised.value)


def test_an_update_ends_whatever_a_shoe_answers() -> None:
    for _, rng in cases(0):
        with pytest.raises(SabotError):
            _update(_LyingShoe(rng))


def test_provisioning_ends_whatever_a_board_answers(tmp_path: Path) -> None:
    for seed, rng in cases(1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        with pytest.raises(SabotError):
            _provision(_LyingShoe(rng), folder)
