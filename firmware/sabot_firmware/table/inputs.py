"""Buttons and switches: how a board hands a change over, and how contacts settle."""

from sabot_firmware.native import const
from sabot_protocol import enums

NONE = const(-1)
BUTTON_COUNT = len(enums.BUTTONS)
SWITCH_COUNT = len(enums.SWITCHES)


def pressed(button: int) -> int:
    """The change "button of `words.BUTTONS` was pressed", as one small integer."""
    return button


def switched(switch: int, on: bool) -> int:
    """The change "switch of `words.SWITCHES` went on or off", as one small integer."""
    return BUTTON_COUNT + 2 * switch + (1 if on else 0)


class Debouncer:
    """Turns levels, looked at every few milliseconds, into changes that have held for `steps`
    looks.

    Levels come as one integer: bit n is button n held down, the switches behind the buttons.
    Releasing a button is no change. Holds no more than one change of each input. `settled` are
    the levels to begin with.
    """

    def __init__(self, steps: int, settled: int = 0) -> None:
        self._steps = steps
        self._settled = settled
        self._held = bytearray(BUTTON_COUNT + SWITCH_COUNT)
        self._pending = 0
        self._settling = False

    def look(self, levels: int) -> None:
        """Take the levels of one more look."""
        if levels == self._settled and not self._settling:
            return
        self._settling = False
        held = self._held
        for i in range(len(held)):
            bit = 1 << i
            if (levels ^ self._settled) & bit:
                self._settling = True
                held[i] += 1
                if held[i] == self._steps:
                    held[i] = 0
                    self._settled ^= bit
                    if i >= BUTTON_COUNT or levels & bit:
                        self._pending |= bit
            else:
                held[i] = 0

    def take(self) -> int:
        """A change that has settled, NONE where there is none."""
        if not self._pending:
            return NONE
        for i in range(len(self._held)):
            bit = 1 << i
            if self._pending & bit:
                self._pending ^= bit
                if i < BUTTON_COUNT:
                    return pressed(i)
                return switched(i - BUTTON_COUNT, self._settled & bit != 0)
        return NONE
