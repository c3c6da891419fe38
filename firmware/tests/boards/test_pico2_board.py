"""The Pico 2's board against the fake Pico, with an RP2350's clock; and which board is chosen."""

from firmware.tests.fakes.fake_pico import board as pico
from firmware.tests.fakes.fake_pico import live, new_world
from sabot_firmware import boards
from sabot_firmware.boards.pico2.board import Board
from sabot_firmware.cards.reader import SAMPLE_RATE_HZ

_RP2350_HZ = 150_000_000
_LOCK = 22


class _Named:
    """In place of `sys` and `os`: what tells one chip from another."""

    platform = "rp2"

    def __init__(self, machine: str) -> None:
        self.machine = machine

    def uname(self) -> "_Named":
        return self


def test_the_board_is_chosen_by_the_chip_that_micropython_names() -> None:
    whole = boards.sys, boards.os
    try:
        for machine, kind in (("Pico2 with RP2350", Board), ("Pico with RP2040", pico.Board)):
            boards.sys = boards.os = _Named("Raspberry Pi " + machine)
            assert boards.board_class() is kind
    finally:
        boards.sys, boards.os = whole


def test_its_releases_are_its_own() -> None:
    """A release for another board, with code for another processor, is refused by this name."""
    assert Board.NAME == "pico2" and pico.Board.NAME == "pico"


def test_it_starts_samples_and_moves_its_lock_at_the_clock_of_an_rp2350() -> None:
    world = new_world()
    world.clock_hz = _RP2350_HZ
    board = Board()
    assert world.output_log[0] == (_LOCK, 0), "the lock is driven low before anything else"
    live(board, world, 20)
    board.read_samples(bytearray(4096))
    world.sample([1] * 64)
    buf = bytearray(64)
    assert board.read_samples(buf) == 32 and buf[:32] == b"\x11" * 32
    board.set_lock(True)
    assert world.outputs[_LOCK] == 1
    board.set_lock(False)
    assert world.outputs[_LOCK] == 0


def test_every_rate_of_its_state_machines_is_exact_from_its_clock() -> None:
    """A state machine divides by 1 to 65,536, in steps of 1/256 (RP2350 data sheet, 11.5.5)."""
    world = new_world()
    world.clock_hz = _RP2350_HZ
    Board()
    rates = [world.chip.state_machines[number].freq for number in (0, 1)]
    assert rates[0] == SAMPLE_RATE_HZ
    for hertz in rates:
        assert 256 * _RP2350_HZ % hertz == 0
        assert 1 <= _RP2350_HZ // hertz < 65536


def test_its_oscillator_s_random_bit_is_at_the_address_of_an_rp2350() -> None:
    """pico-sdk, rp2350: ROSC_BASE and ROSC_RANDOMBIT_OFFSET. At the RP2040's is another block."""
    assert Board.RANDOM_BIT == 0x400E8000 + 0x20
    assert pico.Board.RANDOM_BIT == 0x40060000 + 0x1C
