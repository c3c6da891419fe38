"""Buttons and switches on a fake Pico: which changes the board reports, and when."""

from firmware.tests.fakes.fake_pico import awake, contacts, live, new_board, run
from firmware.tests.fakes.fake_pico import board as pico
from sabot_firmware.table import inputs
from sabot_protocol import enums

_PIN_OF = {part: gpio for gpio, part, _ in pico.PINS}


def test_activity_returns_within_the_time_it_was_given() -> None:
    for within_ms in (8, 2, 1, 0):
        for wait in (False, True):
            board, world = new_board()
            for turns in range(1, 5):
                run(board.wait_for_activity(within_ms, wait))
                assert world.sleeps == [within_ms] * turns
            assert board.take_input() == inputs.NONE


def test_activity_makes_no_object_in_a_turn() -> None:
    board, world = new_board()
    turn = board.wait_for_activity(0, True)
    assert turn is world.sleeping
    run(turn)


def test_inputs_are_looked_at_without_waiting_too() -> None:
    board, world = new_board(switch_lid_open=0)
    world.inputs[_PIN_OF["button_void"]] = 0
    for _ in range(50):
        run(board.wait_for_activity(1, False))
    assert board.take_input() == inputs.pressed(enums.BUTTONS.index("void"))


def test_presses_within_one_long_turn_are_seen_and_a_bounce_is_no_press() -> None:
    board, world = new_board(switch_lid_open=0)
    live(board, world, 80)
    void, burn, next_ = [_PIN_OF["button_" + name] for name in ("void", "burn", "next")]
    for pin, ms in ((void, 25), (next_, 10), (burn, 25)):
        world.inputs[pin] = 0
        world.pass_ms(ms)
        world.inputs[pin] = 1
        world.pass_ms(25)
    pressed = [inputs.pressed(enums.BUTTONS.index(name)) for name in ("void", "burn")]
    assert live(board, world, 100) == pressed


def test_after_too_long_without_a_look_changes_are_lost_but_the_present_level_is_seen() -> None:
    board, world = new_board(switch_lid_open=0)
    live(board, world, 80)
    world.pass_ms(contacts.HELD_MS + contacts.LOOK_MS * 4)
    world.inputs[_PIN_OF["button_void"]] = 0
    world.pass_ms(100)
    world.inputs[_PIN_OF["button_void"]] = 1
    world.inputs[_PIN_OF["switch_key_on"]] = 0
    changed = [inputs.switched(enums.SWITCHES.index("key_on"), True)]
    assert live(board, world, 100) == changed


def test_the_contacts_pins_are_neighbours_as_one_look_takes_them() -> None:
    _, world = new_board()
    machine = world.chip.state_machines[1]
    assert machine.in_base.gpio == _PIN_OF["button_next"]
    assert machine.instructions == [("pins", 8, 31)]
    assert 1_000_000 * 32 // machine.freq == 1000 * contacts.LOOK_MS
    # RP2040 data sheet, 3.5.5: clock dividers go up to 65,536.
    assert world.clock_hz / machine.freq < 65536


def test_an_input_is_reported_even_if_no_samples_come() -> None:
    board, world = new_board(switch_lid_open=0)
    world.inputs[_PIN_OF["button_void"]] = 0
    for _ in range(5):
        run(board.wait_for_activity(8, True))
    assert board.take_input() == inputs.pressed(enums.BUTTONS.index("void"))


def test_each_button_and_switch_is_reported_as_itself_once() -> None:
    for i in range(len(enums.BUTTONS)):
        board, world = new_board(switch_lid_open=0)
        assert live(board, world, 100) == []
        world.inputs[_PIN_OF["button_" + enums.BUTTONS[i]]] = 0
        assert live(board, world, 1000) == [inputs.pressed(i)]
        world.inputs[_PIN_OF["button_" + enums.BUTTONS[i]]] = 1
        assert live(board, world, 100) == []
    levels = {name: 0 for name in enums.SWITCHES}
    levels["lid_open"] = 1  # the lid's contact opens with the lid
    for i in range(len(enums.SWITCHES)):
        name = enums.SWITCHES[i]
        off = {"switch_" + other: 1 - levels[other] for other in enums.SWITCHES}
        board, world = new_board(**off)
        assert live(board, world, 100) == []
        world.inputs[_PIN_OF["switch_" + name]] = levels[name]
        assert live(board, world, 100) == [inputs.switched(i, True)]
        world.inputs[_PIN_OF["switch_" + name]] = 1 - levels[name]
        assert live(board, world, 100) == [inputs.switched(i, False)]


def test_the_positions_of_the_switches_at_the_start_are_known_and_no_change() -> None:
    levels = {"lid_open": 1, "key_on": 0, "service_on": 0}
    for on in range(8):
        pins = {}
        for i in range(len(enums.SWITCHES)):
            level = levels[enums.SWITCHES[i]]
            pins["switch_" + enums.SWITCHES[i]] = level if on >> i & 1 else 1 - level
        board, world = new_board(**pins)
        assert board.switches() == on
        assert live(board, world, 200) == []
        for i in range(len(enums.SWITCHES)):
            name = enums.SWITCHES[i]
            world.inputs[_PIN_OF["switch_" + name]] ^= 1
            assert live(board, world, 100) == [inputs.switched(i, not on >> i & 1)], (on, name)
        assert board.switches() == on, "these are the positions at the start"


def test_a_button_held_down_at_the_start_is_a_press() -> None:
    board, world = new_board(switch_lid_open=0, button_burn=0)
    assert live(board, world, 100) == [inputs.pressed(enums.BUTTONS.index("burn"))]


def test_a_bouncing_button_is_pressed_once() -> None:
    board, world = new_board(switch_lid_open=0)
    pin = _PIN_OF["button_next"]
    changes = []
    for level in (0, 1, 0, 0, 1, 0):
        world.inputs[pin] = level
        changes += live(board, world, 8)
    assert changes == []
    assert live(board, world, 200) == [inputs.pressed(0)]
    for level in (1, 0, 1, 1, 0, 1):
        world.inputs[pin] = level
        changes += live(board, world, 8)
    assert changes == [] and live(board, world, 200) == []


def test_cut_wires_are_an_open_lid_no_pressed_button_and_a_covered_sensor_head() -> None:
    board, world = new_board()
    assert board.switches() == 1 << enums.SWITCHES.index("lid_open")
    assert live(board, world, 200) == []
    for channel in "eabx":
        assert _PIN_OF["sensor_" + channel] in world.pulled_up


def test_two_buttons_at_once_are_both_reported() -> None:
    board, world = new_board(switch_lid_open=0)
    world.inputs[_PIN_OF["button_void"]] = world.inputs[_PIN_OF["button_burn"]] = 0
    assert sorted(live(board, world, 200)) == [2, 3]


def test_a_change_that_was_not_taken_yet_is_not_overtaken_by_the_next() -> None:
    board, world = new_board(switch_lid_open=0)
    awake(world)
    for button in ("reveal", "burn"):
        world.inputs[_PIN_OF["button_" + button]] = 0
        for _ in range(20):
            run(board.wait_for_activity(8, True))
    assert [board.take_input(), board.take_input(), board.take_input()] == [1, 3, inputs.NONE]
