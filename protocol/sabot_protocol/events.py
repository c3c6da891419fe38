"""Every event that a shoe records. An event on the wire is
`[kind, number, boot, t_ms, unix_ms, shoe, round, ...its own fields]`.
"""

from sabot_protocol.schema import Shape

HEAD = Shape(
    0,
    "header",
    (
        "kind:uint "
        "number:uint "  # from 1, the unit's first event, without gaps
        "boot:uint "  # which start of the unit, from 1
        "t_ms:uint "  # since that start
        "unix_ms:uint? "  # UTC, null until a host has set the clock
        "shoe:uint "  # shoe of cards, counted over the unit's life; 0 before the first
        "round:uint"  # of that shoe, open or the last that was; 0 before the first
    ),
)
"""What every event begins with."""

HEADER = HEAD.fields

MAX_SIZE = 192
"""Bytes of the largest event, encoded."""

MAC_SIZE = 16
"""Bytes of the MAC that each event carries in the audit chain (README.md, "Audit chain")."""

BOOT = Shape(
    1,
    "boot",
    (
        "reset_cause:reset_cause "
        "firmware:text "
        "build:bytes "
        "board:text "
        "game:text "
        "chain:bytes"  # MAC_SIZE: names the chain that its events stand in, and its first key
    ),
)
LID = Shape(2, "lid", "open:flag")
KEY = Shape(3, "key", "on:flag")
SERVICE = Shape(4, "service", "on:flag")
BUTTON = Shape(5, "button", "button:button")
SHOE_LOADED = Shape(6, "shoe_loaded", "decks:uint game:text set:uint")
BURN = Shape(7, "burn", "count:uint")
BETTING_OPEN = Shape(8, "betting_open", "")
BETTING_CLOSED = Shape(9, "betting_closed", "by:closed_by")
CARD = Shape(
    10,
    "card",
    (
        "card:card "
        "position:position "
        "speed_mm_s:uint "  # mean over the 14 marks
        "margin_permille:uint "  # least mark or gap, against its nominal share of the pitch
        "skew_um:uint "  # largest distance between the edges of tracks A and B
        "samples:uint "  # that the pass lasted, 50 us each
        "by_hand:flag"  # entered by the supervisor; then the four figures are 0
    ),
)
UNREADABLE = Shape(
    11,
    "unreadable",
    (
        "fault:fault "
        "position:position "
        "speed_mm_s:uint "  # 0, as the next two, where the pass does not tell
        "margin_permille:uint "
        "skew_um:uint "
        "samples:uint"
    ),
)
DECISION = Shape(12, "decision", "hand:hand action:action total:uint")
RESULT = Shape(
    13,
    "result",
    (
        "winner:winner "
        "player_total:uint "
        "banker_total:uint "
        "player_natural:flag "
        "banker_natural:flag "
        "margin:uint "  # between the totals, 0-9
        "hits:uint "  # bit n: the n-th of `words.HITS`, where a wager of the game asks for it
        "game:bytes"  # SHA-256 of the document of the game that was dealt
    ),
)
ROUND_VOID = Shape(14, "round_void", "reason:void_reason")
LOCK = Shape(15, "lock", "released:flag")
ERROR = Shape(16, "error", "error:error card:card? fault:fault")
ERROR_CLEARED = Shape(17, "error_cleared", "error:error")
CUT_CARD = Shape(18, "cut_card", "rounds_left:uint")
SHOE_ENDED = Shape(
    19,
    "shoe_ended",
    (
        "reason:end_reason "
        "rounds:uint? "  # that got a result; null after a restart, when nobody counted
        "cards:uint?"  # drawn, burned and unreadable ones counted
    ),
)
CLOCK_SET = Shape(20, "clock_set", "before_unix_ms:uint?")
GAP = Shape(
    21,
    "gap",
    (
        "first:uint "
        "last:uint "
        "reason:gap_reason "
        "mac:bytes"  # of event `last`: what the chain goes on from
    ),
)
GAME_LOADED = Shape(22, "game_loaded", "game:text sha256:bytes")
IDENTIFIED = Shape(23, "identified", "")
RESOLVED = Shape(
    24,
    "resolved",
    (
        "error:error "  # `unreadable`, `surplus_copy` or `card_too_many`
        "fault:fault "
        "position:position "  # that the card was due as
        "resolution:resolution"
    ),
)
COMPOSITION = Shape(
    25,
    "composition",
    (
        "counts:bytes "  # 52: how many of card 0, 1, ... 51 came out of this shoe of cards
        "unread:uint "  # cards that came out and that nobody has named
        "expected:uint"  # cards in as many decks as were loaded
    ),
)
CLEAN_SENSOR = Shape(
    26, "clean_sensor", "channel:channel mean_permille:uint"
)  # the mean over hundreds of cards has left its bounds
CALIBRATED = Shape(
    27,
    "calibrated",
    (
        "e_permille:uint "  # as in the message `health_report`
        "a_permille:uint "
        "b_permille:uint "
        "x_permille:uint "
        "speed_mm_s:uint "
        "margin_permille:uint "
        "skew_um:uint "
        "samples:uint"
    ),
)
CHECKPOINT = Shape(
    28,
    "checkpoint",
    (
        "records:uint "  # that came before this one, from the unit's first
        "mac:bytes"  # of the last of them
    ),
)  # at the end of a shoe of cards, behind its composition
JOURNAL_FAULT = Shape(
    29,
    "journal_fault",
    (
        "fault:journal_fault "
        "sector:uint "  # of the journal's memory
        "first:uint "  # first and last event in it that cannot be read any more; 0 for none
        "last:uint"
    ),
)
UPDATED = Shape(30, "updated", "firmware:text build:bytes")
UPDATE_UNDONE = Shape(31, "update_undone", "build:bytes")
PROVISIONED = Shape(32, "provisioned", "table:text set:uint")
WRONG_MACS = Shape(33, "wrong_macs", "count:uint")  # since the start
DEBUG_OPENED = Shape(34, "debug_opened", "")

KINDS = (
    BOOT, LID, KEY, SERVICE, BUTTON, SHOE_LOADED, BURN, BETTING_OPEN, BETTING_CLOSED, CARD,
    UNREADABLE, DECISION, RESULT, ROUND_VOID, LOCK, ERROR, ERROR_CLEARED, CUT_CARD, SHOE_ENDED,
    CLOCK_SET, GAP, GAME_LOADED, IDENTIFIED, RESOLVED, COMPOSITION, CLEAN_SENSOR,
    CALIBRATED, CHECKPOINT, JOURNAL_FAULT, UPDATED, UPDATE_UNDONE,
    PROVISIONED, WRONG_MACS, DEBUG_OPENED,
)  # fmt: skip
