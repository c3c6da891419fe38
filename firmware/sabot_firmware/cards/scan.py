"""The first half of the card reader: takes samples, filters noise, gives the edges of a pass.

It handles every sample, so it does as little as possible with each. A channel changes after three
equal samples in a row: one flipped sample never makes an edge, and the narrowest gap at the highest
speed (1.1 mm at 3 m/s, 7 samples) still does.
"""

from array import array

from sabot_firmware.native import const, micropython, ptr8, ptr32

E = const(1)
A = const(2)
B = const(4)
X = const(8)
COVERED = const(E | X)
MARK = const(A | B)

SAMPLE_RATE_HZ = const(20000)

MAX_EDGES = const(240)
"""Edges kept of one pass: 14 marks on two tracks have 60, holes and noise add some."""

STILL_SAMPLES = const(3 * SAMPLE_RATE_HZ)
"""A pass in which nothing moves for this long is a jam (card code specification, faults)."""

RUN_BYTES = const(2048)
"""Room for the runs of equal samples of one pass: a slow pass with much noise takes 1,800."""

# Why `scan` stopped.
NOTHING = const(0)
"""It has scanned all samples."""
MARK_GONE = const(1)
"""A mark went by; it was the 14th or a later one."""
PASS_ENDED = const(2)
"""A pass has ended."""
STOOD_STILL = const(3)
"""Nothing moved for STILL_SAMPLES within a pass."""
STUCK = const(4)
"""A track was on for STILL_SAMPLES with no card there."""
CHATTER = const(5)
"""A channel changes faster than any card makes it change."""

_MARKS = const(14)
_DELAY = const(3)  # samples from an edge to the end of the sample that confirms it
_SHORTEST_PASS = const(60)  # samples; a card at 3 m/s takes 500
_CLEAR = const(40)  # samples with nothing covered that end a pass; cards come 600 apart or more
_FLICKER = const(8)  # samples; a change that is reversed within this time is not a movement
# Each sample that differs from what its channel shows adds 8, each sample takes 1 away. Cards at
# 3 m/s stay below 1,500, and one flipped sample in eight adds up to nothing; chatter gets over
# _MOST_RESTLESS in 70 ms.
_RESTLESS = const(8)
_MOST_RESTLESS = const(4000)
_NEVER = const(0x3FFFFFFF)
_LONG_AGO = const(0x1000000)
_LEAD_SAMPLES = const(600)  # of the rest before a pass, kept with it
_SHORT_RUN = const(8)
_LONGEST_RUN = const(65535)
_RUN_SIZE = const(3)  # bytes, the most that a run takes
_UNSTEADY = const(256)  # a value that no pair of samples has

# Places in the state. The filter: what each channel shows, and a counter in two bits of the
# samples that differ from it.
_LEVEL = const(0)
_HIGH = const(1)
_LOW = const(2)
_NOW = const(3)  # in samples, as all times
_EDGE = const(4)  # when the last edge was
_RAW_SINCE = const(5)  # when the present run of equal samples began
_DIFFERED = const(6)  # when a sample last differed from what its channel shows
_RAW = const(7)
_BEFORE = const(8)  # what the channels showed before the last edge
_IN_PASS = const(9)
_BEGAN = const(10)
_COUNT = const(11)
_GONE = const(12)  # marks that went by
_SINCE = const(13)  # when something last moved
_SINCE_BEFORE = const(14)  # the same without the last edge
_BLOCKED = const(15)
_UNREST = const(16)
_RUNS = const(17)  # bytes
_CUT = const(18)
_LASTED = const(19)
_WHY = const(20)
_STATE_SIZE = const(21)


