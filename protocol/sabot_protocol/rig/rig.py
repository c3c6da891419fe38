"""Messages of a test rig, between a test on a computer and the bench board at a real shoe.

Frames and CBOR are those of a shoe's link, over the bench board's own USB serial line. Each command
has a `number` that its answer repeats. Times are microseconds of the bench board's clock since its
start.
"""

from sabot_protocol.schema import Shape

_to_rig: "list[Shape]" = []
_from_rig: "list[Shape]" = []

VERSION = 2
"""The version of these messages. Any change of a message makes a new version."""

SILENCE_MS = 5000
"""After this time without a message the host is considered gone, and the rig makes itself safe."""

CHANNELS = 4
"""Sensor outputs: E, A, B, X from the lowest bit, as in a sample."""

RUN_BYTES = 4
MIN_RUN_US = 3
MAX_RUN_US = 10_000_000
"""A *run* is a time in which the sensor outputs do not change, in RUN_BYTES bytes, little-endian:
the levels in the lowest four bits, the length in us above them. A longer run is given in pieces.
The bench board's crystal is off by at most 30 ppm."""

MAX_PART_BYTES = 480
"""The largest number of bytes of runs in one message."""
MAX_RUNS = 4096
"""Runs that the bench board holds. The rest of a longer pattern is loaded while it plays."""
MAX_PATTERN_RUNS = 1 << 20
MAX_PRESS_US = 10_000_000
MAX_BROWN_OUT_US = 300_000
MAX_SAG_US = 2_500_000
"""The longest sag in all: the board answers at its end, and the host waits 3 s."""
MAX_SUPPLY_MV = 3300

SENSES = (
    "lamp_player", "lamp_banker", "lamp_tie", "lamp_ready", "lamp_error",
    "lock", "buzzer", "supply",
)  # fmt: skip
"""What the bench board senses, from the lowest bit."""

WATCH_US = 50
"""How often it samples them. The time of a change is that of the first sample with it."""

CHANGE_KINDS = ("lamps", "lock", "beep", "supply")
"""What changed. `lamps`: bit n is the n-th of `enums.LAMPS`; `lock`: 1 is released; `beep`: a beep
that has ended, with the time of its start and its length in us as value; `supply`: 1 is on."""

REASONS = ("bad_arguments", "no_power", "busy", "full", "not_loaded", "not_known", "not_fitted")
"""Why a command was refused. `busy`: a pattern plays; `full`: no room for this many runs now;
`not_loaded`: there is no pattern, or not enough of it; `not_known`: no `hello` came before;
`not_fitted`: this bench board has no filter for the supply's level."""

PROBLEMS = ("damaged", "oversize", "not_a_message", "changes_lost", "display_lost", "underrun")
"""What went wrong without a command. `changes_lost`: the senses were not sampled in time, or the
changes were not sent in time; `display_lost`: the same with the display; `underrun`: the rest of a
pattern came too late, and the pattern was ended."""

# To the rig

HELLO = Shape(160, "rig_hello", "rig:uint session:uint", _to_rig)
"""`rig`: the host's VERSION. Answered by `rig_report`, also for another version."""
POWER = Shape(161, "rig_power", "number:uint on:flag", _to_rig)
BROWN_OUT = Shape(162, "rig_brown_out", "number:uint us:uint", _to_rig)
"""Power off for this time, and on again."""
PRESS = Shape(163, "rig_press", "number:uint button:button us:uint", _to_rig)
"""Hold a button for this time; answered once it is released."""
SWITCH = Shape(164, "rig_switch", "number:uint switch:switch on:flag", _to_rig)
PREPARE = Shape(165, "rig_prepare", "number:uint runs:uint", _to_rig)
"""Prepare for a pattern of this many runs. The sensor outputs do not change."""
LOAD = Shape(166, "rig_load", "number:uint runs:bytes", _to_rig)
"""The next runs; answered with the number of runs that there is room for now."""
START = Shape(167, "rig_start", "number:uint", _to_rig)
"""Play the pattern; answered with the time of the first run. The last levels stay at the end."""
STOP = Shape(168, "rig_stop", "number:uint", _to_rig)
"""End a pattern; the sensor outputs go low."""
LOOK = Shape(169, "rig_look", "number:uint", _to_rig)
ALIVE = Shape(170, "rig_alive", "", _to_rig)
SAG = Shape(171, "rig_sag", "number:uint mv:uint fall_us:uint low_us:uint rise_us:uint", _to_rig)
"""Lower the shoe's 3.3 V to `mv` within `fall_us`, keep it there, and raise it again; answered at
the end."""

# From the rig

REPORT = Shape(176, "rig_report", "rig:uint firmware:text session:uint t_us:uint", _from_rig)
"""`session`: that of the `rig_hello`; `t_us`: the time now."""
DONE = Shape(177, "rig_done", "number:uint value:uint", _from_rig)
REFUSED = Shape(178, "rig_refused", "number:uint reason:uint", _from_rig)
PLAYED = Shape(179, "rig_played", "number:uint begin_us:uint end_us:uint", _from_rig)
"""The pattern that the START with this number began has ended."""
CHANGE = Shape(180, "rig_change", "t_us:uint what:uint value:uint", _from_rig)
LEVELS = Shape(181, "rig_levels", "number:uint t_us:uint levels:uint", _from_rig)
"""The answer to LOOK: bit n is the n-th of SENSES."""
DISPLAY = Shape(182, "rig_display", "t_us:uint written:bytes", _from_rig)
"""A write to the display's I2C address, with its first byte, and the time when it ended."""
PROBLEM = Shape(183, "rig_problem", "problem:uint count:uint", _from_rig)
"""`count`: how often this happened since the start."""

TO_RIG = tuple(_to_rig)
FROM_RIG = tuple(_from_rig)
del _to_rig, _from_rig
