"""The secret of a note is gone once the note is written: no file has it."""

from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.audit.chain import Ratchet
from sabot.desk.desk import Desk
from sabot.keys.chain_keys import Keys
from sabot.log.store import open_store
from sabot_protocol.chain import NEXT_LABEL

PASSWORD = "four words of hers"


def secrets_of(keys: Path, last: int) -> list[bytes]:
    """The first key and the secrets of the notes to `last`, by the second implementation."""
    loaded = Keys.load(keys)
    key = loaded.first_key("@desk", loaded.chains("@desk")[0])
    assert key is not None
    found = [key]
    ratchet = Ratchet(key)
    for number in range(1, last + 1):
        ratchet.mac_key(number)
        found.append(ratchet._secret)
    return found


@pytest.mark.parametrize("logged", [True, False])
def test_only_the_secret_of_the_next_note_is_in_the_log(tmp_path: Path, logged: bool) -> None:
    """Also while the log is open for logging: once that has nothing else to do."""
    path, keys = tmp_path / "log.sqlite", tmp_path / "keys"
    with new_log(path) as log:
        log.append("U1", stored(FirmwareLog().load().draw("AS", "2C", "9S").records))
        if not logged:
            log.close()
        with open_store(path) as store:
            desk = Desk.make(store, keys, "ada", PASSWORD)
            for number in range(1, 41):
                desk.opened_round("U1", 1, number, by="ada")
                if logged:
                    log.derive()
                    log.derive()
                files = {each.name: each.read_bytes() for each in tmp_path.glob("log.sqlite*")}
                *gone, now = secrets_of(keys, number + 3)
                assert not any(each in data for data in files.values() for each in gone)
                assert now in files["log.sqlite"]


def test_the_secret_moves_on_as_that_of_a_shoe(tmp_path: Path) -> None:
    """So a program that checks shoes can check notes."""
    assert NEXT_LABEL == b"sabot next"
    with new_log(tmp_path / "log") as store:
        Desk.make(store, tmp_path / "keys", "ada", PASSWORD)
        with store.reading() as connection:
            found = connection.execute("SELECT number, secret FROM desk_key").fetchall()
    assert found == [(3, secrets_of(tmp_path / "keys", 3)[3])]
