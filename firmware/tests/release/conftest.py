"""Marks the slow tests of this room. MicroPython runs their module too, and it has no pytest."""

from pathlib import Path

import pytest

_SLOW = Path(__file__).with_name("test_update.py")  # it checks many signatures in plain Python


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make check` leaves out slow tests."""
    for item in items:
        if item.path == _SLOW:
            item.add_marker(pytest.mark.slow)
