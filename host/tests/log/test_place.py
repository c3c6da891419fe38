"""Where a log is: what a person may write, and what is never shown."""

from pathlib import Path

import pytest

from sabot.errors import DatabaseUnusable
from sabot.log.place import Address, place_of


@pytest.mark.parametrize("text", ["sabot.sqlite", "logs/postgresql.sqlite", "C:/x", "mysql://h/d"])
def test_what_is_no_address_is_a_file(text: str) -> None:
    assert place_of(text) == Path(text)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://centre/sabot",
        "postgres://site@centre:5433/sabot?sslmode=verify-full",
        "postgresql:///sabot?host=/run/postgresql",
    ],
)
def test_an_address_is_kept_as_it_was_written(text: str) -> None:
    place = place_of(text)
    assert isinstance(place, Address) and str(place) == place.uri == text


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://site:hunter2@centre/sabot",
        "postgresql://site:@centre/hunter2",
        "postgresql://centre/sabot?password=hunter2",
        "postgresql://centre/sabot?sslmode=require&pass%77ord=hunter2",
        "postgresql://centre/sabot?sslpassword=hunter2",
        "postgresql://site:hunter2@[centre/sabot",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(DatabaseUnusable) as caught:
        place_of(text)
    assert "hunter2" not in str(caught.value).replace("/hunter2", "")
    assert "\n" not in str(caught.value)


def test_what_an_address_shows_is_one_printable_line() -> None:
    assert "\x1b" not in str(place_of("postgresql://centre/\x1b[31m"))
