"""Buttons and switches: how a board hands a change over, and how contacts settle."""

from protocol import words

NONE = -1
BUTTON_COUNT = len(words.BUTTONS)
SWITCH_COUNT = len(words.SWITCHES)


def pressed(button: int) -> int:
    """The change "button of `words.BUTTONS` was pressed", as one small integer."""
    return button


def switched(switch: int, on: bool) -> int:
    """The change "switch of `words.SWITCHES` went on or off", as one small integer."""
    return BUTTON_COUNT + 2 * switch + (1 if on else 0)


class Debouncer:
    """Turns levels, looked at now and then, into changes that have held for `settle_ms`, seen in
    two looks at least.

    Levels come as one integer: bit n is button n held down, the switches behind the buttons.
    Releasing a button is no change. Holds no more than one change of each input. `settled` are
    the levels to begin with.
    """

    def __init__(self, settle_ms: int, settled: int = 0) -> None:
        self._settle_ms = settle_ms
        self._settled = settled
        self._held_ms = bytearray(BUTTON_COUNT + SWITCH_COUNT)  # and 1: 0 is not seen yet
        self._pending = 0
        self._settling = False

    def look(self, levels: int, passed_ms: int) -> None:
        """Take the levels of now, so long after the look before."""
        if levels == self._settled and not self._settling:
            return
        self._settling = False
        held_ms = self._held_ms
        passed_ms = min(passed_ms, self._settle_ms)
        for i in range(len(held_ms)):
            bit = 1 << i
            if (levels ^ self._settled) & bit:
                self._settling = True
                held_ms[i] += passed_ms if held_ms[i] else 1
                if held_ms[i] > self._settle_ms:
                    held_ms[i] = 0
                    self._settled ^= bit
                    if i >= BUTTON_COUNT or levels & bit:
                        self._pending |= bit
            else:
                held_ms[i] = 0

    def take(self) -> int:
        """A change that has settled, NONE where there is none."""
        if not self._pending:
            return NONE
        for i in range(len(self._held_ms)):
            bit = 1 << i
            if self._pending & bit:
                self._pending ^= bit
                if i < BUTTON_COUNT:
                    return pressed(i)
                return switched(i - BUTTON_COUNT, self._settled & bit != 0)
        return NONE
