"""How passwords are kept, with the parameters that a house has."""

import random
import re

import pytest
from argon2 import profiles

from sabot.desk import passwords
from sabot.desk.tries import FIRST_WAIT_S, FORGOTTEN_S, FREE, LONGEST_WAIT_S, Tries
from sabot.errors import DeskRefused


@pytest.mark.slow
def test_a_hash_takes_what_rfc_9106_recommends_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 4: Argon2id, t=3, 4 lanes, m=2^16 KiB, a salt of 128 bits, a tag of 256."""
    monkeypatch.undo()
    stored = passwords.hash_of("four words of hers")
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    salt, tag = stored.split("$")[-2:]
    assert (len(salt), len(tag)) == (22, 43)  # 16 and 32 bytes in base64
    assert passwords.fits(stored, "four words of hers")
    assert not passwords.fits(stored, "four words of his")
    shape = re.sub(r"\$[^$]+\$[^$]+$", "", stored)
    assert passwords.unknown().startswith(shape + "$") and len(passwords.unknown()) == len(stored)
    assert not passwords.fits(passwords.unknown(), "four words of hers")


def test_the_same_text_typed_in_two_ways_is_one_password() -> None:
    stored = passwords.hash_of("quatre mots d\u00e9j\u00e0 vus")
    assert passwords.fits(stored, "quatre mots de\u0301ja\u0300 vus")


@pytest.mark.parametrize("password", ["x" * 11, "x" * 201, "", "e\u0301" * 6])
def test_a_password_of_another_length_has_no_hash(password: str) -> None:
    with pytest.raises(DeskRefused, match="12 to 200"):
        passwords.hash_of(password)


@pytest.mark.parametrize("password", ["", "x" * 10_000_000, "\ud800" * 12, "\0" * 12])
def test_any_text_can_be_tried(password: str) -> None:
    assert not passwords.fits(passwords.hash_of("four words of hers"), password)


@pytest.mark.parametrize("stored", ["", "x", "$argon2id$v=19$m=8,t=1,p=1$YQ$YQ", "$argon2id$"])
def test_no_password_fits_what_is_not_a_hash(stored: str) -> None:
    assert not passwords.fits(stored, "four words of hers")


def test_the_tests_hash_with_the_least() -> None:
    assert passwords.PARAMETERS == profiles.CHEAPEST


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def test_a_guesser_has_a_hundred_tries_a_day_at_a_name() -> None:
    clock = Clock()
    tries, count = Tries(clock), 0
    while clock.s < 86_400:
        if wait_s := tries.wait_s("ada", f"10.0.0.{count}"):
            clock.s += wait_s
            continue
        count += 1
        tries.failed("ada", f"10.0.0.{count}")
    assert FREE < count < 120


def test_a_wait_is_never_longer_than_the_longest_and_ends_with_a_success(
    rng: random.Random,
) -> None:
    clock = Clock()
    tries = Tries(clock)
    for _ in range(2000):
        clock.s += rng.choice((0.0, 1.0, FIRST_WAIT_S, 100.0))
        name, origin = rng.choice("abc"), rng.choice("xyz")
        assert 0 <= tries.wait_s(name, origin) <= LONGEST_WAIT_S
        if rng.random() < 0.05:
            tries.succeeded(name, origin)
            assert tries.wait_s(name, origin) == 0
        else:
            tries.failed(name, origin)
    clock.s += FORGOTTEN_S + 1
    assert all(tries.wait_s(name, "x") == 0 for name in "abc")


def test_names_that_are_tried_once_do_not_use_up_memory() -> None:
    tries = Tries(Clock())
    for at in range(30_000):
        tries.failed(f"name {at}", "10.0.0.7")
    assert len(tries._failed) <= 10_000
    assert tries.wait_s("ada", "10.0.0.7") == LONGEST_WAIT_S
