"""Fixtures of the tests that need MicroPython's image for the Pico."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from host.tests.support.surroundings import (
    collect_seldom,
    same_surroundings,
    temporary_files_in_memory,
)

if TYPE_CHECKING:
    from sabot.release.uf2 import Image


def pytest_configure() -> None:
    """Every way to start the tests gives the same verdict."""
    same_surroundings()
    collect_seldom()
    temporary_files_in_memory()


@pytest.fixture(scope="session")
def image_file(request: pytest.FixtureRequest) -> Path:
    """The file of MicroPython's image; without one the test is skipped."""
    from sabot_hil.emulation.uf2 import ENVIRONMENT, HOW_TO_GET_IT, find_image

    given = request.config.getoption("--uf2", default=None)
    if given is None and ENVIRONMENT not in os.environ:
        pytest.skip(f"no image of MicroPython: {HOW_TO_GET_IT}")
    return find_image(Path(given) if given else None)


@pytest.fixture(scope="session")
def image(image_file: Path) -> "Image":
    """MicroPython's image."""
    from sabot_hil.emulation.uf2 import read_image

    return read_image(image_file)
