"""The PIO and the DMA of an RP2040 for tests, under the names of the module `rp2`.

It raises for what the firmware must not do: a DMA outside of every buffer, an unknown field.
"""

_RAM = 0x20000410  # without a particular alignment, as from the heap
_PERMANENT = 63
_CHANNELS = 12
_COUNT_TRIGGER = 7
_JOINED = 8  # words of a FIFO: RP2040 data sheet, 3.2
_CTRL_FIELDS = (
    "size", "inc_read", "inc_write", "ring_size", "ring_sel", "treq_sel", "chain_to",
)  # fmt: skip


class RpChip:
    """The memory, and the state machines and DMA channels that move data in it."""

    def __init__(self) -> None:
        self.state_machine: "StateMachine | None" = None
        """State machine 0; `state_machines` has all by number."""
        self.state_machines: "dict[int, StateMachine]" = {}
        self.channels: "list[DMA]" = []
        self._regions: "list[tuple[int, bytearray]]" = []
        self._next_address = _RAM

    def address_of(self, buf) -> int:
        for address, known in self._regions:
            if known is buf:
                return address
        address = self._next_address
        self._regions.append((address, buf))
        self._next_address += len(buf) + 48
        return address

    def buffer_at(self, address: int):
        for begin, buf in self._regions:
            if begin == address:
                return buf
        raise AssertionError("no buffer begins there")

    def peek(self, address: int) -> int:
        for begin, buf in self._regions:
            if begin <= address < begin + len(buf):
                return buf[address - begin]
        raise AssertionError("DMA reads outside of every buffer")

    def poke(self, address: int, octet: int) -> None:
        for begin, buf in self._regions:
            if begin <= address < begin + len(buf):
                buf[address - begin] = octet
                return
        raise AssertionError("DMA writes outside of every buffer")


chip = RpChip()


def new_chip() -> RpChip:
    """Replace the chip by one that was just reset."""
    global chip
    chip = RpChip()
    return chip


class StateMachine:
    """Does one PIO instruction a cycle, with an input shift register as in the data sheet."""

    def __init__(self, number: int, program, freq: int, in_base) -> None:
        self.number = number
        self.options, self.instructions = program
        self.freq = freq
        self.in_base = in_base
        self.running = False
        self.fifo: "list[int]" = []
        self._at = self._register = self._bits = self._us = 0
        assert number not in chip.state_machines
        chip.state_machines[number] = self
        if not number:
            chip.state_machine = self

    def rx_fifo(self) -> int:
        return len(self.fifo)

    def get(self, into) -> None:
        into[0] = self.fifo.pop(0)

    def pass_us(self, us: int, pins: int) -> None:
        """Hold the pins at these levels for `us`. An instruction takes a cycle and its delay."""
        self._us += us
        while self._us * self.freq >= 1_000_000 * (1 + self.instructions[self._at][2]):
            self._us -= 1_000_000 * (1 + self.instructions[self._at][2]) // self.freq
            if len(self.fifo) < _JOINED:  # otherwise it waits
                self.cycle(pins)

    def active(self, running: int) -> None:
        self.running = bool(running)

    def cycle(self, pins: int) -> None:
        if not self.running:
            return
        source, bits, _ = self.instructions[self._at]
        assert source == "pins"
        self._at = (self._at + 1) % len(self.instructions)
        value = pins & ((1 << bits) - 1)
        if self.options["in_shiftdir"] == Pio.SHIFT_RIGHT:
            self._register = self._register >> bits | value << 32 - bits
        else:
            self._register = (self._register << bits | value) & 0xFFFFFFFF
        self._bits += bits
        if self.options["autopush"] and self._bits >= self.options["push_thresh"]:
            self.fifo.append(self._register)
            self._register = self._bits = 0
            for channel in chip.channels:
                channel.request(4 + self.number)  # DREQ_PIO0_RX0 and those after it


class _Delay:
    """The suffix of an instruction: `[n]`, cycles to wait."""

    def __init__(self, instructions, source: str, bits: int) -> None:
        self._instructions = instructions
        instructions.append((source, bits, 0))

    def __getitem__(self, cycles: int) -> None:
        assert 0 <= cycles < 32
        source, bits, _ = self._instructions[-1]
        self._instructions[-1] = source, bits, cycles


