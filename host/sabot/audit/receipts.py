"""A log against the receipts of a centre: those that it has itself, and with `verify --receipts`
those from files and from other logs.

Without a notary's public key a log is still compared with its own receipts. Whose word they are is
not known then, but what they say must fit.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sabot.audit.checks.findings import Finding, FoundInUnit, Note
from sabot.audit.checks.receipt_checks import CENTRE, SITE, Said, compare
from sabot.files import open_to_read
from sabot.keys.signing import fingerprint
from sabot.log.place import Address, Place
from sabot.log.store import Store, open_store
from sabot.receipts import of_log, statement
from sabot.receipts.receipt import Receipt, ReceiptUnusable
from sabot.receipts.statement import SiteCheckpoint
from sabot.text import counted, local_time

_LOG_MAGIC = b"SQLite format 3\0"
_MOST_UNITS = 5  # that a note names


@dataclass(slots=True)
class _Source:
    """Where receipts came from; what it has of each unit."""

    name: str
    said: dict[str, list[Said]] = field(default_factory=lambda: defaultdict(list))
    receipts: dict[str, dict[bytes, Said]] = field(default_factory=lambda: defaultdict(dict))
    """By unit and hash."""
    units: set[str] = field(default_factory=set)
    """The units that it has, or speaks of."""


def check(
    place: Place, others: Sequence[Place], notaries: Sequence[bytes], operator: bytes | None
) -> tuple[list[Finding], list[Note]]:
    """Compare the log at `place` with its own receipts and those of `others`, which are files of
    receipts or logs, and these logs too. `notaries` are the public keys that may have signed.

    Raises ReceiptsUnusable, DatabaseUnusable.
    """
    findings: list[Finding] = []
    notes: list[Note] = []
    with ExitStack() as opened:
        own = opened.enter_context(open_store(place))
        logs = [opened.enter_context(open_store(each)) for each in others if _is_log(each)]
        files = [each for each in others if isinstance(each, Path) and not _is_log(each)]
        sources = [_of_log(each, notaries, findings) for each in (own, *logs)]
        sources += [_of_file(each, notaries, findings) for each in files]
        for store in (own, *logs):
            found, of_store = _compare(store, sources, operator)
            findings += found
            notes += of_store
        findings += _other_seams([own, *logs])
    for other in sources[1:]:
        notes += _only_at(sources[0], other)
        notes += _only_at(other, sources[0])
    return findings, notes


def own_of_unit(
    store: Store, unit: str, operator: bytes | None
) -> tuple[list[Finding], list[Note]]:
    """Compare one unit of a log with the receipts that the log has of it, by any signer."""
    findings: list[Finding] = []
    notes: list[Note] = []
    source = _Source("the log")
    for number, data in store.receipts(unit):
        _take(source, data, None, findings, unit, number)
    if said := source.said.get(unit):
        found = FoundInUnit(unit)
        side = CENTRE if _is_centre(store) else SITE
        compare(store, unit, said, side, operator, found, notes)
        findings += found.in_order()
    return findings, notes


def not_vouched(store: Store) -> Iterator[Note]:
    """Note who signed the receipts that a log has, which was not checked."""
    units, signers = 0, set[str]()
    for unit in store.units():
        kept_last = store.last_receipt(unit)
        if kept_last is not None:
            with suppress(ReceiptUnusable):
                signers.add(fingerprint(Receipt.parse(kept_last[1]).public_key))
                units += 1
    if units:
        detail = (
            f"the receipts of {counted(units, 'unit')} were compared with the log; that "
            f"{' and '.join(sorted(signers))} may sign was not checked: name the notary's key with "
            "--notary"
        )
        yield Note("", 0, "receipts", detail)


def _compare(
    store: Store, sources: Sequence[_Source], operator: bytes | None
) -> tuple[list[Finding], list[Note]]:
    """Compare one log with all that was said."""
    side = CENTRE if _is_centre(store) else SITE
    here, foreign = set(store.units()), []
    last_site = _last_sites(sources)
    own_sites = {last_site[unit] for unit in here if unit in last_site}
    findings: list[Finding] = []
    notes: list[Note] = []
    for unit in sorted({unit for source in sources for unit in source.said}):
        if unit not in here and side == SITE and last_site.get(unit) not in own_sites:
            foreign.append(unit)  # another site has it
            continue
        found = FoundInUnit(unit)
        said = list({each for source in sources for each in source.said.get(unit, ())})
        compare(store, unit, said, side, operator, found, notes)
        findings += found.in_order()
    if foreign:
        more = f" and {len(foreign) - _MOST_UNITS} more" if len(foreign) > _MOST_UNITS else ""
        detail = f"{store.place} does not have {', '.join(foreign[:_MOST_UNITS])}{more}"
        notes.append(Note("", 0, "other_units", f"{detail}, of which there are receipts"))
    return findings, notes


def _other_seams(stores: Sequence[Store]) -> Iterator[Finding]:
    """Yield where a log has another seam of a board than the first one."""
    first, *others = stores
    own = {row.name: row.seam for row in first.seam_rows()}
    for other in others:
        for row in other.seam_rows():
            if own.get(row.name, row.seam) != row.seam:
                detail = f"{other.place} has another seam of this board than {first.place}"
                yield Finding(row.name, 0, "seam", detail)


def _last_sites(sources: Sequence[_Source]) -> dict[str, str]:
    """By unit the site that spoke of it last."""
    latest: dict[str, Said] = {}
    for source in sources:
        for unit, said in source.said.items():
            for each in said:
                if each.site and (unit not in latest or each.unix_ms > latest[unit].unix_ms):
                    latest[unit] = each
    return {unit: each.site for unit, each in latest.items()}


def _of_log(store: Store, notaries: Sequence[bytes], findings: list[Finding]) -> _Source:
    source = _Source(str(store.place), units=set(store.units()))
    for unit in source.units:
        for number, data in store.receipts(unit):
            _take(source, data, notaries, findings, unit, number)
        for checkpoint in of_log.checkpoints(store, unit):
            _take_checkpoint(source, checkpoint)
    return source


def _of_file(path: Path, notaries: Sequence[bytes], findings: list[Finding]) -> _Source:
    source = _Source(str(path))
    for each in statement.read(path):
        if isinstance(each, SiteCheckpoint):
            _take_checkpoint(source, each)
        else:
            _take(source, each, notaries, findings)
    source.units = set(source.said)
    return source


def _take_checkpoint(source: _Source, each: SiteCheckpoint) -> None:
    said = Said(each.number, each.mac, each.records, each.unix_ms, each.site)
    source.said[each.unit].append(said)


def _take(
    source: _Source,
    data: bytes,
    notaries: Sequence[bytes] | None,
    findings: list[Finding],
    unit: str = "",
    number: int = 0,
) -> None:
    """Take a receipt, which a log has for event `number` of `unit`, if a notary has signed it, or
    anyone has if `notaries` are not known."""
    try:
        receipt = Receipt.parse(data)
    except ReceiptUnusable as error:
        of = error.unit or unit, error.number or number
        findings.append(Finding(*of, "receipt_forged", f"in {source.name}: {error}"))
        return
    of = receipt.unit, receipt.number
    if notaries is not None and receipt.public_key not in notaries:
        signer = f"signed by {fingerprint(receipt.public_key)}, not by the notary"
        findings.append(Finding(*of, "receipt_forged", f"in {source.name}: {signer}"))
        return
    if number and of != (unit, number):
        detail = f"in {source.name} as one of event {number} of {unit}"
        findings.append(Finding(*of, "receipt_forged", detail))
        return
    said = Said(receipt.number, receipt.mac, receipt.records, receipt.unix_ms)
    source.said[receipt.unit].append(said)
    source.receipts[receipt.unit][hashlib.sha256(data).digest()[:8]] = said


def _only_at(one: _Source, other: _Source) -> Iterator[Note]:
    """Name the receipts that one has and the other does not, by unit."""
    for unit, receipts in sorted(one.receipts.items()):
        if unit not in other.units:
            continue
        there = other.receipts.get(unit, {})
        only = [said for key, said in receipts.items() if key not in there]
        if only:
            first, last = min(only, key=_number), max(only, key=_number)
            detail = (
                f"{counted(len(only), 'receipt')} up to events {first.number} to {last.number}, "
                f"the last of {local_time(last.unix_ms)}: in {one.name}, not in {other.name}"
            )
            yield Note(unit, first.number, "receipts", detail)


def _number(said: Said) -> int:
    return said.number


def _is_centre(store: Store) -> bool:
    return isinstance(store.place, Address)


def _is_log(place: Place) -> bool:
    if isinstance(place, Address):
        return True
    try:
        with open_to_read(place) as file:
            return file.read(len(_LOG_MAGIC)) == _LOG_MAGIC
    except OSError:  # as a file of receipts, where it is an error
        return False
