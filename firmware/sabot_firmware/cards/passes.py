"""The last passes, kept with what the sensor head saw, for a host that asks: runs of equal samples.

Faults are kept a second time in a separate memory, because many good cards may follow before a host
asks about a bad one. Nothing here shows a card that is still in the shoe.
"""

import struct

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.cards.reader import Pass

_HEAD = "<IIBbbBHHHIH"
_HEAD_SIZE = struct.calcsize(_HEAD)
_T_MASK = 0xFFFFFFFF
_MOST_HELD = const(8)  # a round of midi with two cards too many


class KeptPass:
    """One pass that is kept. The fields are those of `sabot_protocol.messages.PASS_REPORT`."""

    def __init__(self, head: tuple, runs: memoryview) -> None:
        self.number, self.t_ms, self.fault, card, card_set, cut = head[:6]
        self.speed_mm_s, self.margin_permille, self.skew_um, self.samples, self.size = head[6:]
        self.card: "int | None" = None if card < 0 else card
        self.card_set: "int | None" = None if card_set < 0 else card_set
        self.cut = cut != 0
        self.runs = runs
        """Valid until the next pass."""


class Passes:
    """The last passes since the start of the unit, numbered from 1.

    `recent` and `faults` are the memory for them.
    """

    def __init__(self, recent: bytearray, faults: bytearray) -> None:
        self.count = 0
        """Passes since the start."""
        self.held: "list[tuple[int, ...]]" = []
        """`permille` of the cards that are sealed: they count for the health of the head later."""
        self._recent = _Shelf(recent)
        self._faults = _Shelf(faults)

    def keep(self, passed: "Pass", runs: memoryview, cut: bool, t_ms: int) -> None:
        """Keep the pass that `passed` describes."""
        self.count += 1
        head = struct.pack(
            _HEAD,
            self.count,
            t_ms & _T_MASK,
            passed.fault,
            passed.card,
            passed.card_set,
            1 if cut else 0,
            min(passed.speed_mm_s, 65535),
            passed.margin_permille,
            min(passed.skew_um, 65535),
            passed.samples,
            len(runs),
        )
        self._recent.put(head, runs)
        if passed.fault:
            self._faults.put(head, runs)

    def hold(self, permille: "list[int]") -> None:
        """Hold back how the channels saw a sealed card."""
        if len(self.held) < _MOST_HELD:
            self.held.append(tuple(permille))

    def forget(self) -> None:
        """Forget all kept passes. Their numbers are not used again."""
        self.held = []
        self._recent.clear()
        self._faults.clear()

    def first_after(self, number: int) -> "KeptPass | None":
        """Return the first kept pass with a number above `number`, or None."""
        recent, fault = self._recent.first_after(number), self._faults.first_after(number)
        if recent is None or (fault is not None and fault.number < recent.number):
            return fault
        return recent

    def get(self, number: int) -> "KeptPass | None":
        """Return the pass with this number, None if it is not kept."""
        kept = self.first_after(number - 1)
        return kept if kept is not None and kept.number == number else None


class _Shelf:
    """Passes one after another in one piece of memory; the oldest are dropped to make room."""

    def __init__(self, memory: bytearray) -> None:
        self._memory = memoryview(memory)
        self._used = 0

    def clear(self) -> None:
        self._used = 0

    def put(self, head: bytes, runs: memoryview) -> None:
        memory = self._memory
        need = _HEAD_SIZE + len(runs)
        begin = 0
        while self._used - begin + need > len(memory):
            begin += _HEAD_SIZE + self._at(begin).size
        if begin:
            left = self._used - begin
            memory[:left] = memory[begin : self._used]
            self._used = left
        at = self._used
        memory[at : at + _HEAD_SIZE] = head
        memory[at + _HEAD_SIZE : at + need] = runs
        self._used = at + need

    def first_after(self, number: int) -> "KeptPass | None":
        at = 0
        while at < self._used:
            kept = self._at(at)
            if kept.number > number:
                return kept
            at += _HEAD_SIZE + kept.size
        return None

    def _at(self, at: int) -> KeptPass:
        head = struct.unpack_from(_HEAD, self._memory, at)
        begin = at + _HEAD_SIZE
        return KeptPass(head, self._memory[begin : begin + head[-1]])
