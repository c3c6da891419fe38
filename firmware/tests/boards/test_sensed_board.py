"""The Pico's board with a contact at its bolt and a view of its supply, against the fake Pico."""

from firmware.tests.fakes.fake_pico import board as pico
from firmware.tests.fakes.fake_pico import new_world
from sabot_firmware.boards.pico.sensed import OPTIONAL_PINS, Board

_BOLT, _SUPPLY = (gpio for gpio, _, _ in OPTIONAL_PINS)


def test_its_pins_are_those_that_the_reference_board_leaves_open() -> None:
    reserved = {gpio for gpio, part, _ in pico.PINS if part in ("host_tx", "host_rx")}
    assert {_BOLT, _SUPPLY} == reserved


def test_the_bolt_follows_if_its_contact_is_as_the_locks_pin() -> None:
    world = new_world()
    board = Board()
    for released in (False, True):
        board.set_lock(released)
        for contact in (0, 1):  # the shut bolt closes it to ground
            world.inputs[_BOLT] = contact
            assert board.lock_follows() == (released == bool(contact)), (released, contact)


def test_the_supply_falls_while_its_monitor_pulls_the_pin_low() -> None:
    world = new_world()
    board = Board()
    for level in (1, 0, 1):
        world.inputs[_SUPPLY] = level
        assert board.supply_good() == bool(level)


def test_the_reference_board_has_neither_and_no_latch() -> None:
    new_world()
    board = pico.Board()
    assert board.lock_follows() and board.supply_good()
    assert board.lid_opened is None and board.compartment_opened is None
