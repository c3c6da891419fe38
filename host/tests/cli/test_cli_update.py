"""`sabot update` as its user runs it: its errors, each in one line."""

from pathlib import Path

import pytest

from host.tests.support.commands import error_line, run
from sabot.cli.key_files import ENVIRONMENT
from sabot.keys import signing
from sabot.sim.process import SimulatedShoe

pytestmark = pytest.mark.slow

_PASSPHRASE = "correct horse"


def test_a_folder_without_a_release_or_with_a_damaged_one_is_refused(
    tmp_path: Path,
) -> None:
    line = error_line(tmp_path, "update", "NONE-1", "--release", "nowhere", code=29)
    assert "nowhere" in line and "`sabot build`" in line
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    given = {ENVIRONMENT: _PASSPHRASE}
    run(tmp_path, "build", "--key", "house.pem", "-o", "made", **given)
    (tmp_path / "made" / "sabot_firmware" / "shoe.mpy").write_bytes(b"other")
    line = error_line(tmp_path, "update", "NONE-1", "--release", "made", code=29)
    assert "sabot_firmware/shoe.mpy is damaged" in line


def test_a_release_for_another_board_is_refused(tmp_path: Path) -> None:
    """The simulated shoe does not run from a slot."""
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    given = {ENVIRONMENT: _PASSPHRASE}
    run(tmp_path, "build", "--key", "house.pem", "-o", "made", **given)
    with SimulatedShoe("SIM-U", state=tmp_path / "state") as shoe:
        shoe.power_on()
        line = error_line(tmp_path, "update", shoe.port, "--release", "made", code=30)
        assert "its board is sim, the release is for pico" in line