class Scanner:
    """Filters four channels and collects the edges of one pass after another.

    A pass lasts from the first sample with a covered photo-interrupter to the last one.
    """

    def __init__(self) -> None:
        self.times = array("i", [0] * MAX_EDGES)
        """The time of each edge, in samples since the pass began."""
        self.levels = bytearray(MAX_EDGES)
        """What the four channels show from that edge on."""
        self.runs = bytearray(RUN_BYTES)
        """The pass as runs of equal samples (protocol/README.md, "Runs of a pass")."""
        self.why = NOTHING
        """Why the last `scan` stopped."""
        self.count = 0
        """Edges of this pass when `scan` last stopped for something."""
        # These are asked for in every turn of the shoe, where a property costs too much time.
        self.in_pass = False
        """Whether a card is passing. False again once its pass has ended or was given up."""
        self.marks_gone = 0
        """Marks of this pass that have gone by; each piece of a broken mark counts."""
        self.blocked = False
        """Whether the last pass was given up: nothing can be read until all channels are clear."""
        self._state = array("i", [0] * _STATE_SIZE)

    @property
    def lasted(self) -> int:
        """Length in samples of the pass that has ended; 0 if there was no card."""
        return self._state[_LASTED]

    @property
    def passing_samples(self) -> int:
        """How long a card has been passing, in samples; 0 if no card is passing."""
        return self._state[_NOW] - self._state[_BEGAN] if self.in_pass else 0

    @property
    def cut(self) -> bool:
        """Whether there were more runs than `runs` has room for."""
        return self._state[_CUT] != 0

    @micropython.native
    def scan(self, data: "bytearray | bytes", at: int, end: int) -> int:
        """Scan samples from `data[at:end]` until there is something to report, or to the end.

        Returns the index after the last sample scanned; `why` says why it stopped there.
        """
        state = self._state
        at = _scan(state, data, at, end, self.times, self.levels, self.runs)  # type: ignore[arg-type]
        self.why = why = state[_WHY]
        if why:
            self.count = state[_COUNT]
        self.in_pass = state[_IN_PASS] != 0
        self.marks_gone = state[_GONE]
        self.blocked = state[_BLOCKED] != 0
        return at

    def close_runs(self) -> int:
        """Close the last run of a pass that has ended; return how many bytes of `runs` are used."""
        state = self._state
        size = state[_RUNS]
        length = min(state[_NOW] - state[_RAW_SINCE], _LONGEST_RUN)
        if size <= RUN_BYTES - _RUN_SIZE and length:
            self.runs[size] = state[_RAW] << 4
            self.runs[size + 1] = length & 255
            self.runs[size + 2] = length >> 8
            size += _RUN_SIZE
        state[_RUNS] = 0
        state[_RAW_SINCE] = state[_NOW]
        return size

    def give_up(self) -> None:
        """Give up the pass: samples were lost, so the card that is passing cannot be read."""
        self._state[_IN_PASS] = 0
        self._state[_BLOCKED] = 1
        self.in_pass, self.blocked = False, True


