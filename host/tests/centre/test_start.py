"""What a site decides when a connection begins: each case that the two sides can be in."""

from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot.audit import tombstone
from sabot.audit.tombstone import RemovedShoe, Tombstone
from sabot.centre.alarms import LONGEST_DETAIL, NOT_REFILLED, OTHER_BYTES, SET_BACK, SITE_LACKS
from sabot.centre.start import Head, Own, start
from sabot.keys.signing import fingerprint, public_of
from sabot.receipts.receipt import NUMBERS, Receipt, make

_KEY = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_MAC, _OTHER = bytes(16), bytes([1] * 16)
_NOTHING = Own(0, None, None, pruned=False, older=False, stones=[], receipt=None)
_WHOLE = replace(_NOTHING, newest=100, record=b"record", mac=_MAC, older=True)
"""A log that has the centre's newest event and all others."""


def head(number: int = 50, records: int | None = None, **more: Any) -> Head:
    return Head(number, _MAC, number if records is None else records, **more)


def stone(first: int, last: int) -> Tombstone:
    made = tombstone.make(
        _KEY,
        unit="U1",
        first=first,
        last=last,
        shoes=[RemovedShoe(1, 3, last - first + 1)],
        before=b"" if first == 1 else _OTHER,
        after=_MAC,
        sha256=bytes(32),
        removed_unix_ms=1_795_000_000_000,
        keep_days=30,
        context=(),
    )
    return Tombstone.parse(made)


def receipt(number: int) -> Receipt:
    made = make(
        _KEY, unit="U1", number=number, mac=_MAC, records=number, unix_ms=5, checked=NUMBERS
    )
    return Receipt.parse(made)


def kinds(own: Own, of: Head) -> list[tuple[int, str]]:
    """The alarms of a start; their details are short enough for the centre."""
    begun = start("U1", own, of)
    assert all(len(each.detail) <= LONGEST_DETAIL for each in begun.alarms)
    return [(each.number, each.kind) for each in begun.alarms]


@pytest.mark.parametrize(
    ("own", "of"),
    [
        (_WHOLE, head()),
        (replace(_NOTHING, newest=100), Head()),  # the centre has nothing
        (replace(_NOTHING, newest=100), head()),  # the shoe came from another site
        (replace(_WHOLE, record=None, pruned=True), head()),  # a tombstone ends there
        (replace(_WHOLE, record=None, mac=None, pruned=True), head()),  # or covers it
        (replace(_WHOLE, receipt=receipt(50)), head()),
    ],
)
def test_nothing_is_wrong_and_all_after_the_head_is_sent(own: Own, of: Head) -> None:
    begun = start("U1", own, of)
    assert (begun.alarms, begun.stones, begun.differs, begun.set_back) == ([], [], False, False)


def test_another_mac_at_the_head_is_an_alarm_with_the_sites_record_and_nothing_is_sent() -> None:
    begun = start("U1", replace(_WHOLE, mac=_OTHER), head())
    (alarm,) = begun.alarms
    assert begun.differs
    assert (alarm.kind, alarm.number, alarm.record, alarm.mac) == (
        OTHER_BYTES, 50, b"record", _OTHER,
    )  # fmt: skip


def test_a_centre_that_lost_what_it_signed_for_is_an_alarm() -> None:
    begun = start("U1", replace(_WHOLE, receipt=receipt(80)), head())
    assert begun.set_back and not begun.differs
    assert kinds(replace(_WHOLE, receipt=receipt(80)), head()) == [(80, SET_BACK)]
    assert kinds(replace(_NOTHING, newest=100, receipt=receipt(80)), Head()) == [(80, SET_BACK)]


def test_the_same_alarm_is_one_while_the_centre_is_refilled() -> None:
    own = replace(_WHOLE, receipt=receipt(80))
    assert start("U1", own, head(50)).alarms == start("U1", own, head(60)).alarms


def test_what_the_site_has_pruned_and_the_centre_lost_is_named_with_its_receipt() -> None:
    stones = [stone(1, 60), stone(61, 70)]
    own = replace(_WHOLE, mac=None, record=None, pruned=True, stones=stones, receipt=receipt(80))
    begun = start("U1", own, head())
    assert [(each.number, each.kind) for each in begun.alarms] == [
        (80, SET_BACK), (51, NOT_REFILLED), (61, NOT_REFILLED),
    ]  # fmt: skip
    _, first, _ = begun.alarms
    assert fingerprint(public_of(_KEY)) in first.detail and "events to 60" in first.detail
    assert "signed for at 1970-01-01T00:00:00.005Z" in first.detail
    assert begun.stones == []


def test_tombstones_are_sent_to_a_centre_that_has_no_record_of_the_unit() -> None:
    stones = [stone(1, 60), stone(61, 70)]
    own = replace(_NOTHING, newest=100, stones=stones)
    assert start("U1", own, Head()).stones == stones and kinds(own, Head()) == []
    has_first = replace(own, pruned=True, mac=_MAC, stones=stones[1:])
    assert start("U1", has_first, head(60, 0)).stones == stones[1:]


def test_a_log_that_ends_before_the_centre_lacks_what_it_has_sent() -> None:
    restored = replace(_NOTHING, newest=40, older=True)
    assert kinds(restored, head()) == [(50, SITE_LACKS)]
    went_on = replace(_NOTHING, newest=90, older=True)
    assert kinds(went_on, head()) == [(50, SITE_LACKS)]


def test_a_shoe_that_another_site_has_now_is_no_alarm() -> None:
    assert kinds(replace(_NOTHING, newest=40, older=True), head(by_another=True)) == []
