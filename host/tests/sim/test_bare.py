"""A simulated board without firmware: mpremote talks to it and installs the firmware on it."""

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from mpremote.transport import TransportExecError
from mpremote.transport_serial import SerialTransport

from sabot.errors import SimulatorFailed
from sabot.keys import chain_keys, signing
from sabot.link.client import Client
from sabot.link.messages import StatusCommand
from sabot.link.ports import Port
from sabot.release import layout
from sabot.release.documents import document
from sabot.sim.process import BOARD_FLASH, JOURNAL, SimulatedShoe, new_journal
from sabot_hil.kit import releases
from sabot_protocol.chain import chain_id, command_key

pytestmark = pytest.mark.slow

_CHUNK = 1024


@pytest.fixture
def board() -> Iterator[SimulatedShoe]:
    """A bare board, powered on."""
    with SimulatedShoe("BARE-1", files={}) as simulated:
        simulated.power_on()
        yield simulated


@pytest.fixture
def repl(board: SimulatedShoe) -> Iterator[SerialTransport]:
    """The board's raw REPL."""
    with closing(SerialTransport(board.port)) as transport:
        transport.enter_raw_repl(soft_reset=False)
        yield transport


@pytest.mark.parametrize("paste", [True, False])
def test_the_output_of_a_program_comes_and_its_names_stay(
    repl: SerialTransport, paste: bool
) -> None:
    repl.use_raw_paste = paste
    assert repl.exec("import sys\nkept = 6 * 7\nprint(kept)").split() == [b"42"]
    long = "x" * 5000
    assert repl.exec(f"print('{long}', kept)").split() == [long.encode(), b"42"]
    assert repl.eval("sys.implementation.name") == "micropython"


def test_the_error_of_a_program_is_raised_and_the_next_one_runs(repl: SerialTransport) -> None:
    with pytest.raises(TransportExecError, match="ZeroDivisionError"):
        repl.exec("1 / 0")
    with pytest.raises(TransportExecError, match="SyntaxError"):
        repl.exec("def")
    assert repl.eval("1 + 1") == 2


def test_a_soft_reset_clears_names_and_ctrl_c_cancels_input(repl: SerialTransport) -> None:
    repl.exec("kept = 1")
    repl.serial.write(b"print('never')\x03")
    assert repl.eval("kept") == 1
    repl.enter_raw_repl(soft_reset=True)
    with pytest.raises(TransportExecError, match="NameError"):
        repl.exec("print(kept)")


def test_a_soft_reset_closes_files_that_a_host_left_open(repl: SerialTransport) -> None:
    for _ in range(3):
        repl.exec("import os\nf = open('/left', 'wb')\nw = f.write\nw(bytes(5000))")
        repl.enter_raw_repl(soft_reset=True)
        assert repl.fs_stat("/left").st_size == 5000  # closed, so it has its whole length
        repl.fs_rmfile("/left")
        repl.fs_writefile("/other", bytes(9000), _CHUNK)
        repl.exec("import gc\ngc.collect()")
        assert repl.fs_readfile("/other", _CHUNK) == bytes(9000)


def test_files_are_kept_without_power(board: SimulatedShoe, repl: SerialTransport) -> None:
    data = bytes(range(256)) * 40
    repl.fs_mkdir("/kept")
    repl.fs_writefile("/kept/file", data, _CHUNK)
    assert repl.fs_hashfile("/kept/file", "sha256") == sha256(data).digest()
    board.power_off()
    board.power_on()
    repl.enter_raw_repl(soft_reset=False)
    assert repl.fs_readfile("/kept/file", _CHUNK) == data
    with pytest.raises(FileNotFoundError):
        repl.fs_stat("/kept/other")


def test_firmware_that_mpremote_installed_runs_after_a_reset(
    board: SimulatedShoe, repl: SerialTransport
) -> None:
    modules = releases.compiled("sim")
    files = layout.contents(modules, signing.public_of(releases.HOUSE))
    files["state/settings.cbor"] = document({"set": 0})
    files["state/unit.cbor"] = document("BARE-1")
    first_key = chain_keys.new_key()
    files["state/chain.cbor"] = document(chain_id(first_key))
    files["state/command_key.cbor"] = document(command_key(first_key))
    (board.state / JOURNAL).write_bytes(new_journal(first_key))
    repl.fs_mkdir("/state")
    for path, data in files.items():
        repl.fs_writefile(f"/{path}", data, _CHUNK)
    repl.exec_raw_no_follow("import machine\nmachine.reset()")
    repl.close()
    shown = board.bench.wait_for(lambda outputs: outputs.title == "LOAD CARDS", "started")
    assert not shown.lock_released
    with closing(Port(board.port)) as port:
        client = Client(port)
        assert client.welcome.build == layout.build_of(modules)
        assert client.unit == "BARE-1"
        client.ask(StatusCommand())


def test_files_too_large_for_the_flash_are_refused(tmp_path: Path) -> None:
    files = {"file": bytes(1_500_000)}
    with pytest.raises(SimulatorFailed, match=r"does not take these files: OSError: .*28"):
        SimulatedShoe("FULL-1", state=tmp_path, files=files)
    assert not (tmp_path / BOARD_FLASH).exists()
