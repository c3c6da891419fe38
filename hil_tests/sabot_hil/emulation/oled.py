"""A 128 x 64 display with an SSD1306 on I2C: bytes in, the picture and its text out.

Written from the controller's data sheet (Solomon Systech SSD1306, sections 8 to 10). The panel is
mounted as on the usual module: with segment remap and COM scan reversed, its top left is the start
of the memory.
"""

import functools
import subprocess

from sabot.sim.process import interpreter

WIDTH = 128
PAGES = 8
ADDRESS = 0x3C

_CELL = 8  # pixels of a character, both ways
_COMMANDS, _DATA = 0x00, 0x40
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_ARGUMENTS = {
    0x20: 1, 0x21: 2, 0x22: 2, 0x81: 1, 0x8D: 1, 0xA8: 1, 0xD3: 1, 0xD5: 1, 0xD9: 1, 0xDA: 1,
    0xDB: 1,
}  # fmt: skip
"""The number of bytes that follow a command; other commands have none."""


class Oled:
    """A module with power. `misuse` has a line for each unknown command."""

    def __init__(self) -> None:
        self.lose_supply()

    def lose_supply(self) -> None:
        """Begin again as after power-on."""
        self.memory = bytearray(WIDTH * PAGES)
        """A byte for eight pixels of a column, the top one in the lowest bit; in pages of 128."""
        self.misuse: list[str] = []
        self.writes = 0
        """The number of writes to the memory."""
        self._lit = self._pump = self._every_pixel = self._inverse = False
        self._turned_across = self._turned_down = False
        self._mode = 2  # addressing mode: by page, as after a reset
        self._columns, self._pages = (0, WIDTH - 1), (0, PAGES - 1)
        self._column = self._page = 0
        self._kind = -1  # of the current write
        self._command = bytearray()

    def begin(self, address: int) -> bool:
        """A write begins; returns whether it is for this module."""
        self._kind = -1
        self._command.clear()
        return address == ADDRESS

    def octet(self, octet: int) -> None:
        """A byte of the write."""
        if self._kind < 0:
            self._kind = octet
            if octet not in (_COMMANDS, _DATA):
                self.misuse.append(f"a write of kind {octet:02x}")
        elif self._kind == _DATA:
            self._store(octet)
        elif self._kind == _COMMANDS:
            self._command.append(octet)
            if len(self._command) > _ARGUMENTS.get(self._command[0], 0):
                self._carry_out(bytes(self._command))
                self._command.clear()

    def end(self) -> None:
        """The write ends."""
        if self._kind == _DATA:
            self.writes += 1
        self._kind = -1

    def pixel(self, x: int, y: int) -> bool:
        """Whether the pixel is lit, counted from the top left of the mounted module."""
        if not self._lit or not self._pump:
            return False
        if self._every_pixel:
            return True
        column = x if self._turned_across else WIDTH - 1 - x
        row = y if self._turned_down else PAGES * _CELL - 1 - y
        bit = self.memory[row // _CELL * WIDTH + column] >> row % _CELL & 1
        return bool(bit) != self._inverse

    def lines(self) -> tuple[str, ...]:
        """Return the text on the display, a line for each eight pixels of height, without blanks at
        the end. A cell that is not a character of MicroPython's font gives the replacement
        character."""
        known = glyphs()
        lines = []
        for page in range(PAGES):
            cells = (self._cell(x, page) for x in range(0, WIDTH, _CELL))
            lines.append("".join(known.get(cell, _UNKNOWN) for cell in cells).rstrip())
        return tuple(lines)

    def _cell(self, x: int, page: int) -> bytes:
        if self._upright():
            at = page * WIDTH + x
            return bytes(self.memory[at : at + _CELL])
        return bytes(
            sum(self.pixel(x + i, page * _CELL + bit) << bit for bit in range(_CELL))
            for i in range(_CELL)
        )

    def _upright(self) -> bool:
        """Whether the picture equals the memory: the usual case, and a fast one."""
        shown = self._lit and self._pump and not self._every_pixel and not self._inverse
        return shown and self._turned_across and self._turned_down

    def _store(self, octet: int) -> None:
        self.memory[self._page * WIDTH + self._column] = octet
        first, last = self._columns if self._mode == 0 else (0, WIDTH - 1)
        self._column += 1
        if self._column > last:
            self._column = first
            if self._mode == 0:
                self._page += 1
                if self._page > self._pages[1]:
                    self._page = self._pages[0]

    def _carry_out(self, command: bytes) -> None:
        code = command[0]
        if code in (0xAE, 0xAF):
            self._lit = code == 0xAF
        elif code in (0xA0, 0xA1):
            self._turned_across = code == 0xA1
        elif code in (0xC0, 0xC8):
            self._turned_down = code == 0xC8
        elif code in (0xA4, 0xA5):
            self._every_pixel = code == 0xA5
        elif code in (0xA6, 0xA7):
            self._inverse = code == 0xA7
        elif code == 0x8D:
            self._pump = bool(command[1] & 0x04)
        elif code == 0x20:
            self._mode = command[1] & 3
            if self._mode == 1:
                self.misuse.append("vertical addressing, which this model does not have")
        elif code == 0x21:
            self._columns = (command[1] % WIDTH, command[2] % WIDTH)
            self._column = self._columns[0]
        elif code == 0x22:
            self._pages = (command[1] % PAGES, command[2] % PAGES)
            self._page = self._pages[0]
        elif code not in _ARGUMENTS and not 0x40 <= code <= 0x7F:
            self.misuse.append(f"command {code:02x}")


_DRAW = """
import framebuf
cell = bytearray(8)
canvas = framebuf.FrameBuffer(cell, 8, 8, framebuf.MONO_VLSB)
for code in range(32, 127):
    canvas.fill(0)
    canvas.text(chr(code), 0, 0)
    print(cell.hex())
"""


@functools.cache
def glyphs() -> dict[bytes, str]:
    """Return the printable characters by their eight columns, as MicroPython itself draws them."""
    done = subprocess.run(
        [*interpreter(), "-c", _DRAW], capture_output=True, text=True, check=True, timeout=60
    )
    return {
        bytes.fromhex(columns): chr(code) for code, columns in enumerate(done.stdout.split(), 32)
    }
