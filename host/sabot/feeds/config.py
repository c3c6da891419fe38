"""What feeds.toml says: which feeds there are, and where missing rounds can be asked for.

It is used whole or not at all: `read` finds every fault of it.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabot.errors import FeedsUnusable, did_you_mean
from sabot.feeds.config_values import (
    DEFAULT_PULL_PORT,
    Fault,
    address_with,
    flag_of,
    listen_of,
    name_of,
    names_of,
    one_of,
    prefix_of,
    since_of,
    text_of,
    what_of,
)
from sabot.feeds.message import HELD_ROUNDS, ROUNDS, WHAT, Message
from sabot.feeds.secret_files import Unusable, read_secret, webhook_secrets
from sabot.files import TooLarge, read_bounded
from sabot.listening import Address, is_this_machine
from sabot.log.boards import unit_of

_MOST_BYTES = 1 << 20
_MOST_FEEDS = 100
_LEAST_TOKEN = 20  # characters


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed."""

    name: str
    kind: str
    """One of KINDS."""
    address: str
    what: frozenset[str]
    """Some of message.WHAT."""
    units: frozenset[str] | None
    """Only these; None for all."""
    tables: frozenset[str] | None
    since_unix_ms: int | None
    """Only what the log received from then on; None for all that is in it."""
    secrets: tuple[bytes, ...] = ()
    """Keys that sign a webhook, each a signature of its own."""
    token: str | None = None
    """With it the receiver may ask for missing rounds."""
    prefix: str = "sabot"
    """What subjects or topics begin with."""
    user: str | None = None
    password: str | None = None
    ca: Path | None = None
    """Certificates to check the receiver's with; None for those of this machine."""
    in_play: bool | None = None
    """Whether rounds come while their shoe of cards is in play; None if the house has not said it
    (in_play.py)."""

    def wants(self, message: Message) -> bool:
        """Whether this feed has this message."""
        return (
            self._wants_what(message.what)
            and self.wants_unit(message.unit)
            and (self.tables is None or message.table in self.tables)
        )

    def _wants_what(self, what: str) -> bool:
        if what == HELD_ROUNDS:
            return ROUNDS in self.what and not self.in_play
        return what in self.what and (what != ROUNDS or bool(self.in_play))

    def wants_unit(self, unit: str) -> bool:
        """Whether this feed has any messages of this board: of a unit that is named, all boards."""
        return self.units is None or bool(self.units & {unit, unit_of(unit)})


@dataclass(frozen=True, slots=True)
class Pull:
    """Where missing rounds can be asked for."""

    listen: Address
    certificate: Path | None
    private_key: Path | None


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    path: Path
    feeds: tuple[Feed, ...]
    pull: Pull | None

    @property
    def outbox(self) -> Path:
        """The outbox, beside the configuration."""
        return self.path.with_suffix(".sqlite")


_OF_ALL = ("name", "kind", "address", "what", "units", "tables", "since", "token", "ca", "in_play")
_OF_KIND: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "webhook": (("https", "http"), ("secret",)),
    "nats": (("tls", "nats"), ("subject", "user", "password")),
    "mqtt": (("mqtts", "mqtt"), ("topic", "user", "password")),
}
"""By kind: the schemes of addresses, with TLS and without, and keys that only this kind has."""

KINDS = tuple(_OF_KIND)


def read(path: Path) -> Config:
    """Read a configuration. Raises FeedsUnusable, which has every fault, each with its feed and
    key."""
    try:
        data = read_bounded(path, _MOST_BYTES)
    except TooLarge:
        raise FeedsUnusable(
            f"{path}: larger than a configuration can be; name the right file"
        ) from None
    except OSError as error:
        raise FeedsUnusable(
            f"{path}: cannot be read ({error.strerror}); docs/feeds.md shows one"
        ) from None
    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise FeedsUnusable(f"{path}: is not TOML ({error}); correct it") from None
    reader = _Reader(path)
    found = reader.config(document)
    if reader.faults:
        raise FeedsUnusable(f"{path}: {'; '.join(reader.faults)}")
    return found


