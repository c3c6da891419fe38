"""Every message of the link. A message on the wire is `[number, ...its fields]`.

The host speaks first, with `hello`; before that a shoe answers nothing else.

Each message is defined here once: its fields, and for a command who may send it and which report
answers it. All lists of messages are made from these definitions.
"""

from sabot_protocol.schema import Shape

OPEN = 0
"""Who may send a command (a message with an `id` and an answer): anyone."""
PROVEN = 1
"""Who may send a command: a host that has sent a `signed` command in this session."""
IN_SIGNED = 2
"""Who may send a command: only a host that puts it into a `signed`."""

_to_device: "list[Shape]" = []
_to_host: "list[Shape]" = []

# The session

HELLO = Shape(1, "hello", "protocol:uint session:uint", _to_device)
"""Opens the link. `session` is a random number, the host's challenge; the four answers repeat it.
These fields stay as they are in every version: a shoe of another one must understand them."""

# The answer to `hello` has four short frames: on a bad line a long one may never arrive.
WELCOME = Shape(
    64,
    "welcome",
    (
        "session:uint "
        "protocol:uint "
        "unit:text "
        "boot:uint "
        "reset_cause:reset_cause "
        "first_held:uint "  # first and last event that the shoe can still send
        "last_held:uint "
        "max_payload:uint"
    ),
    _to_host,
)

FIRMWARE = Shape(71, "firmware", "session:uint version:text build:bytes board:text", _to_host)

GAME = Shape(72, "game", "session:uint name:text sha256:bytes", _to_host)

NO_GAME = "none"
"""The name if no game is dealt: by a board that takes an update or is not a unit yet."""

CHALLENGE = Shape(77, "challenge", "session:uint challenge:bytes proof:bytes", _to_host)
"""The CHALLENGE_SIZE random bytes that are part of each MAC of this session, and the shoe's MAC of
its other three answers. Both are empty if the unit has no key yet."""

CHALLENGE_SIZE = 16

WRONG_VERSION = Shape(65, "wrong_version", "protocol:uint asked:uint", _to_host)

ACK = Shape(2, "ack", "number:uint", _to_device)
"""Every event up to `number` is durable. A repeated `ack` shows that the host is alive and asks for
missing events."""

EVENT = Shape(66, "event", "record:bytes mac:bytes", _to_host)

HEARTBEAT = Shape(
    68,
    "heartbeat",
    ("t_ms:uint phase:phase error:error shoe:uint round:uint first_held:uint last_held:uint"),
    _to_host,
)

PROBLEM = Shape(69, "problem", "problem:problem count:uint", _to_host)

# Commands: who may send them, and the report if the answer is not a `reply`

REPLY = Shape(67, "reply", "id:uint refusal:refusal detail:text", _to_host)

SIGNED = Shape(29, "signed", "id:uint command:bytes mac:bytes", _to_device)
"""A command: its message with the same `id`, and the MAC of it (README.md, "Who may ask")."""

SET_CLOCK = Shape(16, "set_clock", "id:uint unix_ms:uint", _to_device, IN_SIGNED)

IDENTIFY = Shape(17, "identify", "id:uint", _to_device, IN_SIGNED)

READ_EVENTS = Shape(19, "read_events", "id:uint first:uint", _to_device, PROVEN)

LOAD_GAME = Shape(
    20, "load_game", "id:uint offset:uint size:uint part:bytes", _to_device, IN_SIGNED
)
"""A part of a game document of `size` bytes, in order from offset 0. At the last part the whole
document is checked and taken, or refused."""

MAX_GAME_PART = 400

GAME_PART = Shape(
    79,
    "game_part",
    (
        "id:uint "
        "sha256:bytes "  # of the whole document
        "size:uint "  # bytes of the whole document
        "offset:uint "
        "part:bytes"
    ),
    _to_host,
)

READ_GAME = Shape(33, "read_game", "id:uint offset:uint", _to_device, PROVEN, GAME_PART)
"""Asks for a part of the document of the game that is dealt, from byte `offset` on, at most
MAX_GAME_PART bytes."""

RESTART = Shape(27, "restart", "id:uint", _to_device, IN_SIGNED)
"""Restarts the shoe between rounds and tries the staged release, if there is one."""

CONFIRM = Shape(28, "confirm", "id:uint", _to_device, IN_SIGNED)
"""Confirms the release on trial: it stays."""

DEBUG = Shape(31, "debug", "id:uint", _to_device, IN_SIGNED)
"""With the service switch on: restarts the shoe with MicroPython's prompt at the port, until the
next start."""

STATUS_REPORT = Shape(
    70,
    "status_report",
    (
        "id:uint "
        "t_ms:uint "
        "unix_ms:uint? "
        "phase:phase "
        "error:error "
        "lock_released:flag "
        "shoe:uint "
        "round:uint "
        "cards:uint "  # drawn from this shoe of cards, with burned ones
        "heap_used:uint "  # bytes, after the last garbage collection
        "heap_free:uint "
        "queue_events:uint "  # events held that no host has acknowledged
        "frames_dropped:uint "
        "journal_room:uint "  # events that fit before an unacknowledged one is overwritten
        "bad_sectors:uint"  # of the journal's chip, found since the start
    ),
    _to_host,
)

STATUS = Shape(18, "status", "id:uint", _to_device, OPEN, STATUS_REPORT)

