"""Every message of the link. A message on the wire is `[number, ...its fields]`.

The host speaks first, with `hello`; until then a shoe answers nothing but `hello`.
"""

from protocol.schema import Shape

HELLO = Shape(1, "hello", (("protocol", "uint"), ("session", "uint")))
"""Asks for the link. `session` is any number; the three answers give it back."""

ACK = Shape(2, "ack", (("number", "uint"),))
"""Every event up to `number` is durable. Sent again it says "I am here", and asks for more."""

SET_CLOCK = Shape(16, "set_clock", (("id", "uint"), ("unix_ms", "uint")))
IDENTIFY = Shape(17, "identify", (("id", "uint"),))
STATUS = Shape(18, "status", (("id", "uint"),))
READ_EVENTS = Shape(19, "read_events", (("id", "uint"), ("first", "uint")))
LOAD_GAME = Shape(20, "load_game", (("id", "uint"), ("document", "bytes")))

# The answer to `hello` comes in three short frames: on a bad line a long one may never arrive.
WELCOME = Shape(
    64,
    "welcome",
    (
        ("session", "uint"),
        ("protocol", "uint"),
        ("unit", "text"),
        ("boot", "uint"),
        ("reset_cause", "reset_cause"),
        ("first_held", "uint"),  # first and last event that the shoe can still send
        ("last_held", "uint"),
        ("max_payload", "uint"),
    ),
)
FIRMWARE = Shape(
    71,
    "firmware",
    (("session", "uint"), ("version", "text"), ("build", "bytes"), ("board", "text")),
)
GAME = Shape(72, "game", (("session", "uint"), ("name", "text"), ("sha256", "bytes")))
WRONG_VERSION = Shape(65, "wrong_version", (("protocol", "uint"), ("asked", "uint")))
EVENT = Shape(66, "event", (("record", "bytes"),))
REPLY = Shape(67, "reply", (("id", "uint"), ("outcome", "outcome"), ("detail", "text")))
HEARTBEAT = Shape(
    68,
    "heartbeat",
    (
        ("t_ms", "uint"),
        ("phase", "phase"),
        ("error", "error"),
        ("shoe", "uint"),
        ("round", "uint"),
        ("first_held", "uint"),
        ("last_held", "uint"),
    ),
)
PROBLEM = Shape(69, "problem", (("problem", "problem"), ("count", "uint")))
STATUS_REPORT = Shape(
    70,
    "status_report",
    (
        ("id", "uint"),
        ("t_ms", "uint"),
        ("unix_ms", "uint?"),
        ("phase", "phase"),
        ("error", "error"),
        ("lock_released", "flag"),
        ("shoe", "uint"),
        ("round", "uint"),
        ("cards", "uint"),  # drawn from this shoe of cards, burned ones counted
        ("heap_used", "uint"),  # bytes
        ("heap_free", "uint"),
        ("queue_events", "uint"),  # events held that no host has acknowledged
        ("frames_dropped", "uint"),
    ),
)

TO_DEVICE = (HELLO, ACK, SET_CLOCK, IDENTIFY, STATUS, READ_EVENTS, LOAD_GAME)
TO_HOST = (
    WELCOME,
    WRONG_VERSION,
    EVENT,
    REPLY,
    HEARTBEAT,
    PROBLEM,
    STATUS_REPORT,
    FIRMWARE,
    GAME,
)

HEARTBEAT_MS = 1000
"""A shoe with a host sends `heartbeat`, a host repeats its `ack`, this often."""

SILENCE_MS = 4000
"""An end that heard nothing for so long takes the other for gone."""
