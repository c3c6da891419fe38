"""`sabot flash` as its user runs it."""

import shlex
import time
from contextlib import ExitStack, chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sabot_firmware
from host.tests.release.test_flash import put, put_unit
from host.tests.support.commands import (
    TIMEOUT_S,
    done_here,
    error_line_here,
    running,
)
from host.tests.support.uf2_files import PICO, image, uf2
from sabot.cli import app
from sabot.keys import signing
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.release import bootloader_drive
from sabot.release import build as releases
from sabot.release import flash as flashing
from sabot.sim.process import BOARD_FLASH, SimulatedShoe
from sabot_hil.kit import releases as made

pytestmark = pytest.mark.slow

_RELEASE = f"sabot-{sabot_firmware.VERSION}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a release for simulated boards and the house's public key."""
    monkeypatch.setattr(releases, "modules_of", made.compiled)
    releases.save(releases.build("sim", made.HOUSE), tmp_path / _RELEASE)
    public = signing.pem_of(signing.public_of(made.HOUSE))
    (tmp_path / "releases.pub.pem").write_bytes(public)
    return tmp_path


def test_all_flashes_every_bare_board_and_no_shoe(folder: Path) -> None:
    with ExitStack() as stack:
        boards = [
            stack.enter_context(SimulatedShoe(unit, files={})) for unit in ("BARE-1", "BARE-2")
        ]
        shoe = stack.enter_context(SimulatedShoe("SHOE-3", state=folder / "state"))
        shoe.power_on()
        for board in boards:
            board.power_on()
            put_unit(board)
        done = done_here(folder, "flash", "--all")
        assert done.stdout.splitlines() == [
            f"BARE-1: Sabot {sabot_firmware.VERSION}, flashed",
            f"BARE-2: Sabot {sabot_firmware.VERSION}, flashed",
            "SHOE-3: left alone, Sabot runs there",
        ]
        assert done.stderr == ""
        for board in boards:
            with Port(board.port) as port:
                assert Client(port).welcome.firmware == sabot_firmware.VERSION
        done = done_here(folder, "flash", "BARE-1", "NONE-1", code=3)
        assert done.stderr.startswith("sabot: NONE-1: no such unit is attached")
        done = done_here(folder, "flash", "BARE-1", "BARE-2", boards[0].port, code=31)
        assert len(done.stderr.splitlines()) == 2 and done.stdout == ""
        done = done_here(folder, "flash", "BARE-1", "/dev/ttyNONE", "--force", code=21)
        missing, served = done.stderr.splitlines()
        assert missing.startswith("sabot: /dev/ttyNONE: no such port")
        assert served.startswith("sabot: SHOE-9: there is no command key for it")


def test_it_ends_with_a_command_that_works(folder: Path) -> None:
    (folder / "releases.pub.pem").rename(folder / "our house.pub.pem")
    with SimulatedShoe("BARE-1", files={}) as board:
        board.power_on()
        done = done_here(folder, "flash", "BARE-1", "--house", "our house.pub.pem")
        says, command = done.stdout.rstrip().split("; provision it: sabot ")
        assert says == f"BARE-1: Sabot {sabot_firmware.VERSION}, flashed"
        assert "table 1, game mini" in done_here(folder, *shlex.split(command)).stdout


def test_after_ctrl_c_the_board_has_its_prompt_and_can_be_flashed(folder: Path) -> None:
    with SimulatedShoe("BARE-1", files={}) as board:
        board.power_on()
        put_unit(board)
        with running(folder, "flash", "BARE-1") as command:
            deadline_s = time.monotonic() + TIMEOUT_S
            while b"main.py.new" not in (board.state / BOARD_FLASH).read_bytes():
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
            assert command.end() == 130
            assert command.problems[-1].startswith("sabot: BARE-1: interrupted (")
            assert command.problems[-1].endswith("not a shoe yet; flash it again: that continues")
        board.power_off()
        board.power_on()
        put(board, {"/note": b""})
        assert done_here(folder, "flash", "BARE-1").stdout.endswith("flashed\n")


def test_key_release_and_board_are_checked_before_anything_is_written(folder: Path) -> None:
    line = error_line_here(folder, "flash", "NONE-1", "--house", "none.pub.pem", code=21)
    assert line.startswith("none.pub.pem: no such file; name the house's public key with --house")
    line = error_line_here(folder, "flash", "NONE-1", "--release", "none", code=29)
    assert "none/manifest.cbor: cannot be read" in line and "`sabot build`" in line
    signing.make_key_pair(folder / "other")
    line = error_line_here(folder, "flash", "NONE-1", "--house", "other.pub.pem", code=29)
    assert line.startswith(f"{_RELEASE}: not signed with the key of other.pub.pem; ")
    line = error_line_here(folder, "flash", "NONE-1", code=3)
    assert line.startswith("NONE-1: no such unit")
    line = error_line_here(folder, "flash", "--all", code=3)
    assert line == "no board is attached; plug one in, or name its port"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "name a board, or use --all"),
        (("A", "--all"), "--all is for every board"),
        (("--all", "--micropython", "x.uf2"), "--all is for every board"),
        (("A", "B", "--micropython", "x.uf2"), "one board at a time"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    assert why in done_here(tmp_path, "flash", *arguments, code=2).stderr


def test_micropython_is_put_on_the_board_before_it_is_flashed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pico.uf2").write_bytes(uf2(image()))
    (folder / "old.uf2").write_bytes(uf2(image(PICO.replace("1.28.0", "1.27.0"))))
    line = error_line_here(folder, "flash", "--micropython", "old.uf2", code=27)
    assert line.startswith("old.uf2: MicroPython 1.27.0, the release needs 1.28.0; get RPI_PICO")
    flashed_names = []

    def put_on(content: bytes, port: str | None, board: str) -> str:
        assert (content, port, board) == (uf2(image()), None, "pico")
        return "BACK-1"

    def flashed(name: str, *_: object, **__: object) -> str:
        flashed_names.append(name)
        return f"{name}: flashed"

    monkeypatch.setattr(bootloader_drive, "put_micropython", put_on)
    monkeypatch.setattr(flashing, "flash", flashed)
    with SimulatedShoe("BACK-1", files={}) as board:
        board.power_on()
        with chdir(folder):
            done = CliRunner().invoke(app(), ["flash", "--micropython", "pico.uf2"])
    assert (done.exit_code, flashed_names) == (0, ["BACK-1"])
