"""The RP2040 as an attacker knows it: pico_rand, and the sources that a board samples.

pico-sdk's pico_rand is xoroshiro128** with a state of 128 bits. Each call hashes (splitmix64) three
values into the state before it draws 64 bits: the timer in microseconds, a register of the last 64
random bits of the ring oscillator (one new bit for each call), and a counter of accesses to a bank
of RAM. MicroPython 1.28 fills `os.urandom` with such draws.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

_WORD = (1 << 64) - 1
_DRAW = 8
_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_FIRST_BACK, _SECOND_BACK = pow(_FIRST, -1, 1 << 64), pow(_SECOND, -1, 1 << 64)
_FIVE_BACK, _NINE_BACK = pow(5, -1, 1 << 64), pow(9, -1, 1 << 64)
_BIT_US = 10
"""The least time between two bits of the oscillator."""

OSCILLATOR, ADC, TIMER, SYSTEM = range(4)
SOURCES = {OSCILLATOR: "oscillator", ADC: "adc", TIMER: "timer", SYSTEM: "system"}


def hashed(value: int) -> int:
    """splitmix64 of a value."""
    value = value + _GAMMA & _WORD
    value = (value ^ value >> 30) * _FIRST & _WORD
    value = (value ^ value >> 27) * _SECOND & _WORD
    return value ^ value >> 31


def unhashed(value: int) -> int:
    """Return the value of which this is the splitmix64."""
    value = _unshifted(value, 31) * _SECOND_BACK & _WORD
    value = _unshifted(value, 27) * _FIRST_BACK & _WORD
    return _unshifted(value, 30) - _GAMMA & _WORD


def _unshifted(value: int, by: int) -> int:
    """Return x of `value` = x ^ x >> by."""
    found = value
    for _ in range(64 // by):
        found = value ^ found >> by
    return found


def _turned(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _WORD


def output_of(low: int) -> int:
    """Return what xoroshiro128** draws with this first word of the state."""
    return _turned(low * 5 & _WORD, 7) * 9 & _WORD


def word_of(output: int) -> int:
    """Return the first word of the state from which this was drawn."""
    return _turned(output * _NINE_BACK & _WORD, 57) * _FIVE_BACK & _WORD


@dataclass(frozen=True)
class Mixed:
    """What a call mixes in, besides the register of the oscillator's bits."""

    time_us: int
    accesses: int
    bit: int = 0

    def word(self) -> int:
        """Both numbers as they come into the first word of the state."""
        return hashed(self.time_us) ^ hashed(self.accesses)


@dataclass(frozen=True)
class State:
    """The state of pico_rand between two calls, with the register of the oscillator's bits."""

    low: int
    high: int
    bits: int

    def drawn(self, mixed: Mixed) -> "tuple[State, int]":
        """Return the state after a call that mixes this in, and the 64 bits that it draws."""
        bits = (self.bits << 1 | mixed.bit) & _WORD
        return self.churned(self.low ^ mixed.word(), bits)

    def churned(self, low: int, bits: int) -> "tuple[State, int]":
        """Return the same for a call that makes `low` the first word and `bits` the register."""
        high = self.high ^ hashed(bits) ^ low
        after = (_turned(low, 24) ^ high ^ high << 16) & _WORD
        return State(after, _turned(high, 37), bits), output_of(low)


@dataclass(frozen=True)
class Rates:
    """How far timer and counter move between two calls: at least, and how many values there are."""

    least_us: int
    values_us: int
    least_accesses: int
    values_accesses: int

    def after(self, mixed: Mixed) -> Iterator[Mixed]:
        """All that the next call may mix in; its bit is left 0."""
        for us in range(self.values_us):
            for accesses in range(self.values_accesses):
                yield Mixed(
                    mixed.time_us + self.least_us + us,
                    mixed.accesses + self.least_accesses + accesses,
                )


WITHIN = Rates(_BIT_US, 2, 14, 2)
"""Between two draws for the same call of os.urandom."""
BETWEEN = Rates(5_000, 8, 2_000, 8)
"""Between two such calls that the attacker has timed."""


class Chip:
    """A chip whose samples follow from `seed`, so that the attacker has each of them.

    The sources in `stuck` give `level` for ever. With SYSTEM among them, os.urandom does.
    """

    def __init__(self, seed: int, stuck: tuple[int, ...] = (), level: int = 0) -> None:
        self._hidden = random.Random(seed)
        self._stuck = stuck
        self._level = level
        self.given: list[tuple[int, bytes]] = []
        """Source and samples of all that was asked for, in order."""
        self.calls: list[Mixed] = []
        """What the first draw for each call of os.urandom mixed in."""
        hidden = self._hidden
        self.state = State(*(hidden.getrandbits(64) for _ in range(3)))
        self.mixed = Mixed(hidden.randrange(1 << 20), hidden.randrange(1 << 16))

    def urandom(self, size: int) -> bytes:
        """os.urandom of MicroPython."""
        if SYSTEM in self._stuck:
            return bytes([self._level]) * size
        data = b""
        while len(data) < size:
            rates = WITHIN if data else BETWEEN
            mixed = self._hidden.choice(list(rates.after(self.mixed)))
            self.mixed = replace(mixed, bit=self._hidden.getrandbits(1))
            if not data:
                self.calls.append(self.mixed)
            self.state, output = self.state.drawn(self.mixed)
            data += output.to_bytes(_DRAW, "little")
        return data[:size]

    def noise(self, source: int, buf: "memoryview | bytearray") -> None:
        """Fill the buffer with samples of a source, as a board does."""
        buf[:] = data = self._samples(source, len(buf))
        self.given.append((source, data))

    def _samples(self, source: int, size: int) -> bytes:
        hidden = self._hidden
        if source in self._stuck:
            return bytes([self._level]) * size
        if source == OSCILLATOR:
            return bytes(each & 1 for each in hidden.randbytes(size))
        if source == ADC:  # the thermometer, 12 bits, with a noise of some steps
            return bytes(876 + hidden.randrange(-6, 7) & 0xFF for _ in range(size))
        if source == TIMER:
            first = hidden.randrange(1 << 30)
            return bytes(first + at * 23 // 10 & 0xFF for at in range(size))
        return self.urandom(size)