@micropython.viper
def _scan(
    state: ptr32, data: ptr8, at: int, end: int, times: ptr32, levels: ptr8, runs: ptr8
) -> int:
    level = state[_LEVEL]
    high = state[_HIGH]
    low = state[_LOW]
    now = state[_NOW]
    raw = state[_RAW]
    steady = _UNSTEADY if high | low else level * 17
    why = 0
    due = now  # so that the first pair finds out what is due
    while at < end:
        pair = data[at]
        at += 1
        if pair == steady:
            now += 2
            if now < due:
                continue
        else:
            half = 0
            while half < 2:
                half += 1
                sample = pair & 15
                pair >>= 4
                if sample != raw:
                    # A run has ended. The runs of a pass begin with the rest before it.
                    length = now - state[_RAW_SINCE]
                    place = state[_RUNS]
                    if state[_IN_PASS] == 0 and length >= _SHORT_RUN:
                        place = 0
                        state[_CUT] = 0
                        if length > _LEAD_SAMPLES and raw == 0:
                            length = _LEAD_SAMPLES
                    while length > 0:
                        part = length if length < _LONGEST_RUN else _LONGEST_RUN
                        length -= part
                        if place > RUN_BYTES - _RUN_SIZE:
                            state[_CUT] = 1
                        elif part < 16:
                            runs[place] = raw << 4 | part
                            place += 1
                        else:
                            runs[place] = raw << 4
                            runs[place + 1] = part & 255
                            runs[place + 2] = part >> 8
                            place += 3
                    state[_RUNS] = place
                    state[_RAW_SINCE] = now
                    raw = sample
                now += 1
                differs = sample ^ level
                if differs == 0:
                    high = 0
                    low = 0
                    continue
                unrest = state[_UNREST] - (now - state[_DIFFERED])
                state[_UNREST] = (unrest if unrest > 0 else 0) + _RESTLESS
                state[_DIFFERED] = now
                changed = high & ~low & differs  # the counter was two and is three now
                high = (high ^ low) & differs & ~changed
                low = ~low & differs & ~changed
                if changed == 0:
                    continue
                was = level
                level = was ^ changed
                edge = now - _DELAY
                if state[_BLOCKED] == 0:
                    if state[_IN_PASS] == 0 and level & COVERED != 0:
                        state[_IN_PASS] = 1
                        state[_BEGAN] = edge
                        state[_COUNT] = 0
                        state[_GONE] = 0
                        state[_SINCE] = edge
                        state[_SINCE_BEFORE] = edge
                    if state[_IN_PASS] != 0:
                        if level == state[_BEFORE] and edge - state[_EDGE] <= _FLICKER:
                            state[_SINCE] = state[_SINCE_BEFORE]
                        else:
                            state[_SINCE_BEFORE] = state[_SINCE]
                            state[_SINCE] = edge
                        count = state[_COUNT]
                        if count < MAX_EDGES:
                            times[count] = edge - state[_BEGAN]
                            levels[count] = level
                            state[_COUNT] = count + 1
                        else:
                            state[_UNREST] = _MOST_RESTLESS
                        if was & MARK != 0 and level & MARK == 0:
                            state[_GONE] += 1
                            if state[_GONE] >= _MARKS:
                                why = MARK_GONE
                state[_BEFORE] = was
                state[_EDGE] = edge
        if state[_BLOCKED] != 0:
            due = _NEVER
            if level == 0:
                due = state[_EDGE] + _CLEAR
                since = state[_DIFFERED] + _CLEAR
                due = since if since > due else due
                if now >= due:
                    state[_BLOCKED] = 0
                    state[_UNREST] = 0
                    due = _NEVER
        elif state[_UNREST] >= _MOST_RESTLESS:
            state[_LASTED] = now - state[_BEGAN] if state[_IN_PASS] != 0 else 0
            state[_BLOCKED] = 1
            why = CHATTER
        elif state[_IN_PASS] != 0:
            if level & COVERED != 0:
                due = state[_SINCE] + STILL_SAMPLES + 1
                if now >= due:
                    state[_LASTED] = now - state[_BEGAN]
                    state[_BLOCKED] = 1
                    why = STOOD_STILL
            else:
                due = state[_EDGE] + _CLEAR
                if now >= due:
                    lasted = state[_EDGE] - state[_BEGAN]
                    state[_LASTED] = lasted
                    state[_UNREST] = 0
                    if lasted >= _SHORTEST_PASS or state[_COUNT] > 4:
                        why = PASS_ENDED
                    else:
                        state[_IN_PASS] = 0
                    due = _NEVER
        elif level & MARK != 0:
            due = state[_EDGE] + STILL_SAMPLES
            if now >= due:
                state[_LASTED] = 0
                state[_BLOCKED] = 1
                why = STUCK
        else:
            due = _NEVER
        if why != 0:
            break
        steady = _UNSTEADY if high | low else level * 17
    if why > MARK_GONE:
        state[_IN_PASS] = 0
    if now > _LONG_AGO and state[_IN_PASS] == 0:
        # This keeps the clock a small integer, however long no card comes.
        shift = now - STILL_SAMPLES
        now = STILL_SAMPLES
        for place in range(_EDGE, _DIFFERED + 1):
            then = state[place] - shift
            state[place] = then if then > 0 else 0
    state[_LEVEL] = level
    state[_HIGH] = high
    state[_LOW] = low
    state[_RAW] = raw
    state[_NOW] = now
    state[_WHY] = why
    return at
