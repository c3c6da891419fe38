"""The file of a bundle: its fields, writing and reading. bundle.py explains bundles."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabot.audit import chain
from sabot.audit.checks.findings import Finding
from sabot.audit.tombstone import ContextRecord
from sabot.errors import BundleUnusable
from sabot.files import TooLarge, read_bounded, replace_whole
from sabot.keys import signing
from sabot.link.events import Event, ShoeLoadedEvent
from sabot.link.wire import WireError, parse_event
from sabot_protocol.chain import KEY_SIZE
from sabot_protocol.events import MAC_SIZE

FORMAT = "sabot-bundle"
VERSION = 3
_WITHOUT_GAME, _WITHOUT_SEAM = 1, 2
"""Older versions, which are still read: they have no game document, no seam. One of a first board,
which has no seam, is written as version 2, so that an older Sabot reads it."""
MAX_SIZE = 16 << 20
"""Bytes of the largest bundle; a whole shoe of eight decks makes about 75,000."""
MAX_NUMBER = chain.MOST_EVENTS
"""The largest event number in a bundle."""
_NEAR = 1 << 16
"""How many events may be missing before a record that is alone: a shoe holds fewer in memory."""

_MODE = 0o666  # without what the umask withholds
_MARK = b"\x66format\x6csabot-bundle"  # the encoded name of the format, in every bundle
_SQLITE = b"SQLite format 3\0"  # the first bytes of every database


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """What a shoe of cards was dealt with, from its own records and those before them.

    A field is None if no record says it. `checkpoint` is the number of its event, how many records
    came before it, and the MAC of the last of them.
    """

    firmware: str | None
    build: bytes | None
    game: str | None
    game_sha256: bytes | None
    checkpoint: tuple[int, int, bytes] | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a bundle. `records` are (number, record, mac), by number."""

    unit: str
    shoe: int
    chain: bytes
    """Id of the audit chain; empty if no record names it."""
    before: bytes
    """MAC of the event before the first record; empty for event 1, or if it is not known."""
    context: tuple[ContextRecord, ...]
    """The last start, game and clock before the records, if the log still had them."""
    records: tuple[tuple[int, bytes, bytes], ...]
    keys: Mapping[int, bytes]
    """MAC keys by epoch, of all epochs of `records` and `context`; empty if they stay secret."""
    facts: BundleFacts
    game_document: bytes
    """The document of the game that dealt the shoe of cards; empty if the exporter had none."""
    ended: bool
    """Whether the shoe of cards had ended."""
    findings: tuple[Finding, ...]
    """What the exporter found wrong with these records."""
    exported_unix_ms: int
    seam: bytes = b""
    """The seam of the board, if it has taken the place of another; else empty."""

    @property
    def first(self) -> int:
        """Number of the first record."""
        return self.records[0][0]

    @property
    def last(self) -> int:
        """Number of the last record."""
        return self.records[-1][0]

    @property
    def final(self) -> bool:
        """Whether the next shoe of cards begins in its records: until then a misdeal can void the
        last round of this one, although it has ended."""
        return any(
            isinstance(event, ShoeLoadedEvent) and event.shoe > self.shoe for event in self.events()
        )

    def events(self) -> list[Event]:
        """The events in its records, without damaged records."""
        return list(readable_events(record for _, record, _ in self.records))

    def epochs(self) -> list[int]:
        """The epochs of the audit chain that its records belong to."""
        return epochs_of(self.context, self.records)


def epochs_of(
    context: Sequence[ContextRecord], records: Sequence[tuple[int, bytes, bytes]]
) -> list[int]:
    """Return the epochs of the audit chain that these records belong to, ascending; without those
    of numbers that nothing carries: such a number costs its writer nothing, and deriving its key
    much. `records` are by number.

    A number is carried if its record, or one just beside it, says that it has it, and if it is not
    alone far from all others. What is kept of the context has smaller numbers than the records.
    """
    numbers = [number for number, _, _ in records]
    said = {number for number, record, _ in records if _says(record, number)}
    there = set(numbers)
    carried = {
        number
        for before, number in zip([numbers[0], *numbers], numbers, strict=False)
        if not said.isdisjoint((number - 1, number, number + 1))
        and (number - before <= _NEAR or number + 1 in there)
    }
    carried |= {each.number for each in context if each.number < numbers[0] <= MAX_NUMBER}
    return sorted({chain.epoch_of(number) for number in carried})


