"""A Pico's board that senses its bolt and its supply: for a builder who wires both contacts.

They take the two pins that the reference board leaves open. A builder's own board is a folder with
a class derived from this one (docs/adding.md, "A board"); docs/building.md says how to wire it. No
release of the reference board loads this.
"""

from sabot_firmware.boards.pico import board

OPTIONAL_PINS = (
    # GPIO, part, level at which it is on
    (0, "bolt_shut", board.LOW),  # a contact to ground, closed by the shut bolt
    (1, "supply_good", board.HIGH),  # an output that is open while the supply is good
)
"""In place of `host_tx` and `host_rx`. A wire that is broken reads as a bolt that is open, and as a
supply that is good."""


class Board(board.Board):
    """The reference board with both."""

    SENSES = True

    def __init__(self) -> None:
        super().__init__()
        self._lock_pin = board.pin_of("lock")
        self._bolt, self._supply = [board.pulled_up(gpio) for gpio, _, _ in OPTIONAL_PINS]

    def lock_follows(self) -> bool:
        # The pin itself: the interrupt of lock.py may have shut what the shoe wants released.
        return self._bolt.value() == self._lock_pin.value()

    def supply_good(self) -> bool:
        return self._supply.value() == board.HIGH
