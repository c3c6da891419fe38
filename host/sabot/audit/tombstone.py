"""Tombstones: what stands in a log in the place of records that were removed by retention.

A tombstone is sealed (signing.py). The audit chain goes on over it: `before` is the MAC that the
first removed record stood behind, `after` that of the last one, which the next record stands
behind. `sha256` says which records they were, should someone still have them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.keys.signing import PUBLIC_SIZE, NotSealed, PrivateKey, fingerprint, open_sealed, seal
from sabot_protocol.events import MAC_SIZE

FORMAT = "sabot-tombstone"
VERSION = 1

_SHA256_SIZE = 32


class NoTombstone(ValueError):
    """Bytes that are no tombstone, or were changed since it was signed."""


@dataclass(frozen=True, slots=True)
class RemovedShoe:
    """A shoe of cards that was removed: its number, its rounds and all its events."""

    shoe: int
    rounds: int
    events: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A record that says what is in force behind it, apart from those around it. `before` is the
    MAC that it stands behind: empty for event 1, and where nobody knows it."""

    number: int
    before: bytes
    record: bytes
    mac: bytes

    def as_list(self) -> list[object]:
        """The record as it stands in a sealed document."""
        return [self.number, self.before, self.record, self.mac]

    @staticmethod
    def fits(value: object) -> bool:
        """Whether `as_list` can have made this."""
        kinds = [int, bytes, bytes, bytes]
        return type(value) is list and [type(part) for part in value] == kinds and value[0] >= 1


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Events `first` to `last` of `unit` were removed. `before` is empty where `first` is 1."""

    unit: str
    first: int
    last: int
    shoes: Sequence[RemovedShoe]
    before: bytes
    after: bytes
    sha256: bytes
    """Over record and MAC of each removed event, in order."""
    removed_unix_ms: int
    keep_days: int
    context: Sequence[Standing]
    """The last start, game and clock among what was removed: what came after stands on them."""
    public_key: bytes
    """Of who removed them, 32 raw bytes."""

    def removed_text(self) -> str:
        """What was removed and who signed for it, for people."""
        removed = self.last - self.first + 1
        shoes = ", ".join(str(each.shoe) for each in self.shoes) or "none whole"
        return (
            f"{removed} events, to {self.last}, kept {self.keep_days} days, "
            f"signed by {fingerprint(self.public_key)}; shoes of cards: {shoes}"
        )

    @classmethod
    def parse(cls, data: bytes) -> "Tombstone":
        """The tombstone in these bytes, signed by its own key. Raises NoTombstone."""
        try:
            sealed = open_sealed(data)
        except NotSealed as error:
            raise NoTombstone(f"no tombstone: {error}") from None
        document = sealed.document
        if document.get("format") != FORMAT:
            raise NoTombstone("no tombstone but another document")
        if not sealed.signed:
            raise NoTombstone("a tombstone that was changed since it was signed")
        if document.get("version") != VERSION:
            version = document.get("version")
            raise NoTombstone(f"a tombstone of version {version!r}, this sabot knows {VERSION}")
        if not _fits(document):
            raise NoTombstone("a tombstone whose fields are not those of one")
        fields = {name: document[name] for name in _FIELDS if name not in ("format", "version")}
        fields["shoes"] = tuple(RemovedShoe(*shoe) for shoe in document["shoes"])
        fields["context"] = tuple(Standing(*each) for each in document["context"])
        return cls(**fields)


def make(
    private: PrivateKey,
    *,
    unit: str,
    first: int,
    last: int,
    shoes: Sequence[RemovedShoe],
    before: bytes,
    after: bytes,
    sha256: bytes,
    removed_unix_ms: int,
    keep_days: int,
    context: Sequence[Standing],
) -> bytes:
    """A tombstone, signed with the operator's key."""
    return seal(
        private,
        {
            "format": FORMAT,
            "version": VERSION,
            "unit": unit,
            "first": first,
            "last": last,
            "shoes": [[each.shoe, each.rounds, each.events] for each in shoes],
            "before": before,
            "after": after,
            "sha256": sha256,
            "removed_unix_ms": removed_unix_ms,
            "keep_days": keep_days,
            "context": [each.as_list() for each in context],
        },
    )


_FIELDS: Mapping[str, type] = {
    "format": str, "version": int, "unit": str, "first": int, "last": int, "shoes": list,
    "before": bytes, "after": bytes, "sha256": bytes, "removed_unix_ms": int, "keep_days": int,
    "context": list, "public_key": bytes,
}  # fmt: skip


def _fits(document: Mapping[str, Any]) -> bool:
    if {name: type(value) for name, value in document.items()} != _FIELDS:
        return False
    first, last = document["first"], document["last"]
    sizes = [len(document[name]) for name in ("before", "after", "sha256", "public_key")]
    before_size = 0 if first == 1 else MAC_SIZE
    return (
        1 <= first <= last
        and sizes == [before_size, MAC_SIZE, _SHA256_SIZE, PUBLIC_SIZE]
        and all(
            type(shoe) is list and [type(part) for part in shoe] == [int, int, int]
            for shoe in document["shoes"]
        )
        and all(map(Standing.fits, document["context"]))
    )


def readable(
    unit: str, tombstones: Iterable[bytes], most_events: int
) -> tuple[list[Tombstone], list[str]]:
    """The tombstones of a unit by number, and what is wrong with those that are of no use, as one
    that stands for more than `most_events` events."""
    good: list[Tombstone] = []
    wrong: list[str] = []
    for data in tombstones:
        try:
            tombstone = Tombstone.parse(data)
        except (NoTombstone, TypeError) as error:
            wrong.append(str(error))
            continue
        if tombstone.unit != unit:
            wrong.append(f"a tombstone of another unit, {tombstone.unit}")
        elif tombstone.last - tombstone.first > most_events:
            wrong.append("a tombstone of more events than a shoe can deal")
        else:
            good.append(tombstone)
    return sorted(good, key=lambda each: each.first), wrong
