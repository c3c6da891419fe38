"""The interfaces between the parts of the shoe, for type checkers only.

This file is not on the device: a release has modules only, and MicroPython has no `typing`. An
annotation is a string, and MicroPython's compiler drops it. If one needs a name of this file, or of
a module that is not imported otherwise, the import is under a condition that is always false:

    if 1 - 1:  # for type checkers: interfaces.pyi
        from sabot_firmware.interfaces import Board

The compilers of MicroPython and of CPython compute the condition and drop the import completely.
Type checkers do not compute it, so they follow the import. `typing.TYPE_CHECKING` is not on the
device, and a constant of that name would cost each module a name on the heap.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from sabot_protocol.schema import Shape

Readable = bytes | bytearray | memoryview
"""Bytes to be read."""
Writable = bytearray | memoryview
"""A buffer to write bytes into."""
Feed = Callable[[], object]
"""Feeds a watchdog."""

class Digest(Protocol):
    """A hash that is being computed."""

    def update(self, data: Readable, /) -> None: ...
    def digest(self) -> bytes: ...

class Spare(Protocol):
    """A spare piece of memory: heap.py."""

    def take_spare(self) -> bool: ...
    def give_spare(self) -> None: ...

class ByteSource(Protocol):
    """A file that is open for reading."""

    def readinto(self, buf: memoryview, /) -> int: ...

class RawFile(Protocol):
    """A file that is open for reading and writing, without a buffer."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def readinto(self, buf: Writable, /) -> int | None: ...
    def write(self, data: Readable, /) -> int | None: ...

class Spi(Protocol):
    """Like a machine.SPI."""

    def write(self, data: Readable, /) -> object: ...
    def readinto(self, buf: Writable, /) -> object: ...
    def write_readinto(self, data: Readable, buf: Writable, /) -> object: ...

class Select(Protocol):
    """Like a machine.Pin: the chip is selected while the level is 0."""

    def value(self, level: int, /) -> object: ...

class I2c(Protocol):
    """Like a machine.I2C."""

    def writeto(self, address: int, data: Readable, /) -> int: ...

class I2cTarget(Protocol):
    """Like a machine.I2CTarget, which the stubs of 1.28 lack."""

    memaddr: int
    """The place in its memory at which the last write began."""

class Flash(Protocol):
    """A NOR chip, as boards/nor.py describes it. Each method except `busy` raises FlashError while
    the chip is busy."""

    @property
    def sectors(self) -> int:
        """Sectors of the whole chip."""

    def read(self, address: int, buf: Writable) -> None:
        """Fill `buf` from `address` on."""

    def program(self, address: int, data: Readable) -> None:
        """Start to program `data`, 1 to 256 bytes within a page."""

    def erase(self, sector: int) -> None:
        """Start to erase the sector with this number."""

    def busy(self) -> bool:
        """Whether a program or an erase is still in progress."""

class Board(Protocol):
    """The members of a board that the firmware uses; boards/__init__.py describes them."""

    @property
    def NAME(self) -> str: ...
    @property
    def storage(self) -> str: ...
    @property
    def serial(self) -> str: ...
    @property
    def reset_cause(self) -> int: ...
    @property
    def flash(self) -> Flash: ...
    @property
    def overruns(self) -> int: ...
    def ticks_ms(self) -> int: ...
    def sleep_ms(self, ms: int, /) -> None: ...
    def wait_for_activity(self, within_ms: int, wait: bool) -> Awaitable[None]: ...
    def switches(self) -> int: ...
    def read_samples(self, buf: bytearray) -> int: ...
    def judged(self, unjudged_bytes: int, undecided: bool) -> None:
        """Note which samples are judged; release a lock that the board has shut by itself, by the
        rules of "The lock" in boards/__init__.py."""

    def levels(self) -> int: ...
    def noise(self, source: int, buf: memoryview) -> None: ...
    def temperature_c(self) -> int | None: ...
    def display_answers(self) -> bool: ...
    def samples_come(self) -> bool: ...
    def take_input(self) -> int: ...
    def set_lock(self, released: bool) -> None:
        """Shut the lock at once; or release it, by the rules of "The lock" in boards/__init__.py:
        a card that is due never finds it shut, and after a card that is not judged in time it is
        shut until that card is judged."""

    def set_lamps(self, lit: int) -> None: ...
    def show(self, text: str) -> None: ...
    def buzz(self, ms: int) -> None: ...
    async def read_link(self) -> bytes: ...
    def write_link(self, view: memoryview) -> int: ...
    @property
    def LOOK_BYTES(self) -> int: ...
    @property
    def restarts(self) -> int: ...
    @property
    def feed(self) -> Feed: ...
    def watch(self, timeout_ms: int) -> None: ...
    def settle(self) -> None: ...
    def lock_obeys(self) -> bool: ...
    def reset(self, cause: int) -> None: ...
    def halt(self, error: BaseException, for_s: int = 0) -> None: ...

class Sendable(Protocol):
    """An event to be sent."""

    @property
    def record(self) -> memoryview: ...
    @property
    def mac(self) -> memoryview: ...

class Events(Protocol):
    """The events that a link sends, as journal/outbox.py describes them."""

    @property
    def acked(self) -> int: ...
    @property
    def first_held(self) -> int: ...
    @property
    def next_number(self) -> int: ...
    @property
    def cursor_number(self) -> int: ...
    def take(self) -> Sendable | None: ...
    def rewind(self) -> None: ...
    def unacked(self) -> int: ...
    def serve_from(self, number: int) -> bool: ...
    def acknowledge(self, number: int) -> bool: ...

class Device(Protocol):
    """The rest of the shoe, which the link answers for."""

    def welcome(self, session: int) -> list[list[object]]:
        """Return the messages that answer a host's `hello`."""

    def heartbeat(self, now_ms: int) -> list[object]:
        """Return the message `heartbeat`."""

    def acknowledged(self) -> None:
        """Note that a host has acknowledged events."""

    def command(self, shape: Shape, values: list[object]) -> list[object]:
        """Carry out a command; return the message that answers it."""
