"""Reads the fields of a JSON file that people write: an error names the field, and what to write.

All functions raise BadWagers. `where` is the field's place in the file, as "seat 3: stakes_cents".
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sabot.errors import BadWagers, Forbidden, GameDiffers, ImpossibleDeal, did_you_mean
from sabot.files import TooLarge, read_bounded
from sabot.games.choices import Choice
from sabot.text import card_names

MAX_FILE = 1 << 20
"""The largest file, in bytes."""

MAX_CENTS = 10**12
"""The largest amount: more is a typing error."""

MAX_NAME = 40
"""The longest name of a player, in characters."""

MAX_CHOICE = 400
"""The longest choice of the house, in characters."""

MAX_NUMBER = 99
"""The largest number of a seat, a line or a ghost hand."""


def read_bytes(path: Path, what: str) -> bytes:
    """Return the content of a file. `what` is the largest thing that it should hold."""
    try:
        return read_bounded(path, MAX_FILE)
    except TooLarge:
        raise BadWagers(f"{path}: over {MAX_FILE:,} bytes; {what} far less") from None
    except OSError as error:
        raise BadWagers(f"{path}: cannot be read ({error.strerror}); check the name") from None


@contextmanager
def in_file(path: Path | None) -> Iterator[None]:
    """Put the name of the file before the errors about what it has; without a file nothing."""
    try:
        yield
    except (BadWagers, Forbidden, ImpossibleDeal, GameDiffers) as error:
        if path is None:
            raise
        raise type(error)(f"{path}: {error}") from None


def json_value(data: bytes) -> object:
    """Return the JSON value in UTF-8 text; a key that is twice in one object is refused."""
    try:
        return json.loads(data.decode(), object_pairs_hook=_object)
    except UnicodeDecodeError:
        raise BadWagers("not UTF-8 text; write JSON") from None
    except json.JSONDecodeError as error:
        raise BadWagers(f"not JSON: {error.msg} in line {error.lineno}; fix it") from None
    except (RecursionError, ValueError):  # thousands of brackets or digits
        raise BadWagers("nested too deeply or a number too long; fix it") from None


def house_choices(value: object, choices: Iterable[Choice] = ()) -> Mapping[str, object]:
    """Return the choices of the house. Of `choices` those that are true or false are checked; all
    else, the caller checks."""
    if not isinstance(value, dict):
        raise BadWagers(f'house: {quoted(value)} is not an object; write {{"areas": 7}}')
    flags = {choice.name for choice in choices if choice.is_flag()}
    for name, chosen in value.items():
        name_of(name, "house: a choice")
        if name in flags:
            flag_of(chosen, f"house: {name}")
        elif isinstance(chosen, str):
            text_of(chosen, f"house: {name}", MAX_CHOICE)
        elif not isinstance(chosen, int) or abs(chosen) > MAX_CENTS:
            raise BadWagers(
                f"house: {name}: {quoted(chosen)} is not a choice; write a number or word"
            )
    return value


def object_of(value: object, where: str, keys: Sequence[str]) -> dict[str, Any]:
    """Return an object that has no other keys than `keys`."""
    if not isinstance(value, dict):
        raise BadWagers(f"{where}: {quoted(value)} is not an object; write {{...}}")
    for key in value:
        if key not in keys:
            near = did_you_mean(key[:MAX_NAME], keys)
            raise BadWagers(f"{where}: unknown key {quoted(key)}; {near}")
    return value


def list_of(value: object, where: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise BadWagers(f"{where}: {quoted(value)} is not a list; write [...]")
    return value


def flag_of(value: object, where: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        hint = "; write true or false without quotes" if isinstance(value, str) else ""
        raise BadWagers(f"{where}: {quoted(value)} must be true or false{hint}")
    return value


def number_of(value: object, where: str, least: int = 1, most: int = MAX_NUMBER) -> int:
    """Return a whole number in a range."""
    if type(value) is not int or not least <= value <= most:
        raise BadWagers(f"{where}: {quoted(value)} is not a whole number from {least} to {most}")
    return value


def cents_of(value: object, where: str) -> int:
    """Return an amount of at least a cent."""
    if type(value) is not int or not 0 < value <= MAX_CENTS:
        raise BadWagers(
            f"{where}: {quoted(value)} is not an amount; write whole cents, from 1 to {MAX_CENTS}"
        )
    return value


def name_of(value: object, where: str) -> str:
    """Return a name of 1 to MAX_NAME characters."""
    if value == "":
        raise BadWagers(f'{where}: "" is not text of 1 to {MAX_NAME} characters')
    return text_of(value, where, MAX_NAME)


def text_of(value: object, where: str, most: int) -> str:
    """Return text of at most `most` printable characters."""
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise BadWagers(f"{where}: {quoted(value)} is not text of 1 to {most} characters")
    return value


def card_of(value: object, where: str) -> str:
    """Return the name of a card, such as "TS"."""
    with suppress(ValueError):
        names = card_names(value) if isinstance(value, str) else []
        if len(names) == 1:
            return names[0]
    raise BadWagers(f"{where}: {quoted(value)} is not a card; write 7H, TC")


def quoted(value: object) -> str:
    """Return a value of the file as one short line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a number with over 30 digits"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 3]}..."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict as `json` does, but refuse a repeated key, which would silently lose a wager."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise BadWagers(f"{quoted(twice)} is given twice in one object; keep one of them")
    return fields
