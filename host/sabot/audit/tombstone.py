"""Tombstones: what a log has instead of records that were removed by retention.

A tombstone is sealed (signing.py). It keeps the audit chain whole: `before` is the MAC of the event
before the first removed record; `after` is the MAC of the last removed one, from which the next
record continues. `sha256` identifies the removed records, in case a copy of them exists.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.keys.signing import PUBLIC_SIZE, NotSealed, PrivateKey, fingerprint, open_sealed, seal
from sabot.text import counted
from sabot_protocol.events import MAC_SIZE

FORMAT = "sabot-tombstone"
VERSION = 1

_SHA256_SIZE = 32
_LARGEST = (1 << 63) - 1


class TombstoneUnusable(ValueError):
    """The bytes are not a tombstone, or were changed since it was signed."""


@dataclass(frozen=True, slots=True)
class RemovedShoe:
    """A shoe of cards that was removed: its number, its rounds and all its events."""

    shoe: int
    rounds: int
    events: int


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """A record that is kept because it describes the records after it. `before` is the MAC of the
    event before it: empty for event 1, or if it is not known."""

    number: int
    before: bytes
    record: bytes
    mac: bytes

    def as_list(self) -> list[object]:
        """The record as it is written in a sealed document."""
        return [self.number, self.before, self.record, self.mac]

    @staticmethod
    def fits(value: object) -> bool:
        """Whether `value` has the form that `as_list` returns."""
        kinds = [int, bytes, bytes, bytes]
        return type(value) is list and [type(part) for part in value] == kinds and value[0] >= 1


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Events `first` to `last` of `unit` were removed. `before` is empty if `first` is 1."""

    unit: str
    first: int
    last: int
    shoes: Sequence[RemovedShoe]
    before: bytes
    after: bytes
    sha256: bytes
    """Hash over record and MAC of each removed event, in order."""
    removed_unix_ms: int
    keep_days: int
    context: Sequence[ContextRecord]
    """The last start, game and clock among the removed records: they are needed to judge those that
    follow. Also the last table and calibration."""
    public_key: bytes
    """Public key of the person who removed them, 32 raw bytes."""

    def removed_text(self) -> str:
        """What was removed and which key signed for it, for people."""
        removed = self.last - self.first + 1
        shoes = ", ".join(str(each.shoe) for each in self.shoes)
        return (
            f"{counted(removed, 'event')}, to {self.last}, kept {counted(self.keep_days, 'day')}, "
            f"signed by {fingerprint(self.public_key)}; shoes of cards: {shoes}"
        )

    @classmethod
    def parse(cls, data: bytes) -> "Tombstone":
        """The tombstone in these bytes. Its signature is checked with the key in it.

        Raises TombstoneUnusable.
        """
        try:
            sealed = open_sealed(data)
        except NotSealed as error:
            raise TombstoneUnusable(f"not a tombstone: {error}") from None
        document = sealed.document
        if document.get("format") != FORMAT:
            raise TombstoneUnusable("not a tombstone, but another document")
        if not sealed.signed:
            raise TombstoneUnusable("a tombstone that was changed since it was signed")
        if document.get("version") != VERSION:
            version = document.get("version")
            raise TombstoneUnusable(
                f"a tombstone of version {version!r}, this sabot reads {VERSION}"
            )
        if not _fits(document):
            raise TombstoneUnusable("a tombstone with the wrong fields")
        fields = {name: document[name] for name in _FIELDS if name not in ("format", "version")}
        fields["shoes"] = tuple(RemovedShoe(*shoe) for shoe in document["shoes"])
        fields["context"] = tuple(ContextRecord(*each) for each in document["context"])
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
    context: Sequence[ContextRecord],
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
        1 <= first <= last < _LARGEST
        and 0 <= document["removed_unix_ms"] <= _LARGEST
        and 0 <= document["keep_days"] <= _LARGEST
        and sizes == [before_size, MAC_SIZE, _SHA256_SIZE, PUBLIC_SIZE]
        and all(
            type(shoe) is list
            and [type(part) for part in shoe] == [int, int, int]
            and 1 <= shoe[0] < 1 << 64
            and min(shoe) >= 0
            for shoe in document["shoes"]
        )
        and bool(document["shoes"])
        and all(map(ContextRecord.fits, document["context"]))
    )


def usable_tombstones(
    unit: str, tombstones: Iterable[bytes], max_events: int
) -> tuple[list[Tombstone], list[str]]:
    """The usable tombstones of a unit, by number, and what is wrong with the others. A tombstone of
    more than `max_events` events is not usable."""
    good: list[Tombstone] = []
    wrong: list[str] = []
    for data in tombstones:
        try:
            tombstone = Tombstone.parse(data)
        except (TombstoneUnusable, TypeError) as error:
            wrong.append(str(error))
            continue
        if tombstone.unit != unit:
            wrong.append(f"a tombstone of another unit, {tombstone.unit}")
        elif tombstone.last - tombstone.first > max_events:
            wrong.append("a tombstone of more events than a shoe can deal")
        else:
            good.append(tombstone)
    return sorted(good, key=lambda each: each.first), wrong
