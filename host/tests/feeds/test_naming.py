"""A unit's name in ids, subjects and topics."""

import re

from hypothesis import given
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from sabot.feeds.naming import token


@given(st.text(), st.text())
def test_two_names_never_have_the_same_token(one: str, other: str) -> None:
    assert (token(one) == token(other)) == (one == other)


@given(st.text(max_size=4000))
def test_a_token_has_no_character_that_means_something_anywhere(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_%~-]{1,130}", token(name))


def test_the_name_of_an_ordinary_unit_stays() -> None:
    assert token("SHOE-7_a") == "SHOE-7_a"
    assert token("house.1") == "house%2E1"
    assert token("") == "%" != token("%")
