"""What several of the emulator's tests need."""

import pytest

from sabot_hil.emulation import package


@pytest.fixture
def fast() -> package.CompiledLoop:
    """The compiled module."""
    package.load_emulator()
    made = package.compiled_loop()
    if made is None:
        pytest.skip("fast.pyx is not compiled here: it needs Cython and a compiler")
    return made