class _Register:
    def __init__(self, channel: "DMA", number: int) -> None:
        self.channel = channel
        self.number = number


class _Registers:
    def __init__(self, channel: "DMA") -> None:
        self._channel = channel

    def __getitem__(self, where: slice) -> _Register:
        return _Register(self._channel, where.start)


class DMA:
    """A channel with its ring, chain and triggers. `ctrl` is kept as the fields it packs."""

    def __init__(self) -> None:
        self.channel = len(chip.channels)
        assert self.channel < _CHANNELS
        self.registers = _Registers(self)
        self.count = 0
        self.busy = False
        self._reload = 0
        self._read = self._write = None
        self._from = self._to = 0
        self._ctrl: "dict[str, int]" = {}
        chip.channels.append(self)

    def pack_ctrl(self, **fields) -> "dict[str, int]":
        ctrl = {"size": 2, "inc_read": 1, "inc_write": 1, "ring_size": 0, "ring_sel": 0}
        ctrl["treq_sel"] = _PERMANENT
        ctrl["chain_to"] = self.channel
        for name in fields:
            assert name in _CTRL_FIELDS
            ctrl[name] = int(fields[name])
        return ctrl

    def config(self, *, read=None, write=None, count=None, ctrl=None, trigger=False) -> None:
        if read is not None:
            self._read = read
            self._from = read if isinstance(read, int) else 0  # in an array: bytes from its start
        if write is not None:
            self._write = write
            if isinstance(write, int):
                self._to = write
            elif isinstance(write, bytearray):
                self._to = chip.address_of(write)
        if count is not None:
            self._reload = count
        if ctrl is not None:
            self._ctrl = ctrl
        if trigger:
            self.start()

    def active(self, on=None) -> bool:
        if on == 0:
            self.busy = False
        return self.busy

    def start(self) -> None:
        self.count = self._reload
        self.busy = self.count > 0
        self.request(_PERMANENT)

    def request(self, source: int) -> None:
        while self.busy and self._ctrl["treq_sel"] == source:
            self._transfer()
            if source != _PERMANENT:
                break

    def _transfer(self) -> None:
        size = 1 << self._ctrl["size"]
        self._put(self._get(size), size)
        ring = (1 << self._ctrl["ring_size"]) - 1
        if self._ctrl["inc_read"]:
            self._from = _advance(self._from, size, 0 if self._ctrl["ring_sel"] else ring)
        if self._ctrl["inc_write"]:
            self._to = _advance(self._to, size, ring if self._ctrl["ring_sel"] else 0)
        self.count -= 1
        if not self.count:
            self.busy = False
            if self._ctrl["chain_to"] != self.channel:
                chip.channels[self._ctrl["chain_to"]].start()

    def _get(self, size: int) -> int:
        if isinstance(self._read, StateMachine):
            return self._read.fifo.pop(0)
        if isinstance(self._read, int):
            word = 0
            for i in range(size):  # a test locks the heap: no generator
                word |= chip.peek(self._from + i) << 8 * i
            return word
        return self._read[self._from // size]  # an array of words

    def _put(self, word: int, size: int) -> None:
        if isinstance(self._write, _Register):
            assert self._write.number == _COUNT_TRIGGER and size == 4
            self._write.channel._reload = word
            self._write.channel.start()
        else:
            for i in range(size):
                chip.poke(self._to + i, word >> 8 * i & 0xFF)


def _advance(address: int, size: int, ring: int) -> int:
    if ring:
        return (address & ~ring) | ((address + size) & ring)
    return address + size


class Pio:
    SHIFT_LEFT, SHIFT_RIGHT = 0, 1
    JOIN_TX, JOIN_RX = 1, 2
    OUT_LOW = 0


class Rp2:
    PIO = Pio
    DMA = DMA
    StateMachine = StateMachine

    def asm_pio(self, **options):
        def assemble(function):
            instructions = []
            scope = function.__globals__
            scope["pins"] = "pins"
            scope["in_"] = lambda source, bits: _Delay(instructions, source, bits)
            function()
            del scope["pins"], scope["in_"]
            return options, instructions

        return assemble
