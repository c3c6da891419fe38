"""Debouncing: the changes that come out of sampled levels."""

from sabot_firmware.table import inputs
from sabot_protocol import enums

_STEPS = 4
_LID = enums.SWITCHES.index("lid_open")
_KEY = enums.SWITCHES.index("key_on")


def _button(name: str) -> int:
    return 1 << enums.BUTTONS.index(name)


def _switch(number: int) -> int:
    return 1 << len(enums.BUTTONS) + number


def _changes(debouncer: inputs.Debouncer, levels: int, looks: int) -> "list[int]":
    """Sample the same levels `looks` times; return the changes that came out."""
    found = []
    for _ in range(looks):
        debouncer.look(levels)
        change = debouncer.take()
        while change != inputs.NONE:
            found.append(change)
            change = debouncer.take()
    return found


def test_nothing_comes_out_while_nothing_is_touched() -> None:
    assert _changes(inputs.Debouncer(_STEPS), 0, 1000) == []


def test_a_press_comes_out_with_the_look_that_settles_it() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    assert _changes(debouncer, _button("void"), _STEPS - 1) == []
    assert _changes(debouncer, _button("void"), 1) == [inputs.pressed(enums.BUTTONS.index("void"))]


def test_bounce_shorter_than_the_steps_is_ignored() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    for held in range(1, _STEPS):
        assert _changes(debouncer, _button("next"), held) == []
        assert _changes(debouncer, 0, 1) == []


def test_a_bouncing_press_is_one_press_counted_from_its_last_bounce() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    next_button = _button("next")
    for level in (next_button, 0, next_button, next_button, 0):
        assert _changes(debouncer, level, 1) == []
    assert _changes(debouncer, next_button, _STEPS - 1) == []
    assert _changes(debouncer, next_button, 100) == [inputs.pressed(0)]


def test_a_hold_is_one_press_however_long() -> None:
    assert _changes(inputs.Debouncer(_STEPS), _button("burn"), 10000) == [
        inputs.pressed(enums.BUTTONS.index("burn"))
    ]


def test_a_release_is_no_change_and_the_next_press_is() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    press = [inputs.pressed(enums.BUTTONS.index("reveal"))]
    assert _changes(debouncer, _button("reveal"), _STEPS) == press
    assert _changes(debouncer, 0, 100) == []
    assert _changes(debouncer, _button("reveal"), _STEPS) == press


def test_bounce_while_releasing_is_no_second_press() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    next_button = _button("next")
    _changes(debouncer, next_button, _STEPS)
    for level in (0, next_button, 0, 0, next_button, 0, 0, 0, next_button):
        assert _changes(debouncer, level, 1) == []
    assert _changes(debouncer, 0, 100) == []


def test_two_inputs_in_the_same_look_both_come_out() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    levels = _button("void") | _button("burn") | _switch(_KEY)
    assert _changes(debouncer, levels, _STEPS) == [
        inputs.pressed(enums.BUTTONS.index("void")),
        inputs.pressed(enums.BUTTONS.index("burn")),
        inputs.switched(_KEY, True),
    ]


def test_inputs_settle_each_by_itself() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    assert _changes(debouncer, _button("next"), _STEPS - 1) == []
    both = _button("next") | _button("void")
    assert _changes(debouncer, both, 1) == [inputs.pressed(enums.BUTTONS.index("next"))]
    assert _changes(debouncer, both, _STEPS - 1) == [inputs.pressed(enums.BUTTONS.index("void"))]


def test_a_switch_comes_out_going_on_and_going_off() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    assert _changes(debouncer, _switch(_LID), 100) == [inputs.switched(_LID, True)]
    assert _changes(debouncer, 0, 100) == [inputs.switched(_LID, False)]


def test_a_switch_that_is_back_before_it_was_taken_comes_out_as_it_is_now() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    for level in (_switch(_LID), 0):
        for _ in range(_STEPS):
            debouncer.look(level)
    assert debouncer.take() == inputs.switched(_LID, False)
    assert debouncer.take() == inputs.NONE


def test_a_level_at_the_start_is_no_change_but_its_going_off_is() -> None:
    levels = _switch(_LID) | _switch(_KEY)
    debouncer = inputs.Debouncer(_STEPS, levels)
    assert _changes(debouncer, levels, 100) == []
    assert _changes(debouncer, _switch(_KEY), _STEPS - 1) == []
    assert _changes(debouncer, _switch(_KEY), 1) == [inputs.switched(_LID, False)]
    assert _changes(debouncer, 0, _STEPS) == [inputs.switched(_KEY, False)]
    assert _changes(debouncer, _switch(_LID), _STEPS) == [inputs.switched(_LID, True)]


def test_presses_wait_until_they_are_taken() -> None:
    debouncer = inputs.Debouncer(_STEPS)
    for _ in range(_STEPS):
        debouncer.look(_button("next") | _button("burn"))
    for _ in range(100):
        debouncer.look(0)
    assert debouncer.take() == inputs.pressed(enums.BUTTONS.index("next"))
    assert debouncer.take() == inputs.pressed(enums.BUTTONS.index("burn"))
    assert debouncer.take() == inputs.NONE


def test_every_change_has_its_own_number() -> None:
    numbers = [inputs.pressed(i) for i in range(len(enums.BUTTONS))]
    for i in range(len(enums.SWITCHES)):
        numbers += [inputs.switched(i, False), inputs.switched(i, True)]
    assert len(set(numbers)) == len(numbers) and inputs.NONE not in numbers
    for number in numbers[len(enums.BUTTONS) :]:
        switch, on = divmod(number - inputs.BUTTON_COUNT, 2)  # as sabot_firmware/acting.py does
        assert inputs.switched(switch, on == 1) == number
