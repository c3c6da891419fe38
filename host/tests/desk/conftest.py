"""Passwords of the tests take no time to hash."""

import pytest
from argon2 import profiles

from sabot.desk import passwords


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "PARAMETERS", profiles.CHEAPEST)