def _says(record: bytes, number: int) -> bool:
    return any(event.number == number for event in readable_events((record,)))


def readable_events(records: Iterable[bytes]) -> Iterator[Event]:
    """The events in records, without damaged records, which `UnitChecks` reports."""
    for record in records:
        with suppress(WireError):
            yield parse_event(record)


def save(path: Path, bundle: Bundle, private: signing.PrivateKey) -> int:
    """Sign a bundle and write it, completely or not at all. Return its size in bytes.

    Raises BundleUnusable if it is larger than MAX_SIZE or cannot be written.
    """
    data = signed(bundle, private)
    write_whole(path, data)
    return len(data)


def signed(bundle: Bundle, private: signing.PrivateKey) -> bytes:
    """The file of a bundle. Raises BundleUnusable if it is larger than MAX_SIZE, or has what no
    bundle can have, such as a MAC of another length out of an altered log."""
    data = signing.seal(private, _document(bundle))
    if len(data) > MAX_SIZE:
        raise BundleUnusable(
            f"{bundle.unit} shoe {bundle.shoe}: not exported: it makes {len(data):,} bytes, a "
            f"bundle may have at most {MAX_SIZE:,}"
        )
    try:
        parse(data, Path("the bundle"))
    except BundleUnusable:
        raise BundleUnusable(
            f"{bundle.unit} shoe {bundle.shoe}: not exported: its records are not those of a shoe; "
            "`sabot verify` reports what is wrong with them"
        ) from None
    return data


def check_replaceable(path: Path, unit: str, shoe: int) -> None:
    """Raise BundleUnusable if `path` exists and is not a bundle of this shoe of cards of `unit`."""
    if not path.exists():
        return
    with suppress(BundleUnusable):
        there, _ = read(path)
        if (there.unit, there.shoe) == (unit, shoe):
            return
    raise BundleUnusable(
        f"{path}: exists, and is not a bundle of {unit} shoe {shoe}; name another file with -o"
    )


def write_whole(path: Path, data: bytes) -> None:
    """Write a file completely, or leave it as it was. Raises BundleUnusable if that fails."""
    try:
        replace_whole(path, data, _MODE)
    except OSError as error:
        raise BundleUnusable(
            f"{path}: cannot be written ({error.strerror}); name another file with -o"
        ) from None


def read(path: Path) -> tuple[Bundle, bytes]:
    """The bundle in a file, and the public key that signed it (32 raw bytes).

    The signature is checked, but not who owns the key. Raises BundleUnusable if the file cannot be
    read, is too large, is not a bundle, is damaged or cut off, or has another version.
    """
    try:
        data = read_bounded(path, MAX_SIZE)
    except TooLarge:
        raise BundleUnusable(
            f"{path}: over {MAX_SIZE:,} bytes, too large for a bundle; is it another file?"
        ) from None
    except OSError as error:
        raise BundleUnusable(f"{path}: cannot be read ({error.strerror}); check the name") from None
    return parse(data, path)


def parse(data: bytes, path: Path) -> tuple[Bundle, bytes]:
    """As `read`, from a file's bytes; `path` is for the error messages."""
    try:
        sealed = signing.open_sealed(data)
    except signing.NotSealed as error:
        if _MARK in data:
            raise BundleUnusable(
                f"{path}: damaged or cut off ({error}); have it copied or exported again"
            ) from None
        if data.startswith(_SQLITE):
            raise BundleUnusable(
                f"{path}: a database, not a bundle; of a log: sabot verify --db {path}"
            ) from None
        raise BundleUnusable(f"{path}: not a Sabot bundle; `sabot export` makes one") from None
    document = sealed.document
    if document.get("format") != FORMAT:
        raise BundleUnusable(f"{path}: not a Sabot bundle; `sabot export` makes one")
    if not sealed.signed:
        raise BundleUnusable(
            f"{path}: damaged, or changed since it was signed; have it exported again"
        )
    if document.get("version") == _WITHOUT_GAME:
        document = {**document, "game_document": b"", "seam": b""}
    elif document.get("version") == _WITHOUT_SEAM:
        document = {**document, "seam": b""}
    elif document.get("version") != VERSION:
        raise BundleUnusable(
            f"{path}: a bundle of version {document.get('version')!r}, this sabot reads "
            f"{_WITHOUT_GAME} to {VERSION}; update sabot"
        )
    if not _fits(document):
        raise BundleUnusable(
            f"{path}: signed, but its fields are not those of a bundle; have it exported again"
        )
    return _bundle(document), document["public_key"]


