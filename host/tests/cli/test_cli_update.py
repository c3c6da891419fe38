"""`sabot update` as its user runs it: its errors, each in one line."""

from pathlib import Path

import pytest

from host.tests.support.commands import (
    done_here,
    error_line_here,
)
from sabot.cli.key_files import ENVIRONMENT
from sabot.keys import signing
from sabot.release import build, layout
from sabot.sim import waveform
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases as kit
from sabot_protocol import cards

pytestmark = pytest.mark.slow

_PASSPHRASE = "correct horse"


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sabot build` takes modules that are compiled already."""
    monkeypatch.setattr(build, "modules_of", kit.compiled)


def test_a_folder_without_a_release_or_with_a_damaged_one_is_refused(
    tmp_path: Path,
) -> None:
    line = error_line_here(tmp_path, "update", "NONE-1", "--release", "nowhere", code=29)
    assert "nowhere" in line and "`sabot build`" in line
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    given = {ENVIRONMENT: _PASSPHRASE}
    done_here(tmp_path, "build", "--key", "house.pem", "-o", "made", **given)
    (tmp_path / "made" / "sabot_firmware" / "shoe.mpy").write_bytes(b"other")
    line = error_line_here(tmp_path, "update", "NONE-1", "--release", "made", code=29)
    assert "sabot_firmware/shoe.mpy is damaged" in line


def test_a_release_for_another_board_is_refused(tmp_path: Path) -> None:
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    given = {ENVIRONMENT: _PASSPHRASE}
    done_here(tmp_path, "build", "--key", "house.pem", "-o", "made", **given)
    files = layout.contents(kit.compiled("sim"), signing.load_public(tmp_path / "house.pub.pem"))
    with SimulatedShoe("SIM-U", files=files) as shoe:
        shoe.power_on()
        line = error_line_here(tmp_path, "update", shoe.port, "--release", "made", code=30)
        assert "its board is sim, the release is for pico" in line


def test_a_simulated_shoe_that_takes_no_release_says_so_at_once(tmp_path: Path) -> None:
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    given = {ENVIRONMENT: _PASSPHRASE}
    done_here(tmp_path, "build", "--board", "sim", "--key", "house.pem", "-o", "made", **given)
    with SimulatedShoe("SIM-U") as shoe:
        shoe.power_on()
        load_cards(shoe)
        line = error_line_here(tmp_path, "update", "SIM-U", "--release", "made", code=13)
        assert line == (
            "SIM-U refused update: this shoe does not run from a slot; of simulated ones only "
            "those of `sabot sim --bare` do"
        )


def load_cards(shoe: SimulatedShoe) -> None:
    """A round is open: an update would wait for its end."""
    shoe.bench.switch("lid_open", True)
    shoe.bench.switch("lid_open", False)
    for card in ("AC", "2C"):
        shoe.bench.play(waveform.pass_samples(cards.number_of(card), card_set=0))
    assert shoe.bench.settle().title == "BETTING OPEN"
