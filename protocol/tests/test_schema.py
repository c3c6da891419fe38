"""The fields of a shape: those that every version has, and those that came later."""

from sabot_protocol import messages
from sabot_protocol.schema import SchemaError, Shape


def test_a_release_knows_how_many_fields_version_10_had() -> None:
    grown = {shape.number: shape.least for shape in messages.TO_HOST if shape.least is not None}
    assert grown == messages.GROWN, "messages.GROWN is for boards, which have no fields"


def test_without_a_stroke_every_version_has_all_fields() -> None:
    shape = Shape(1, "lid", "open:flag by:uint?")
    assert shape.fields == (("open", "flag"), ("by", "uint?"))
    assert shape.least is None


def test_fields_after_the_stroke_came_later_and_are_fields_like_the_others() -> None:
    shape = Shape(1, "lid", "open:flag by:uint? | angle:uint slow:flag")
    assert shape.least == 2
    assert [name for name, _ in shape.fields] == ["open", "by", "angle", "slow"]
    shape.check([True, None, 3, False])
    try:
        shape.check([True, None])
    except SchemaError:
        return
    raise AssertionError("a sender of this version leaves no field out")


def test_a_shape_may_get_its_first_fields_later() -> None:
    shape = Shape(1, "identified", "| by:uint")
    assert shape.least == 0
    assert shape.fields == (("by", "uint"),)