HEALTH_REPORT = Shape(
    73,
    "health_report",
    (
        "id:uint "
        "cards:uint "  # read since the start of the unit; the four means are over these
        # Means over hundreds of cards, 1000 is nominal. A and B: time that a mark is seen on that
        # track; E: from the last mark to the card's end; X: from X to the first mark.
        "e_permille:uint "
        "a_permille:uint "
        "b_permille:uint "
        "x_permille:uint "
        "dirty:uint "  # bit n: the n-th of `enums.CHANNELS` is out of bounds
        "overruns:uint "  # how often samples were lost since the start
        # Of the last test card, null if there was none.
        "calibrated_e_permille:uint? "
        "calibrated_a_permille:uint? "
        "calibrated_b_permille:uint? "
        "calibrated_x_permille:uint? "
        "calibrated_unix_ms:uint?"  # null also if no clock was set
    ),
    _to_host,
)

HEALTH = Shape(21, "health", "id:uint", _to_device, OPEN, HEALTH_REPORT)

PASS_REPORT = Shape(
    74,
    "pass_report",
    (
        "id:uint "
        "pass:uint "  # counted since the start; 0: no kept pass is above `after`
        "t_ms:uint "  # end of the pass, since the start
        "fault:fault "
        "card:card? "  # null if there is a fault
        "set:uint? "  # null if there was no good code
        "speed_mm_s:uint "
        "margin_permille:uint "
        "skew_um:uint "
        "samples:uint "
        "bytes:uint "  # of its runs
        "cut:flag"  # the pass had more runs than are kept
    ),
    _to_host,
)

NEXT_PASS = Shape(22, "next_pass", "id:uint after:uint", _to_device, PROVEN, PASS_REPORT)
"""Asks for the first kept pass with a number above `after`."""

PASS_SAMPLES = Shape(75, "pass_samples", "id:uint pass:uint offset:uint runs:bytes", _to_host)
"""Runs of equal samples, at most MAX_RUN_BYTES. A run is one byte: the level in the high half, the
length 1-15 in the low half. If that is 0, the length follows in two bytes, low byte first."""

MAX_RUN_BYTES = 400

READ_PASS = Shape(
    23, "read_pass", "id:uint pass:uint offset:uint", _to_device, PROVEN, PASS_SAMPLES
)
"""Asks for the runs of a kept pass, from byte `offset` on."""

SELF_TEST_REPORT = Shape(
    78,
    "self_test_report",
    (
        "id:uint "
        "failed:uint "  # bit n: the n-th of `enums.SELF_TESTS`
        "seen:uint "  # bit n: the n-th of `enums.CHANNELS` sees something now
        "temperature_c:int? "  # of the processor; null if it cannot measure it
        "sectors:uint "  # of the journal's ring
        "begun:uint "  # begun over the life of the chip
        "wrong_macs:uint"  # since the start
    ),
    _to_host,
)

SELF_TEST = Shape(32, "self_test", "id:uint", _to_device, IN_SIGNED, SELF_TEST_REPORT)
"""Tests the shoe between rounds."""

UPDATE_REPORT = Shape(
    76,
    "update_report",
    (
        "id:uint "
        "stage:update_stage "
        "manifest:bytes "  # SHA-256 of the last one, empty before
        "offset:uint "  # of the head or the code: the next byte to send
        "refusal:refusal "  # why the release was refused, `none` in other stages
        "detail:text"  # of the refusal: a figure, a name, a fault of the release
    ),
    _to_host,
)

UPDATE = Shape(24, "update", "id:uint size:uint", _to_device, IN_SIGNED, UPDATE_REPORT)
"""Begins a release: first its head of `size` bytes, the signature and then the manifest."""

UPDATE_PART = Shape(
    25, "update_part", "id:uint offset:uint part:bytes", _to_device, PROVEN, UPDATE_REPORT
)
"""The part that the last report asked for, of at most MAX_UPDATE_PART bytes."""

MAX_UPDATE_PART = 400

UPDATE_STATUS = Shape(26, "update_status", "id:uint", _to_device, OPEN, UPDATE_REPORT)

PROVISION = Shape(
    30,
    "provision",
    "id:uint offset:uint size:uint part:bytes",
    _to_device,
    IN_SIGNED,
    UPDATE_REPORT,
)
"""A part of the document that provisions a board, in order from offset 0. The stage `restarting`
answers the last part. It also answers any part on a unit in service; then the whole document must
be sent after that restart."""

MAX_PROVISION_PART = 400

GROWN: "dict[int, int]" = {}
"""The messages to the host that have more fields than in version 10: by number, how many they had.
A release has no fields of these messages (docs/decisions/board-words.md) and needs the figure."""

LATER_WORDS = {
    WELCOME.number: ((5, 5, 4),),
    HEARTBEAT.number: ((2, 7, 6), (3, 12, 9)),
    REPLY.number: ((2, 41, 14),),
    STATUS_REPORT.number: ((4, 7, 6), (5, 12, 9)),
    UPDATE_REPORT.number: ((2, 8, 5), (5, 41, 14)),
}
"""The words of enumerations in the core that a host of version 10 is given. By message: the place
of the field in the array, how many words version 10 has, and which of them stands for a later one:
`unknown`, `ended`, `sensor_fault`, `invalid`, `refused`."""

TO_DEVICE = tuple(_to_device)
TO_HOST = tuple(_to_host)
del _to_device, _to_host

HEARTBEAT_MS = 1000
"""How often a shoe with a host sends `heartbeat`, and a host repeats its `ack`."""

SILENCE_MS = 4000
"""After this time without a message an end considers the other gone."""
