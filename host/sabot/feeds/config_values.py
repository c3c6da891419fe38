"""Reads single values of feeds.toml. Each raises Fault for one that cannot be used."""

from datetime import UTC, datetime
from urllib.parse import SplitResult, urlsplit

from sabot.errors import did_you_mean
from sabot.feeds.message import WHAT
from sabot.listening import Address, address_of, is_this_machine

DEFAULT_PULL_PORT = 8702
_MOST_NAME = 40
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Fault(Exception):
    """A value that cannot be used; the text says why and what to do."""


def text_of(value: object) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise Fault("must be text; correct it")
    return value


def name_of(value: object) -> str:
    """The name of a feed."""
    name = text_of(value)
    if len(name) > _MOST_NAME or not _NAME.issuperset(name):
        raise Fault(f"must be 1 to {_MOST_NAME} of A-Z, a-z, 0-9, - and _; rename it")
    return name


def flag_of(value: object) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise Fault("must be true or false; correct it")
    return value


def one_of(value: object, known: tuple[str, ...]) -> str:
    """One of some words."""
    word = text_of(value)
    if word not in known:
        raise Fault(f"{word} is not known; {did_you_mean(word, known)}")
    return word


def names_of(value: object) -> frozenset[str]:
    """Names of units or tables."""
    if not isinstance(value, list) or not value or not all(isinstance(n, str) for n in value):
        raise Fault('must be a list of names, as ["SHOE-7"]; correct it')
    return frozenset(value)


def what_of(value: object) -> frozenset[str]:
    """What a feed has."""
    return frozenset(one_of(name, WHAT) for name in sorted(names_of(value)))


def since_of(value: object) -> int:
    """A time, as UTC milliseconds."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise Fault("must be a time with its offset, as 2026-11-21T20:00:00Z; correct it")
    if value > datetime.now(UTC):
        raise Fault("lies in the future; name a time that has come")
    return int(value.astimezone(UTC).timestamp() * 1000)


def listen_of(value: object) -> Address:
    """Where to listen."""
    try:
        return address_of(text_of(value), DEFAULT_PULL_PORT)
    except ValueError as error:
        raise Fault(f"{error}; correct it") from None


def prefix_of(value: object, separator: str) -> str:
    """What subjects or topics begin with."""
    prefix = text_of(value)
    if not all(part and _NAME.issuperset(part) for part in prefix.split(separator)):
        raise Fault(f"must be words of A-Z, a-z, 0-9, - and _ with {separator} between them")
    return prefix


def address_with(value: object, schemes: tuple[str, ...]) -> str:
    """An address with one of two schemes: the first is with TLS, the second without, and only for
    this machine."""
    address = text_of(value)
    try:
        parts = urlsplit(address)
        port_is_good = parts.port != 0
    except ValueError as error:
        raise Fault(f"is not an address ({error}); correct it") from None
    if parts.username is not None or parts.password is not None:
        raise Fault("has a user or password in it; leave them out")
    if not schemes:
        return address
    if parts.scheme not in schemes or not parts.hostname or not port_is_good or parts.fragment:
        raise Fault(f"must begin with {schemes[0]}:// and name a host; correct it")
    if not address.isascii() or not address.isprintable() or " " in address:
        raise Fault("has characters that an address cannot have; write them as %XX")
    if parts.scheme == schemes[1] and not is_this_machine(parts.hostname):
        raise Fault(
            f"{schemes[1]}:// to another machine lets everyone on the way read along; "
            f"use {schemes[0]}://"
        )
    if schemes[0] != "https" and not _is_bare(parts):
        raise Fault("has a path; leave it out")
    return address


def _is_bare(parts: SplitResult) -> bool:
    return parts.path in ("", "/") and not parts.query
