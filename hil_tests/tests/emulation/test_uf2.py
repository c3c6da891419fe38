"""The emulator's image is found, and its version is the tested one."""

from pathlib import Path

import pytest

from host.tests.support.commands import error_line_here
from host.tests.support.uf2_files import PICO, image, uf2
from sabot.errors import ImageUnusable
from sabot_hil.emulation.uf2 import ENVIRONMENT, find_image, read_image


@pytest.mark.parametrize("version", ["1.27.0", "1.2.8", "1.280.0"])
def test_an_image_of_a_version_that_was_not_tested_is_refused(tmp_path: Path, version: str) -> None:
    file = tmp_path / "other.uf2"
    file.write_bytes(uf2(image(PICO.replace("1.28.0", version))))
    with pytest.raises(
        ImageUnusable, match=f"other.uf2: MicroPython {version} was not tested, 1.28 was; "
    ):
        read_image(file)


def test_the_message_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "wrong.uf2"
    file.write_bytes(b"nothing")
    with pytest.raises(ImageUnusable, match=r"wrong\.uf2: not a UF2 image; get RPI_PICO"):
        read_image(file)
    with pytest.raises(ImageUnusable, match="cannot be read"):
        read_image(tmp_path)


def test_the_image_is_the_one_that_was_given_else_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named = tmp_path / "given.uf2", tmp_path / "named.uf2"
    given.write_bytes(b"")
    named.write_bytes(b"")
    monkeypatch.setenv(ENVIRONMENT, str(named))
    assert find_image(given) == given
    assert find_image() == named


def test_a_name_without_a_file_says_how_to_get_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "none.uf2"))
    with pytest.raises(ImageUnusable, match=r"no such file; get RPI_PICO v1\.28\.0"):
        find_image()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "no such file"),
        (b"nothing", "not a UF2 image"),
        (uf2(image(PICO.replace("Pico", "Pico 2"))), "MicroPython for Raspberry Pi Pico 2, not"),
        (
            uf2(image(PICO.replace("1.28.0", "1.27.0"))),
            "MicroPython 1.27.0 was not tested",
        ),
    ],
)
def test_the_command_refuses_a_wrong_image_before_it_makes_anything(
    tmp_path: Path, data: bytes | None, why: str
) -> None:
    if data is not None:
        (tmp_path / "image.uf2").write_bytes(data)
    arguments = ("--target", "emulator", "--uf2", "image.uf2", "--report", "report")
    line = error_line_here(tmp_path, "hil", *arguments, code=27)
    assert line.startswith(f"image.uf2: {why}")
    assert "; get RPI_PICO v1.28.0 (.uf2)" in line and "--uf2" in line
    assert not (tmp_path / "report").exists()


def test_the_check_of_an_emulated_bench_board_takes_an_image_too(tmp_path: Path) -> None:
    (tmp_path / "image.uf2").write_bytes(b"nothing")
    line = error_line_here(
        tmp_path, "hil", "check-bench", "emulator", "--uf2", "image.uf2", code=27
    )
    assert line.startswith("image.uf2: not a UF2 image")
