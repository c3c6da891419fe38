"""A text display of 16 columns and 8 lines: 128 x 64 pixels with an SSD1306 controller on I2C.

A line of text is one *page* of the controller, 128 bytes and about 3 ms on the bus. Each `refresh`
sends one line, and only lines that changed: a whole picture would delay the dealing by 25 ms. A
display that does not answer is tried again later and stops nothing.

A module that has lost its supply for a moment answers, but is dark. So now and then `again` lets
the start and one line be sent again.
"""

import framebuf

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.interfaces import I2c, Readable

COLUMNS = 16
ROWS = 8
ADDRESS = 0x3C
"""The I2C address with the module's address pin low, as most modules have it."""

_GLYPH = 8  # pixels, both ways: framebuf's own font
_WIDTH = COLUMNS * _GLYPH
_ALL_ROWS = (1 << ROWS) - 1
_REST = 250
"""Calls of `refresh` from a failure to the next attempt: about 2 s."""

# The first byte of a write says what the following bytes are.
_COMMANDS = 0x00
_DATA = 0x40

_START = bytes(
    (
        _COMMANDS,
        0xD5, 0x80,  # clock: the default rate of the data sheet
        0xA8, 0x3F,  # 64 lines
        0xD3, 0x00,  # no offset
        0x40,  # memory begins at the top line
        0x8D, 0x14,  # charge pump on: the panel's voltage has no other source
        0x20, 0x00,  # addresses run along a page, then to the next page
        0xA1, 0xC8,  # columns and lines reversed: the module's connector is at the top
        0xDA, 0x12,  # alternate lines from the two sides, as a panel of 64 lines is wired
        0x81, 0x7F,  # half the contrast: a panel that shows the same text all day burns in
        0xD9, 0xF1,  # pre-charge as the charge pump asks
        0xDB, 0x20,  # deselect level 0.77 of the panel's voltage
        0xA4,  # show the memory
        0xA6,  # a set bit is lit
        0xAF,  # display on
    )
)  # fmt: skip


class Display:
    """`open_bus` returns a machine.I2C at 400 kHz, and frees a bus that is stuck."""

    def __init__(self, open_bus: "Callable[[], I2c]") -> None:
        self._open_bus = open_bus
        self._i2c: "I2c | None" = None
        self._started = False
        self._again = 0  # the line that `again` sends next
        self._rest = 0
        self._lines = [""] * ROWS
        self.stale = _ALL_ROWS
        """The lines that must be sent: bit n is line n."""
        self._page = bytearray(1 + _WIDTH)
        self._page[0] = _DATA
        self._pixels = framebuf.FrameBuffer(
            memoryview(self._page)[1:], _WIDTH, _GLYPH, framebuf.MONO_VLSB
        )
        # The place of the data that follow: first and last column, first and last page.
        self._window = bytearray((_COMMANDS, 0x21, 0, _WIDTH - 1, 0x22, 0, ROWS - 1))

    def show(self, text: str) -> None:
        """Show the lines of `text`; text beyond 16 columns or 8 lines is cut off."""
        lines = text.split("\n")
        for row in range(ROWS):
            line = lines[row][:COLUMNS] if row < len(lines) else ""
            if line != self._lines[row]:
                self._lines[row] = line
                self.stale |= 1 << row

    def refresh(self) -> bool:
        """Send the start if it is due, otherwise the first line that changed: the two together take
        longer than a turn may. Return False if none did or the display is missing."""
        if not self.stale:
            return False
        if self._rest:
            self._rest -= 1
            return False
        row = 0
        while not self.stale & 1 << row:
            row += 1
        try:
            if not self._started:
                self._write(_START)
                self._started = True
                return True
            self._send(row)
        except OSError:
            self._started = False  # it may come back as after power-on
            self._i2c = None
            self.stale = _ALL_ROWS
            self._rest = _REST
            return False
        self.stale ^= 1 << row
        return True

    def again(self) -> None:
        """Let the start and one line be sent again, the next line each time."""
        self._started = False
        self.stale |= 1 << self._again
        self._again = (self._again + 1) % ROWS

    def answers(self) -> bool:
        """Whether the display takes all of its start at this moment. Its picture is drawn again."""
        self.stale = _ALL_ROWS
        try:
            self._write(_START)
        except OSError:
            self._i2c = None
            return False
        return True

    def _write(self, data: "Readable") -> None:
        """Raises OSError if no part answers, or if it does not take all of `data`."""
        if self._i2c is None:
            self._i2c = self._open_bus()
        if self._i2c.writeto(ADDRESS, data) != len(data):
            raise OSError

    def _send(self, row: int) -> None:
        self._pixels.fill(0)
        self._pixels.text(self._lines[row], 0, 0)
        self._window[5] = row
        self._write(self._window)
        self._write(self._page)