def _document(bundle: Bundle) -> dict[str, object]:
    facts = bundle.facts
    version = {"version": VERSION, "seam": bundle.seam}
    return {
        "format": FORMAT,
        **(version if bundle.seam else {"version": _WITHOUT_SEAM}),
        "unit": bundle.unit,
        "shoe": bundle.shoe,
        "chain": bundle.chain,
        "before": bundle.before,
        "context": [each.as_list() for each in bundle.context],
        "records": [list(each) for each in bundle.records],
        "keys": [[epoch, bundle.keys[epoch]] for epoch in sorted(bundle.keys)],
        "firmware": facts.firmware,
        "build": facts.build,
        "game": facts.game,
        "game_sha256": facts.game_sha256,
        "game_document": bundle.game_document,
        "checkpoint": None if facts.checkpoint is None else list(facts.checkpoint),
        "ended": bundle.ended,
        "findings": [[each.event, each.kind, each.detail] for each in bundle.findings],
        "exported_unix_ms": bundle.exported_unix_ms,
    }


def _bundle(document: Mapping[str, Any]) -> Bundle:
    checkpoint = document["checkpoint"]
    return Bundle(
        unit=document["unit"],
        shoe=document["shoe"],
        chain=document["chain"],
        before=document["before"],
        context=tuple(ContextRecord(*each) for each in document["context"]),
        records=tuple((number, record, mac) for number, record, mac in document["records"]),
        keys=dict(document["keys"]),
        facts=BundleFacts(
            document["firmware"],
            document["build"],
            document["game"],
            document["game_sha256"],
            None if checkpoint is None else tuple(checkpoint),
        ),
        game_document=document["game_document"],
        ended=document["ended"],
        findings=tuple(
            Finding(document["unit"], event, kind, detail)
            for event, kind, detail in document["findings"]
        ),
        exported_unix_ms=document["exported_unix_ms"],
        seam=document["seam"],
    )


_OPTIONAL: Any = type(None)
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "format": (str,), "version": (int,), "unit": (str,), "shoe": (int,), "chain": (bytes,),
    "before": (bytes,), "context": (list,), "records": (list,), "keys": (list,),
    "firmware": (str, _OPTIONAL), "build": (bytes, _OPTIONAL), "game": (str, _OPTIONAL),
    "game_sha256": (bytes, _OPTIONAL), "game_document": (bytes,),
    "checkpoint": (list, _OPTIONAL), "ended": (bool,),
    "findings": (list,), "exported_unix_ms": (int,), "seam": (bytes,), "public_key": (bytes,),
}  # fmt: skip


def _fits(document: Mapping[str, Any]) -> bool:
    if document.keys() != _FIELDS.keys():
        return False
    if not all(type(document[name]) in kinds for name, kinds in _FIELDS.items()):
        return False
    checkpoint = document["checkpoint"]
    lists = (
        (document["records"], [int, bytes, bytes]),
        (document["keys"], [int, bytes]),
        (document["findings"], [int, str, str]),
        ([] if checkpoint is None else [checkpoint], [int, int, bytes]),
    )
    if not all(_is_list_of(each, kinds) for values, kinds in lists for each in values):
        return False
    numbers = [number for number, _, _ in document["records"]]
    context = document["context"]
    return (
        all(map(ContextRecord.fits, context))
        and all(each[0] <= MAX_NUMBER for each in context)
        and bool(numbers)
        and numbers == sorted(set(numbers))
        and 1 <= numbers[0] <= numbers[-1] <= MAX_NUMBER
        and len(document["chain"]) in (0, MAC_SIZE)
        and len(document["before"]) in (0, MAC_SIZE)
        and all(epoch >= 0 and len(key) == KEY_SIZE for epoch, key in document["keys"])
        and len({epoch for epoch, _ in document["keys"]}) == len(document["keys"])
    )


def _is_list_of(value: object, kinds: Sequence[type]) -> bool:
    return type(value) is list and [type(part) for part in value] == kinds
