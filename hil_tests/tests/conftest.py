"""Fixtures of the tests that need MicroPython's image for the Pico."""

import os
from pathlib import Path

import pytest

from sabot.release.uf2 import Image
from sabot_hil.emulation.uf2 import ENVIRONMENT, HOW_TO_GET_IT, find_image, read_image


@pytest.fixture(scope="session")
def image_file(request: pytest.FixtureRequest) -> Path:
    """The file of MicroPython's image; without one the test is skipped."""
    given = request.config.getoption("--uf2", default=None)
    if given is None and ENVIRONMENT not in os.environ:
        pytest.skip(f"no image of MicroPython: {HOW_TO_GET_IT}")
    return find_image(Path(given) if given else None)


@pytest.fixture(scope="session")
def image(image_file: Path) -> Image:
    """MicroPython's image."""
    return read_image(image_file)
