"""A display controller for tests, and a framebuf for CPython, which has none."""

_COMMAND_ARGUMENTS = {
    0xD5: 1, 0xA8: 1, 0xD3: 1, 0x8D: 1, 0x20: 1, 0xDA: 1, 0x81: 1, 0xD9: 1, 0xDB: 1,
    0x21: 2, 0x22: 2,
}  # fmt: skip


class Ssd1306:
    """The controller. It handles windows and data, and skips other commands by their length."""

    def __init__(self) -> None:
        self.plugged = True
        self.holds_data = 0
        """For how many clocks more it holds the data line low."""
        self.takes = 1000
        """How many bytes of each write it acknowledges."""
        self.power_on()

    def clock(self) -> None:
        """The clock line moves, other than for a write."""
        self.holds_data = max(0, self.holds_data - 1)

    def power_on(self) -> None:
        self.lit = self._pumped = False
        self.memory = bytearray(b"\xa5" * 1024)
        self._columns = self._pages = (0, 0)
        self._column = self._page = 0

    def page(self, row: int) -> bytes:
        return bytes(self.memory[128 * row : 128 * row + 128])

    def write(self, buf) -> int:
        """Return how many bytes it has acknowledged, as machine.I2C does."""
        size = min(self.takes, len(buf))
        self._write(buf[:size])
        return size

    def _write(self, buf) -> None:
        if buf[0] == 0x40:
            for octet in buf[1:]:
                self._put(octet)
            return
        assert buf[0] == 0x00
        commands = list(buf[1:])
        while commands:
            command = commands.pop(0)
            arguments = [commands.pop(0) for _ in range(_COMMAND_ARGUMENTS.get(command, 0))]
            if command in (0xAE, 0xAF):
                self.lit = command == 0xAF and self._pumped
            elif command == 0x8D:
                self._pumped = arguments == [0x14]
            elif command == 0x21:
                self._columns = tuple(arguments)
                self._column = arguments[0]
            elif command == 0x22:
                self._pages = tuple(arguments)
                self._page = arguments[0]
            elif command == 0x20:
                assert arguments == [0]

    def _put(self, octet: int) -> None:
        self.memory[128 * self._page + self._column] = octet
        self._column += 1
        if self._column > self._columns[1]:
            self._column = self._columns[0]
            self._page = self._pages[0] if self._page == self._pages[1] else self._page + 1


class FrameBuffer:
    """A framebuf for CPython: a glyph is the code of its character, eight times."""

    def __init__(self, buf, width: int, height: int, form: int) -> None:
        assert len(buf) == width * height // 8 and form == Framebuf.MONO_VLSB
        self._buf = buf

    def fill(self, colour: int) -> None:
        for i in range(len(self._buf)):
            self._buf[i] = 0

    def text(self, text: str, x: int, y: int) -> None:
        for i in range(len(text)):
            for column in range(8):
                self._buf[x + 8 * i + column] = ord(text[i])


class Framebuf:
    FrameBuffer = FrameBuffer
    MONO_VLSB = 0
