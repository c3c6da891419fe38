"""The journal's chip: SPI NOR flash of the W25Q128JV class, one byte at a time.

Written from the chip's data sheet (Winbond W25Q128JV, sections 6 to 9), not from the driver or from
the driver's test double `firmware/tests/fakes/fake_nor.py`, which does not model time.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

PAGE = 256
SECTOR = 4096
CHIP_BYTES = 16 << 20

WRITE_ENABLE = 0x06
WRITE_DISABLE = 0x04
READ_STATUS = 0x05
READ = 0x03
PROGRAM = 0x02
ERASE_SECTOR = 0x20
READ_ID = 0x9F
WAKE = 0xAB
MAY_RESET, RESET = 0x66, 0x99
READ_STATUS_2, READ_STATUS_3 = 0x35, 0x15

_IDENTITY = bytes((0xEF, 0x40, 0x18))
_BUSY, _WRITE_ENABLED = 0x01, 0x02
_ADDRESS_ENDS = 4  # a command, then three bytes of address
_OPEN_LINE = 0xFF  # what the processor reads if the chip does not drive its output

_ZEROS_FIRST = 0.2  # share of an erase's time; a guess: no data sheet states it

_WITHOUT_EFFECT = (READ_STATUS, READ_STATUS_2, READ_STATUS_3, READ, READ_ID, MAY_RESET, RESET)

_MS = 1_000_000  # in ns


@dataclass(frozen=True, slots=True)
class Times:
    """How long the chip takes, in ns: data sheet, section 9.6."""

    program_ns: int = 400_000
    erase_ns: int = 45 * _MS


TYPICAL = Times()
WORST = Times(program_ns=3 * _MS, erase_ns=400 * _MS)


@dataclass(frozen=True, slots=True)
class NorOperation:
    """A program or an erase. `before` and `after` are the chip's content from `address` on, before
    and after it; times are in ns of the chip's clock."""

    command: int
    address: int
    began_ns: int
    ends_ns: int
    before: bytes
    after: bytes


