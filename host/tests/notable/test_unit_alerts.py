"""The alerts of one unit as its events come."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from host.tests.support.helpers import event_bytes
from sabot.audit.checks.decoding import values_of
from sabot.desk.alerts import Alert
from sabot.log.reveal import NONE_KEPT
from sabot.notable import unit_alerts
from sabot.notable.kinds import KINDS, Severity
from sabot.notable.unit_alerts import AlertLimits, UnitAlerts

_NOW = 1_795_000_000_000
_LARGEST = (1 << 63) - 1


def _raised(records: Iterable[bytes], waited_ms: int = 0) -> list[Alert]:
    alerts = UnitAlerts("U1", NONE_KEPT, AlertLimits())
    for values in values_of([*records]):
        assert values is not None
        alerts.add(values)
    return alerts.new(_NOW, waited_ms)


def test_an_alert_is_named_after_its_unit_kind_and_event() -> None:
    (alert,) = _raised([event_bytes("service", 7, on=True, shoe=3, round=4, unix_ms=5)])
    assert alert == Alert("U1/service/7", "U1", "service", 7, 3, 4, 5, "service switch on")
    (alert,) = _raised([event_bytes("service", 7, on=True, shoe=3, round=4)])
    assert alert.unix_ms == _NOW, "the unit has no clock"


def test_an_alert_has_no_number_that_the_desk_cannot_note() -> None:
    huge = (1 << 64) - 1
    (alert,) = _raised([event_bytes("service", 7, on=True, shoe=huge, round=huge, unix_ms=huge)])
    assert (alert.shoe, alert.round, alert.unix_ms) == (_LARGEST, _LARGEST, _LARGEST)


def test_a_note_raises_no_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [event_bytes("service", 1, on=True), event_bytes("debug_opened", 2)]
    assert [each.kind for each in _raised(records)] == ["service", "debug"]
    noted = replace(KINDS["service"], severity=Severity.NOTE)
    monkeypatch.setattr(unit_alerts, "KINDS", {**KINDS, "service": noted})
    assert [each.kind for each in _raised(records)] == ["debug"]


def test_an_alert_of_the_pace_says_what_was_measured() -> None:
    kinds = ("betting_open", "betting_closed", "result")
    records = [
        event_bytes(kinds[at % 3], at + 1, t_ms=1000 * (200 * (at // 3) + 90 * (at % 3)))
        for at in range(30)
    ]
    (alert,) = [each for each in _raised(records) if each.kind == "slow"]
    assert alert.detail == "5 rounds in 16 min 20 s, fewer than 20 an hour"
