"""Frozen objects: like a frozen dataclass with slots of the same fields."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from sabot.link.events import CardEvent, LidEvent, UnknownEvent
from sabot.link.messages import LoadGameCommand, PassReport, Reply

_LID = LidEvent(1, 2, 3, None, 5, 6, True)


@dataclasses.dataclass(frozen=True, slots=True)
class _Event:
    number: int
    boot: int
    t_ms: int
    unix_ms: int | None
    shoe: int
    round: int
    surplus: tuple[object, ...] | None = dataclasses.field(default=(), kw_only=True)
    understood: bool = dataclasses.field(default=True, kw_only=True)


@dataclasses.dataclass(frozen=True, slots=True)
class _Lid(_Event):
    open: bool


_TWIN = _Lid(1, 2, 3, None, 5, 6, True)


def test_it_is_shown_and_has_the_fields_of_its_twin() -> None:
    assert repr(_LID) == repr(_TWIN).replace("_Lid", "LidEvent")
    fields = [(each.name, each.kw_only) for each in dataclasses.fields(_LID)]
    assert fields == [(each.name, each.kw_only) for each in dataclasses.fields(_TWIN)]
    assert dataclasses.asdict(_LID) == dataclasses.asdict(_TWIN)  # type: ignore[call-overload]
    assert hash(_LID) == hash(_TWIN)


def test_values_are_given_in_order_or_by_name() -> None:
    assert Reply(7, "none", "x") == Reply(7, detail="x", refusal="none")
    assert LidEvent(1, 2, 3, None, 5, round=6, open=True) == _LID
    later = LidEvent(1, 2, 3, None, 5, 6, True, surplus=(8,), understood=False)
    assert (later.surplus, later.understood) == ((8,), False)
    assert (_LID.surplus, _LID.understood) == ((), True)
    unknown = UnknownEvent(1, 2, 3, None, 5, 6, kind_number=61, surplus=(8,))
    assert (unknown.kind_number, unknown.surplus, unknown.understood) == (61, (8,), False)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((7, "none"), {}),
        ((7, "none", "", 1), {}),
        ((7, "none", ""), {"other": 1}),
        ((7, "none", ""), {"detail": "x"}),
        ((7, "none"), {"details": "x"}),
    ],
)
def test_other_values_than_those_of_its_fields_are_refused(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="Reply has the fields id, refusal, detail"):
        Reply(*values, **named)


def test_it_is_equal_to_what_has_its_class_and_its_values() -> None:
    same = LidEvent(1, 2, 3, None, 5, 6, True)
    assert same == _LID and hash(same) == hash(_LID)
    for name in LidEvent.NAMES:
        other = dataclasses.replace(_LID, **{name: 99})
        assert other != _LID and getattr(other, name) == 99
    assert LoadGameCommand(1, 2, b"") != PassReport and _LID != (
        1,
        2,
        3,
        None,
        5,
        6,
        (),
        True,
        True,
    )


def test_it_never_changes_and_has_no_other_attributes() -> None:
    for name in ("open", "number", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(_LID, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(_LID, name)
    assert not hasattr(_LID, "__dict__")


def test_a_replaced_value_leaves_the_others_and_the_original() -> None:
    card = CardEvent(1, 2, 3, 4, 5, 6, 7, "burn", 9, 10, 11, 12, False, surplus=None)
    other = dataclasses.replace(card, by_hand=True)
    assert (card.by_hand, other.by_hand, other.card, other.surplus) == (False, True, 7, None)
    with pytest.raises(TypeError):
        dataclasses.replace(card, suit=1)  # type: ignore[call-arg]


def test_it_goes_to_another_process_and_comes_back() -> None:
    report = PassReport(1, 2, 3, "none", 4, 5, 6, 7, 8, 9, 10, True)
    for one in (_LID, report):
        assert pickle.loads(pickle.dumps(one)) == one
        assert copy.copy(one) == one and copy.deepcopy(one) == one
