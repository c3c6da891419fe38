"""The file of command keys: what can be read, what is refused, and how a key is added."""

import json
from pathlib import Path

import pytest

from sabot.errors import KeysUnusable
from sabot.link import command_keys
from sabot.link.command_keys import CommandKeyFile
from sabot.sim.process import SimulatedShoe

_KEY, _OTHER = bytes(range(32)), bytes(range(1, 33))


def _line(unit: str = "SHOE-7", key: bytes = _KEY) -> str:
    return json.dumps({"unit": unit, "command": key.hex()}) + "\n"


def test_an_added_key_is_there_and_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    command_keys.add(path, "SHOE-7", _KEY)
    command_keys.add(path, "SHOE-8", _OTHER)
    keys = CommandKeyFile.load(path)
    assert (keys.key_for("SHOE-7"), keys.key_for("SHOE-8"), keys.exposed) == (_KEY, _OTHER, False)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == _line() + _line("SHOE-8", _OTHER)


def test_the_last_key_of_a_unit_counts_and_is_not_added_twice(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    for key in (_KEY, _OTHER, _OTHER, _KEY):
        command_keys.add(path, "SHOE-7", key)
    assert CommandKeyFile.load(path).key_for("SHOE-7") == _KEY
    assert len(path.read_text().splitlines()) == 3


def test_the_error_for_a_unit_without_a_key_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    command_keys.add(path, "SHOE-7", _KEY)
    with pytest.raises(KeysUnusable, match=f"SHOE-9: {path} has no command key for it"):
        CommandKeyFile.load(path).key_for("SHOE-9")
    with pytest.raises(KeysUnusable, match="SHOE-9: there is no command key for it"):
        CommandKeyFile().key_for("SHOE-9")


def test_the_default_file_is_read_from_the_current_folder_if_it_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeysUnusable):
        CommandKeyFile.load(None).key_for("SHOE-7")
    command_keys.add(Path("sabot.commands"), "SHOE-7", _KEY)
    assert CommandKeyFile.load(None).key_for("SHOE-7") == _KEY
    with pytest.raises(KeysUnusable, match="other: cannot be read"):
        CommandKeyFile.load(Path("other"))


def test_a_running_simulated_shoe_publishes_its_key(tmp_path: Path) -> None:
    with SimulatedShoe("SIM-K") as shoe:
        key = CommandKeyFile().key_for(shoe.unit)
        assert len(key) == 32
    with pytest.raises(KeysUnusable):
        CommandKeyFile().key_for("SIM-K")


@pytest.mark.parametrize(
    "line",
    [
        "SHOE-7",
        "[]",
        "{}",
        json.dumps({"unit": "SHOE-7"}),
        json.dumps({"unit": "", "command": _KEY.hex()}),
        json.dumps({"unit": 7, "command": _KEY.hex()}),
        json.dumps({"unit": "SHOE-7", "command": "xy"}),
        json.dumps({"unit": "SHOE-7", "command": _KEY.hex()[:-2]}),
        json.dumps({"unit": "SHOE-7", "command": _KEY.hex(), "more": ""}),
        json.dumps({"unit": "SHOE-7", "chain": "", "key": _KEY.hex()}),
        "[" * 100_000,
    ],
)
def test_a_file_with_a_line_that_is_not_a_key_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "keys"
    path.write_text(_line() + line + "\n")
    with pytest.raises(KeysUnusable, match=f"{path}, line 2: ") as raised:
        CommandKeyFile.load(path)
    assert _KEY.hex()[:16] not in str(raised.value)
    before = path.read_bytes()
    with pytest.raises(KeysUnusable):
        command_keys.add(path, "SHOE-8", _OTHER)
    assert path.read_bytes() == before and {each.name for each in tmp_path.iterdir()} == {
        "keys",
        "run",
    }


def test_a_file_that_others_may_read_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(_line())
    path.chmod(0o640)
    assert CommandKeyFile.load(path).exposed
