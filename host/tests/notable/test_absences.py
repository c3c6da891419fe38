"""When a shoe was not logged, and why, from spans in seconds."""

import pytest

from sabot.log.presence import Span
from sabot.notable.absences import absences_of

Found = list[tuple[str, float, float, bool]]


def found(*spans: tuple[str, float, float], replaced_s: float | None = None) -> Found:
    """Kind, begin, length in seconds, and whether it stands."""
    given = [Span("U1", round(1000 * a), round(1000 * b), state) for state, a, b in spans]
    replaced_ms = None if replaced_s is None else round(1000 * replaced_s)
    incidents = absences_of("U1", given, replaced_ms)
    assert all(each.unit == "U1" and each.event is None for each in incidents)
    return [
        (each.kind, (each.unix_ms or 0) / 1000, (each.lasted_ms or 0) / 1000, each.stands)
        for each in incidents
    ]


A, W = "attached", "waiting"


@pytest.mark.parametrize(
    ("spans", "wanted"),
    [
        ([], []),
        ([(W, 0, 100)], []),  # it was never there
        ([(W, 0, 10), (A, 10, 100)], []),
        ([(A, 0, 100)], []),
        ([(A, 0, 10), (W, 10, 60), (A, 60, 90)], [("away", 10, 50, False)]),
        ([(A, 0, 10), (A, 60, 90)], [("not_logged", 10, 50, False)]),
        ([(A, 0, 10), (A, 12.9, 90)], []),
        ([(A, 0, 10), (W, 10, 30)], [("away", 10, 20, True)]),
        # Unplugged, then the log ended; started again before the shoe was back.
        (
            [(A, 0, 10), (W, 10, 20), (W, 50, 70), (A, 70, 90)],
            [("away", 10, 10, False), ("not_logged", 20, 30, False), ("away", 50, 20, False)],
        ),
        # The same, not back yet; the log was away for a moment.
        ([(A, 0, 10), (W, 10, 20), (W, 21, 70)], [("away", 10, 60, True)]),
        (
            [(A, 0, 10), (W, 20, 30), (W, 50, 70)],
            [
                ("not_logged", 10, 10, False),
                ("away", 20, 10, False),
                ("not_logged", 30, 20, False),
                ("away", 50, 20, True),
            ],
        ),
        # Plugged in elsewhere: its old port still waits for it.
        ([(A, 0, 10), (W, 10, 500), (A, 40, 600)], [("away", 10, 30, False)]),
        # Two logs at the same time, and a clock that was set back.
        ([(A, 0, 100), (A, 50, 60), (A, 90, 200)], []),
    ],
)
def test_what_is_between_sessions(spans: list[tuple[str, float, float]], wanted: Found) -> None:
    assert found(*spans) == wanted
    assert found(*reversed(spans)) == wanted


def test_no_log_waits_for_a_board_that_was_replaced() -> None:
    spans = (A, 0, 10), (W, 10, 60)
    assert found(*spans) == [("away", 10, 50, True)]
    assert found(*spans, replaced_s=40) == [("away", 10, 30, False)]
    assert found(*spans, replaced_s=90) == [("away", 10, 50, False)]
    assert found((A, 0, 50), replaced_s=40) == []
