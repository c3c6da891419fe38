"""No secret that a shoe should have erased is in its memories: after provisioning, after starts,
after updates."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sabot_firmware
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port
from sabot.release import layout
from sabot.release.provision import KeyFiles, UnitSettings, provision
from sabot.release.update import update
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases
from sabot_hil.kit.secrets_left import epoch_of_chip, found_in, memories_of, secrets_left

_HOUSE = signing.public_of(releases.HOUSE)
_UNIT = "SHOE-9"


def test_a_secret_is_found_as_bytes_and_as_hex() -> None:
    key = bytes(range(200, 232))
    next_key = hashlib.sha256(b"sabot next" + key).digest()
    for secret, what in ((key, "secret of epoch 0"), (next_key, "secret of epoch 1")):
        for data in (secret, secret.hex().encode(), secret.hex().upper().encode()):
            (found,) = secrets_left({"chip": bytes(7) + data + b"x"}, key, 2)
            assert found.startswith(what) and found.endswith("chip at 7")
    assert secrets_left({"chip": next_key}, key, 1) == [], "the newest one is still needed"


class _ShoeInService:
    """A simulated board that is flashed, provisioned and updated, with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.files = KeyFiles(folder / "keys", folder / "commands", CommandKeyFile())
        files = layout.contents(releases.compiled("sim"), _HOUSE)
        del files["state/release_key.cbor"]
        self.shoe = SimulatedShoe("BOARD-1", state=self.state, files=files, provisioned=False)

    def provision(self) -> None:
        game = catalogue.document("mini", {})
        settings = UnitSettings(_UNIT, "12", 3, "stop", game, _HOUSE)
        provision(self.attached, settings, self.files, replaces=True)

    def first_key(self) -> bytes:
        keys = Keys.load(self.files.chains)
        found = keys.first_key(_UNIT, keys.chains(_UNIT)[-1])
        assert found is not None
        return found

    @contextmanager
    def attached(self) -> Iterator[Client]:
        with Port(self.shoe.port) as port:
            yield Client(port, keys=self.files.known)

    def left(self) -> list[str]:
        return secrets_left(memories_of(self.state), self.first_key(), epoch_of_chip(self.state))


@pytest.fixture
def unit(tmp_path: Path) -> Iterator[_ShoeInService]:
    made = _ShoeInService(tmp_path)
    made.shoe.power_on()
    yield made
    made.shoe.close()


@pytest.mark.slow
def test_the_first_key_is_never_in_the_boards_flash_and_leaves_the_journals_chip(
    unit: _ShoeInService,
) -> None:
    unit.provision()
    first_key = {"first key": unit.first_key()}
    board_flash = {"board": memories_of(unit.state)["board.nor"]}
    assert found_in(board_flash, first_key) == []
    for _ in range(10):
        unit.shoe.power_off()
        unit.shoe.power_on()
    assert epoch_of_chip(unit.state) > 0
    assert unit.left() == []
    release = releases.changed("sim", releases.HOUSE, "0.9.0")
    assert sabot_firmware.VERSION != "0.9.0"
    update(unit.attached, release, lambda progress: None)
    assert unit.left() == []
