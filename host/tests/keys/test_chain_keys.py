"""Key files: added keys are read again, wrong files are refused, and no message shows a key."""

import fcntl
import json
import os
import random
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sabot.errors import KeysUnusable
from sabot.keys import key_lines
from sabot.keys.chain_keys import Keys, add, new_key
from sabot_protocol.chain import chain_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    return tmp_path / "keys" / "sabot.keys"


def test_added_keys_are_read_again(path: Path) -> None:
    first, second, other = new_key(), new_key(), new_key()
    add(path, "SHOE-7", first)
    add(path, "SHOE-7", second)
    add(path, "SHOE-8", other)
    loaded = Keys.load(path)
    assert loaded.units() == ["SHOE-7", "SHOE-8"]
    assert loaded.chains("SHOE-7") == [chain_id(first), chain_id(second)]
    assert loaded.first_key("SHOE-7", chain_id(second)) == second
    assert loaded.first_key("SHOE-7", chain_id(other)) is None
    assert loaded.first_key("SHOE-9", chain_id(first)) is None and loaded.chains("SHOE-9") == []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[2] == {"unit": "SHOE-8", "chain": chain_id(other).hex(), "key": other.hex()}


def test_new_keys_are_all_different() -> None:
    made = {new_key() for _ in range(100)}
    assert len(made) == 100 and {len(key) for key in made} == {32}


def test_a_key_is_not_added_twice(path: Path) -> None:
    key = new_key()
    for _ in range(3):
        add(path, "U1", key)
    assert len(path.read_text().splitlines()) == 1


def test_only_the_owner_may_read_a_new_file_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        add(path, "U1", new_key())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and not Keys.load(path).exposed


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o666])
def test_a_file_that_others_may_read_is_reported_and_is_private_once_a_key_is_added(
    path: Path, mode: int
) -> None:
    add(path, "U1", new_key())
    path.chmod(mode)
    assert Keys.load(path).exposed
    add(path, "U2", new_key())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and not Keys.load(path).exposed


@pytest.mark.parametrize("there", [True, False])
def test_no_key_is_added_through_a_link(path: Path, there: bool) -> None:
    target = path.with_name("target")
    path.symlink_to(target)
    if there:
        add(target, "U1", new_key())
    before = target.read_bytes() if there else None
    with pytest.raises(KeysUnusable, match="a link"):
        add(path, "U2", new_key())
    assert path.is_symlink() and target.exists() == there
    assert not there or target.read_bytes() == before


def test_a_key_file_that_is_a_link_can_be_read(path: Path) -> None:
    add(path, "U1", new_key())
    link = path.with_name("link")
    link.symlink_to(path)
    assert Keys.load(link).units() == ["U1"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_no_key_is_added_to_another_users_file(path: Path) -> None:
    add(path, "U1", new_key())
    os.chown(path, 65534, 65534)
    before = path.read_bytes()
    with pytest.raises(KeysUnusable, match="another user's file"):
        add(path, "U2", new_key())
    assert path.read_bytes() == before


def test_keys_added_at_the_same_time_are_all_there(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: add(path, f"U{n}", new_key()), range(40)))
    assert len(Keys.load(path).units()) == 40
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_folder_that_another_process_keeps_locked_is_an_error_and_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_lines, "LOCKED_S", 0.05)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(KeysUnusable, match="another process has kept its folder"):
            add(path, "SHOE-7", new_key())
        assert not path.exists()
    finally:
        os.close(folder)
    add(path, "SHOE-7", new_key())


def test_a_key_can_be_added_to_a_file_without_a_last_newline(path: Path) -> None:
    add(path, "U1", new_key())
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    add(path, "U2", new_key())
    assert Keys.load(path).units() == ["U1", "U2"]


@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_an_interrupted_add_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    add(path, "U1", new_key())
    before = path.read_bytes()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*((os, "fsync") if when == "fsync" else (Path, "replace")), interrupt)
    with pytest.raises(KeyboardInterrupt):
        add(path, "U2", new_key())
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


KEY = bytes(range(32))
GOOD = {"unit": "U1", "chain": chain_id(KEY).hex(), "key": KEY.hex()}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "not a unit's key"),
        ("[1, 2]", "not a unit's key"),
        ("{}", "not a unit's key"),
        (json.dumps(GOOD)[:-9], "not a unit's key"),
        ("[" * 100_000, "not a unit's key"),
        (json.dumps(GOOD | {"more": 1}), "not a unit's key"),
        (json.dumps(GOOD | {"unit": 7}), "not a unit's key"),
        (json.dumps(GOOD | {"unit": ""}), "not a unit's key"),
        (json.dumps(GOOD | {"key": "xy" * 32}), "hex"),
        (json.dumps(GOOD | {"key": "00" * 31}), "31 bytes"),
        (json.dumps(GOOD | {"key": KEY[::-1].hex()}), "does not belong to its chain"),
        (json.dumps(GOOD | {"chain": "00" * 16}), "does not belong to its chain"),
        ("\xff\xfe", "not a unit's key"),
    ],
)
def test_the_error_for_a_wrong_file_names_the_line(path: Path, line: str, why: str) -> None:
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\n" + line.encode("latin-1") + b"\n")
    for use in (lambda: Keys.load(path), lambda: add(path, "U2", new_key())):
        with pytest.raises(KeysUnusable) as raised:
            use()
        message = str(raised.value)
        assert f"{path}, line 3: " in message and why in message and "\n" not in message
        assert KEY.hex()[:16] not in message and raised.value.exit_code == 21
    assert path.read_bytes().startswith(json.dumps(GOOD).encode())


def test_random_damage_is_refused_or_changes_only_the_unit(path: Path, rng: random.Random) -> None:
    good = json.dumps(GOOD).encode()
    for _ in range(300):
        at = rng.randrange(len(good))
        path.write_bytes(good[:at] + bytes([good[at] ^ rng.randrange(1, 256)]) + good[at + 1 :])
        try:
            loaded = Keys.load(path)
        except KeysUnusable:
            continue
        assert [loaded.chains(unit) for unit in loaded.units()] in ([], [[chain_id(KEY)]])


def test_a_missing_file_is_an_error(path: Path) -> None:
    with pytest.raises(KeysUnusable, match=r"cannot be read .*--keys"):
        Keys.load(path)
    with pytest.raises(KeysUnusable, match="cannot be written"):
        add(path / "folder" / "file", "U1", new_key())


def test_no_repr_contains_a_key(path: Path) -> None:
    add(path, "U1", KEY)
    loaded = Keys.load(path)
    assert KEY.hex() not in repr(loaded) and repr(KEY) not in repr(loaded)


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="31 bytes"):
        Keys().put("U1", bytes(31))