class _Reader:
    """Reads a document and collects its faults."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.faults: list[str] = []
        self._where = ""

    def config(self, document: Mapping[str, Any]) -> Config:
        self._refuse_others(document, ("feed", "pull"))
        tables = document.get("feed", [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            self._fault("feed", "write each feed as [[feed]]")
            tables = []
        elif not tables:
            self._fault("feed", "there is none; add one as [[feed]]")
        if len(tables) > _MOST_FEEDS:
            self._fault("feed", f"there are more than {_MOST_FEEDS}; split them")
        feeds = [self._feed(place, each) for place, each in enumerate(tables, 1)]
        names = [each.name for each in feeds]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.faults.append(f"feed {name}: there are several of this name; rename one")
        pull = self._pull(document.get("pull"))
        self._where = ""
        if pull is None and any(each.token for each in feeds):
            self._fault("pull", "a feed has a token; say [pull] with listen")
        return Config(self._path, tuple(feeds), pull)

    def _feed(self, place: int, table: Mapping[str, Any]) -> Feed:
        self._where = f"feed {place}"
        name = self._value(table, "name", name_of, "")
        self._where = f"feed {name or place}"
        kind = self._value(table, "kind", lambda value: one_of(value, KINDS), "")
        schemes, own = _OF_KIND.get(kind, ((), ()))
        if kind:
            self._refuse_others(table, (*_OF_ALL, *own))
        prefix = "subject" if kind == "nats" else "topic"
        separator = "." if kind == "nats" else "/"
        user = self._value(table, "user", text_of, None)
        password = self._value(table, "password", self._password, None)
        if (user is None) != (password is None):
            self._fault("user", "user and password go together; name both")
        return Feed(
            name,
            kind,
            self._value(table, "address", lambda value: address_with(value, schemes), ""),
            self._value(table, "what", what_of, frozenset(WHAT)),
            self._value(table, "units", names_of, None),
            self._value(table, "tables", names_of, None),
            self._value(table, "since", since_of, None),
            self._value(table, "secret", self._secrets, (), needed=kind == "webhook"),
            self._value(table, "token", self._token, None),
            self._value(table, prefix, lambda value: prefix_of(value, separator), "sabot"),
            user,
            password,
            self._value(table, "ca", self._file, None),
            self._value(table, "in_play", flag_of, None),
        )

    def _pull(self, table: object) -> Pull | None:
        self._where = "pull"
        if table is None:
            return None
        if not isinstance(table, dict):
            self._fault("", "write it as [pull]")
            return None
        self._refuse_others(table, ("listen", "certificate", "private_key"))
        listen = self._value(table, "listen", listen_of, Address("127.0.0.1", DEFAULT_PULL_PORT))
        certificate = self._value(table, "certificate", self._file, None)
        private_key = self._value(table, "private_key", self._file, None)
        if certificate is None and not is_this_machine(listen.host):
            self._fault(
                "listen", f"{listen.host} can be reached by other machines; name a certificate"
            )
        if private_key is not None and certificate is None:
            self._fault("private_key", "is the key of a certificate; name that too")
        return Pull(listen, certificate, private_key)

    def _value(
        self, table: Mapping[str, Any], key: str, read: Callable[[Any], Any], absent: Any,
        *, needed: bool = False,
    ) -> Any:  # fmt: skip
        """The value of a key, read; `absent` without it, and after a fault."""
        if key not in table:
            if needed or key in ("name", "kind", "address", "listen"):
                self._fault(key, "is missing; add it")
            return absent
        try:
            return read(table[key])
        except (Fault, Unusable) as error:
            self._fault(key, str(error))
        return absent

    def _refuse_others(self, table: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in table:
            if key not in known:
                self._fault(key, f"is not known; {did_you_mean(key, known)}")

    def _fault(self, key: str, text: str) -> None:
        where = ", ".join(each for each in (self._where, key) if each)
        self.faults.append(f"{where}: {text}")

    def _file(self, value: object) -> Path:
        path = self._path.parent / text_of(value)
        if not path.is_file():
            raise Fault(f"{path}: no such file; name another one")
        return path

    def _secrets(self, value: object) -> tuple[bytes, ...]:
        return webhook_secrets(self._path.parent / text_of(value))

    def _token(self, value: object) -> str:
        path = self._path.parent / text_of(value)
        token = read_secret(path)
        if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable():
            raise Fault(f"{path}: has fewer than {_LEAST_TOKEN} characters, or not only ASCII")
        return token

    def _password(self, value: object) -> str:
        return read_secret(self._path.parent / text_of(value))