class NorChip:
    """A chip whose clock is `now_ns`. `content` is its 16 MB, which survive a power cycle. `seed`
    decides which bits a cut operation has changed.

    It ignores what a real chip ignores, and records it in `misuse`: one line for each command that
    was unknown, came too early, was not enabled, or ended at the wrong place.
    """

    def __init__(
        self,
        now_ns: Callable[[], int],
        content: bytearray | None = None,
        *,
        times: Times = TYPICAL,
        seed: int = 0,
    ) -> None:
        self.content = bytearray(b"\xff" * CHIP_BYTES) if content is None else content
        if len(self.content) != CHIP_BYTES:
            raise ValueError(f"a chip of {CHIP_BYTES} bytes, not of {len(self.content)}")
        self.times = times
        self.misuse: list[str] = []
        self.operations = 0
        """The number of programs and erases since the chip was made."""
        self.identity = bytearray(_IDENTITY)
        self.status_2 = self.status_3 = 0
        self.asleep = False
        """Whether it is in power-down: it hears only WAKE."""
        self.confused = False
        """Whether it answers nothing until it is reset, as in the middle of another mode."""
        self.ignores = 0
        """A command that it does not carry out, once."""
        self.changed_ns = 0
        """When the last program or erase ended or will end."""
        self.on_operation: Callable[[NorOperation], None] | None = None
        """Called when a program or an erase begins."""
        self._now_ns = now_ns
        self._random = random.Random(seed)
        self._selected = False
        self._enabled = False
        self._running: NorOperation | None = None
        self._before = 0  # the last command
        self._heard = bytearray()  # the bytes of the command so far
        self._deaf = False  # True until it is deselected: the command came too early
        self._reading = 0

    @property
    def busy(self) -> bool:
        """Whether a program or an erase is in progress."""
        self._catch_up()
        return self._running is not None

    def select(self, level: int) -> None:
        """The level at the chip's select pin: 0 begins a command, 1 ends it."""
        if level and self._selected:
            self._selected = False
            self._end()
        elif not level and not self._selected:
            self._selected = True
            self._heard.clear()
            self._deaf = False

    def exchange(self, octet: int) -> int:
        """Send one byte to the chip; returns the byte that comes back at the same time."""
        if not self._selected:
            return _OPEN_LINE
        heard = self._heard
        place = len(heard)
        if place == 0:
            heard.append(octet)
            heard_always = (MAY_RESET, RESET, READ_STATUS_2, READ_STATUS_3, READ_STATUS)
            if self.asleep or self.confused:
                self._deaf = octet not in ((WAKE,) if self.asleep else (MAY_RESET, RESET))
            elif octet == WAKE and self.busy:
                self._deaf = True  # it is awake, and ignores that
            elif octet not in heard_always and self.busy:
                self._complain(f"command {octet:02x} while it is busy")
                self._deaf = True
            return _OPEN_LINE
        if self._deaf:
            return _OPEN_LINE
        command = heard[0]
        if command == READ_STATUS:
            return (_BUSY if self.busy else 0) | (_WRITE_ENABLED if self._enabled else 0)
        if command in (READ_STATUS_2, READ_STATUS_3):
            return self.status_2 if command == READ_STATUS_2 else self.status_3
        if command == READ and place >= _ADDRESS_ENDS:
            self._reading = (self._reading + 1) % CHIP_BYTES
            return self.content[self._reading - 1]
        heard.append(octet)
        if command == READ_ID:
            return self.identity[place - 1] if place <= len(_IDENTITY) else _OPEN_LINE
        if command == READ and place == _ADDRESS_ENDS - 1:
            self._reading = self._address()
        return _OPEN_LINE

    def exchange_all(self, octets: bytes) -> bytes:
        """Send bytes to the chip; returns the bytes that come back at the same time."""
        reading = self._selected and not self._deaf and self._heard[:1] == bytes((READ,))
        if not reading or len(self._heard) < _ADDRESS_ENDS:
            return bytes(self.exchange(octet) for octet in octets)
        begin = self._reading
        self._reading = (begin + len(octets)) % CHIP_BYTES
        came = self.content[begin : begin + len(octets)]
        return bytes(came + self.content[: len(octets) - len(came)])

    def power_off(self) -> None:
        """Cut the power now: an operation stays half done."""
        self._catch_up()
        operation = self._running
        if operation is not None:
            whole_ns = operation.ends_ns - operation.began_ns
            self._leave_half_done(operation, (self._now_ns() - operation.began_ns) / whole_ns)
            self._running = None
        self._selected = self._enabled = self.asleep = self.confused = False
        self._heard.clear()

    def _reset(self) -> None:
        """As after power-on. A reset in an operation leaves it half done."""
        self.power_off()
        self.status_2 &= 0x7F

    def _catch_up(self) -> None:
        operation = self._running
        if operation is not None and self._now_ns() >= operation.ends_ns:
            self._put(operation.address, operation.after)
            self._running = None
            self._enabled = False

    def _end(self) -> None:
        if not self._heard or self._deaf:
            return
        command, size = self._heard[0], len(self._heard)
        before, self._before = self._before, command
        if command == self.ignores:
            self.ignores = 0
        elif command == WAKE:
            self.asleep = False
        elif command == RESET and before == MAY_RESET:
            self._reset()
        elif command in (WRITE_ENABLE, WRITE_DISABLE):
            self._enabled = command == WRITE_ENABLE
        elif command == PROGRAM and size > _ADDRESS_ENDS:
            self._begin_program()
        elif command == ERASE_SECTOR and size == _ADDRESS_ENDS:
            begin = self._address() // SECTOR * SECTOR
            self._begin(ERASE_SECTOR, begin, b"\xff" * SECTOR, self.times.erase_ns)
        elif command not in _WITHOUT_EFFECT:
            self._complain(f"command {command:02x} of {size} bytes")

    def _begin_program(self) -> None:
        address = self._address()
        page = address // PAGE * PAGE
        after = bytearray(self.content[page : page + PAGE])
        # After the page's end it continues at the page's start; the last byte for a place counts.
        given: dict[int, int] = {}
        for place, octet in enumerate(self._heard[_ADDRESS_ENDS:], address - page):
            given[place % PAGE] = octet
        if len(self._heard) - _ADDRESS_ENDS > page + PAGE - address:
            self._complain(f"a program at {address:06x} goes beyond its page")
        for place, octet in given.items():
            if octet & ~after[place]:
                self._complain(f"a program at {page + place:06x} would make ones")
            after[place] &= octet
        self._begin(PROGRAM, page, bytes(after), self.times.program_ns)

    def _begin(self, command: int, address: int, after: bytes, takes_ns: int) -> None:
        if not self._enabled:
            self._complain(f"command {command:02x} at {address:06x} was not enabled")
            return
        now_ns = self._now_ns()
        before = bytes(self.content[address : address + len(after)])
        self._running = NorOperation(command, address, now_ns, now_ns + takes_ns, before, after)
        self.operations += 1
        self.changed_ns = now_ns + takes_ns
        if self.on_operation is not None:
            self.on_operation(self._running)

    def _leave_half_done(self, operation: NorOperation, share: float) -> None:
        """Change each bit that was to change with the same probability. An erase first makes all
        bits zeros, as a chip does so that no cell is erased too far."""
        before, after = operation.before, operation.after
        if operation.command == ERASE_SECTOR:
            if share < _ZEROS_FIRST:
                after, share = bytes(SECTOR), share / _ZEROS_FIRST
            else:
                before, share = bytes(SECTOR), (share - _ZEROS_FIRST) / (1 - _ZEROS_FIRST)
        mixed = bytearray(before)
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            left = old ^ new
            while left:
                bit = left & -left
                left ^= bit
                if self._random.random() < share:
                    mixed[place] ^= bit
        self._put(operation.address, mixed)

    def _put(self, address: int, octets: bytes | bytearray) -> None:
        self.content[address : address + len(octets)] = octets

    def _address(self) -> int:
        return int.from_bytes(self._heard[1:_ADDRESS_ENDS], "big") % CHIP_BYTES

    def _complain(self, what: str) -> None:
        self.misuse.append(what)
