"""The folder of a simulated shoe's memory."""

import os
from pathlib import Path

import pytest

from sabot.errors import SimulatorFailed
from sabot.sim.process import SimulatedShoe

LETTER = b"Dear sir or madam,\n"


@pytest.mark.parametrize("planted", ["lock", "stderr.log", "settings.cbor", "first_key.cbor"])
def test_no_link_in_the_memory_of_a_shoe_is_followed(tmp_path: Path, planted: str) -> None:
    letter = tmp_path / "letter"
    letter.write_bytes(LETTER)
    state = tmp_path / "state"
    state.mkdir()
    (state / planted).symlink_to(letter)
    try:
        SimulatedShoe("SHOE-7", state=state, keys=tmp_path / "keys").close()
    except (OSError, SimulatorFailed):
        pass  # a link for a file that stays open is refused, others are replaced
    assert letter.read_bytes() == LETTER


@pytest.mark.parametrize("planted", ["lock", "stderr.log"])
def test_a_pipe_in_the_memory_of_a_shoe_is_refused_and_not_waited_for(
    tmp_path: Path, planted: str
) -> None:
    os.mkfifo(tmp_path / planted)
    with pytest.raises((OSError, SimulatorFailed)):
        SimulatedShoe("SHOE-7", state=tmp_path, keys=tmp_path / "keys")


def test_the_memory_of_a_shoe_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        SimulatedShoe("SHOE-7", state=tmp_path / "state").close()
    finally:
        os.umask(before)
    made = [tmp_path / "state", *(tmp_path / "state").iterdir()]
    assert len(made) > 4
    assert [path.name for path in made if path.stat().st_mode & 0o077] == []
