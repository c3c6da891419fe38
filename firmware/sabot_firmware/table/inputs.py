"""Changes of buttons and switches as small integers, and the debouncing of contacts."""

from sabot_firmware.native import const
from sabot_protocol import enums

NONE = const(-1)
BUTTON_COUNT = len(enums.BUTTONS)
SWITCH_COUNT = len(enums.SWITCHES)


def pressed(button: int) -> int:
    """Return the change "this button of `enums.BUTTONS` was pressed"."""
    return button


def switched(switch: int, on: bool) -> int:
    """Return the change "this switch of `enums.SWITCHES` went on or off"."""
    return BUTTON_COUNT + 2 * switch + (1 if on else 0)


class Debouncer:
    """Turns levels, sampled every few milliseconds, into changes. A level counts after `steps`
    equal samples.

    Levels come as one integer: bit n is button n held down, then come the switches. Releasing a
    button is not a change. It stores at most one change of each input. `settled` are the levels at
    the start.
    """

    def __init__(self, steps: int, settled: int = 0) -> None:
        self._steps = steps
        self._settled = settled
        self._held = bytearray(BUTTON_COUNT + SWITCH_COUNT)
        self._pending = 0
        self._settling = False

    def look(self, levels: int) -> None:
        """Take one sample of the levels."""
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
        """Return a change that has settled, or NONE."""
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
