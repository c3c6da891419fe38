"""The answer of a database to records that were sent to it is compared with these."""

import pytest

from sabot.log.place import Address, place_of
from sabot.log.postgres.taking import Head, NotStored, OtherBytes, checked

_MAC, _OTHER = b"m" * 16, b"o" * 16
_SENT = 75
"""The number of the last record that was sent; its MAC is `_MAC`."""


def _checked(answer: object) -> Head:
    place = place_of("postgresql://logger@/house")
    assert isinstance(place, Address)
    return checked(place, "SHOE-7", answer, _SENT, _MAC)


@pytest.mark.parametrize(
    "answer", [(75, _MAC, 75), (75, _MAC, 1), (80, _OTHER, 80)], ids=["all", "some lost", "later"]
)
def test_a_head_at_or_after_the_last_record_is_taken(answer: tuple[int, bytes, int]) -> None:
    assert _checked(answer) == Head(*answer)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        (None, None, None),
        (74, _MAC, 74),
        (75, _MAC, 0),
        (75, None, 75),
        ("75", _MAC, 75),
        (75, _MAC),
    ],
    ids=["nothing", "nulls", "one less", "no records", "no MAC", "no number", "too few"],
)
def test_any_other_answer_acknowledges_nothing(answer: object) -> None:
    with pytest.raises(NotStored, match=r"was sent events of SHOE-7 up to 75.*nothing is acknow"):
        _checked(answer)


def test_another_record_in_place_of_the_last_is_another_history() -> None:
    with pytest.raises(OtherBytes, match=r"event 75 is in .* with other bytes"):
        _checked((75, _OTHER, 75))
