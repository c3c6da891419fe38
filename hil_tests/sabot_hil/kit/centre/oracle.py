"""Whether a centre holds what its sites' shoes recorded: nothing lost, nothing doubled, every
receipt true, nothing in the wrong unit.

The truth is what the units were made to record (`chained.py`). Each function returns sentences that
name what is wrong; none is right.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from sabot_hil.kit.centre.chained import Chained
from sabot_hil.kit.centre.copies import CentreCopy, SiteCopy, Stored
from sabot_hil.kit.centre.receipt_file import NotAReceipt, Receipt, read_receipt

_MOST_SHOWN = 5


class Truth:
    """What each unit has recorded and a host has got."""

    def __init__(self, units: Mapping[str, Sequence[Chained]]) -> None:
        self._units = {
            unit: {each.number: Stored(each.record, each.mac) for each in events}
            for unit, events in units.items()
        }
        self._numbers = {unit: [each.number for each in events] for unit, events in units.items()}

    @property
    def units(self) -> Iterable[str]:
        """All units."""
        return self._units

    def records(self, unit: str) -> Mapping[int, Stored]:
        """The records of a unit, by number."""
        return self._units.get(unit, {})

    def count(self, unit: str, number: int) -> int:
        """How many records a unit has up to a number."""
        return bisect_right(self._numbers.get(unit, []), number)

    def newest(self, unit: str) -> int:
        """The number of the newest record of a unit; 0 if it has none."""
        numbers = self._numbers.get(unit)
        return numbers[-1] if numbers else 0

    def missing(self, unit: str) -> set[int]:
        """The numbers up to the newest that no host ever got."""
        return set(range(1, self.newest(unit) + 1)) - set(self._units.get(unit, {}))


def site_findings(truth: Truth, site: SiteCopy, units: Iterable[str]) -> list[str]:
    """What is wrong with the log of the site that has these units."""
    found = _differences(truth, site.records, units, "the site")
    strangers = {unit for unit, records in site.records.items() if records} - set(units)
    return [*found, *(f"the site has records of {unit}" for unit in sorted(strangers))]


def centre_findings(truth: Truth, centre: CentreCopy) -> list[str]:
    """What is wrong with the records of a centre, and with what it says of them."""
    found = _differences(truth, centre.records, truth.units, "the centre")
    found += [f"{unit} event {n} is doubled at the centre" for unit, n in centre.doubled]
    strangers = {unit for unit, records in centre.records.items() if records} - set(truth.units)
    found += [f"the centre has records of {unit}, which no site has" for unit in sorted(strangers)]
    for unit in truth.units:
        if not (newest := truth.newest(unit)):
            continue
        count = truth.count(unit, newest)
        should = newest, truth.records(unit)[newest].mac, count
        if (head := centre.heads.get(unit)) != should:
            found.append(f"{unit}: the centre's head is {head}, it should be {should}")
        holes = {n for name, a, b in centre.holes if name == unit for n in range(a, b + 1)}
        if unnamed := truth.missing(unit) - holes:
            found.append(f"{unit}: no hole names events {_some(unnamed)}, which it never got")
        if false := holes & set(truth.records(unit)):
            found.append(f"{unit}: a hole names events {_some(false)}, which it has")
    for each in centre.checkpoints:
        stored = truth.records(each.unit).get(each.number)
        records = truth.count(each.unit, each.number)
        if stored is None or (stored.mac, records) != (each.mac, each.records):
            found.append(f"{each.unit}: a site's checkpoint of event {each.number} is wrong")
    return found


def receipt_findings(
    truth: Truth,
    receipts: Iterable[tuple[str, int, bytes]],
    *,
    notary: bytes,
    where: str,
    units: Iterable[str] | None = None,
    between_unix_ms: tuple[int, int] | None = None,
    checked: str | None = None,
) -> list[str]:
    """What is not true of the receipts that are kept `where`.

    `units` are those that may be there, `between_unix_ms` when they can have been signed, `checked`
    what they must say.
    """
    found = []
    for unit, number, data in receipts:
        place = f"{where}: the receipt of {unit} event {number}"
        if units is not None and unit not in units:
            found.append(f"{place} is of another site's unit")
        try:
            receipt = read_receipt(data, notary)
        except NotAReceipt as error:
            found.append(f"{place}: {error}")
            continue
        if (receipt.unit, receipt.number) != (unit, number):
            found.append(f"{place} is of {receipt.unit} event {receipt.number}")
        found += [f"{place}: {what}" for what in _untrue(truth, receipt)]
        if between_unix_ms is not None:
            begin, end = between_unix_ms
            if not begin <= receipt.unix_ms <= end:
                found.append(f"{place} is of a time that cannot be: {receipt.unix_ms}")
        if checked not in (None, receipt.checked):
            found.append(f"{place} says that {receipt.checked} were checked")
    return found


def alarm_findings(
    centre: CentreCopy,
    *,
    required: Iterable[tuple[str, str]] = (),
    allowed: Iterable[tuple[str, str]] = (),
) -> list[str]:
    """What is wrong with a centre's alarms, each by unit and kind: those of `required` must be
    there, and no others than these and those of `allowed`."""
    must = set(required)
    here = {(alarm.unit, alarm.kind) for alarm in centre.alarms}
    lacking = [f"{unit}: there is no alarm {kind}" for unit, kind in sorted(must - here)]
    right = must | set(allowed)
    false = [each for each in centre.alarms if (each.unit, each.kind) not in right]
    shown = [f"{a.unit}: a false alarm {a.kind} at event {a.number}: {a.detail}" for a in false]
    return lacking + shown


def _untrue(truth: Truth, receipt: Receipt) -> list[str]:
    stored = truth.records(receipt.unit).get(receipt.number)
    if stored is None:
        return ["there is no such event"]
    found = []
    if stored.mac != receipt.mac:
        found.append("it has another MAC")
    count = truth.count(receipt.unit, receipt.number)
    if count != receipt.records:
        found.append(f"it says {receipt.records} records, there are {count}")
    return found


def _differences(
    truth: Truth,
    records: Mapping[str, Mapping[int, Stored]],
    units: Iterable[str],
    where: str,
) -> list[str]:
    found = []
    for unit in units:
        should, here = truth.records(unit), records.get(unit, {})
        if lost := set(should) - set(here):
            found.append(f"{where} lacks {unit} events {_some(lost)}")
        if surplus := set(here) - set(should):
            found.append(f"{where} has {unit} events {_some(surplus)}, which it never recorded")
        other = {number for number in set(should) & set(here) if should[number] != here[number]}
        if other:
            found.append(f"{where} has other bytes of {unit} events {_some(other)}")
    return found


def _some(numbers: Iterable[int]) -> str:
    listed = sorted(numbers)
    more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
    return ", ".join(map(str, listed[:_MOST_SHOWN])) + more
