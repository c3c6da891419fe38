"""Every event that a shoe records. An event on the wire is
`[kind, number, boot, t_ms, unix_ms, shoe, round, ...its own fields]`.
"""

from sabot_protocol.schema import Shape

HEAD = Shape(
    0,
    "header",
    (
        "kind:uint "
        "number:uint "  # from 1 for the unit's first event, without gaps
        "boot:uint "  # the start of the unit, counted from 1
        "t_ms:uint "  # since that start
        "unix_ms:uint? "  # UTC, null until a host has set the clock
        "shoe:uint "  # shoe of cards, counted over the unit's life; 0 before the first
        "round:uint"  # the open or last round of that shoe; 0 before the first
    ),
)
"""The fields that every event begins with."""

HEADER = HEAD.fields

DEALING = 0
"""Who makes an event: the dealing, from an input (table/dealing.py). After a loss of power it makes
the event again from the input log."""
DEVICE = 1
"""Who makes an event: the rest of the shoe, once. Only `shoe_ended` is made by both: by the device
with the reason `restart`."""

_kinds: "list[Shape]" = []


MAX_SIZE = 192
"""Size of the largest encoded event in bytes."""

MAC_SIZE = 16
"""Size in bytes of the MAC of each event in the audit chain (README.md, "Audit chain")."""

BOOT = Shape(
    1,
    "boot",
    (
        "reset_cause:reset_cause "
        "firmware:text "
        "build:bytes "
        "board:text "
        "game:text "
        "chain:bytes"  # MAC_SIZE: id of the audit chain of these events, and of its first key
    ),
    _kinds,
    DEVICE,
)
LID = Shape(2, "lid", "open:flag", _kinds, DEALING)
KEY = Shape(3, "key", "on:flag", _kinds, DEALING)
SERVICE = Shape(4, "service", "on:flag", _kinds, DEALING)
BUTTON = Shape(5, "button", "button:button", _kinds, DEALING)
SHOE_LOADED = Shape(6, "shoe_loaded", "decks:uint game:text set:uint", _kinds, DEALING)
BURN = Shape(7, "burn", "count:uint", _kinds, DEALING)
BETTING_OPEN = Shape(8, "betting_open", "", _kinds, DEALING)
BETTING_CLOSED = Shape(9, "betting_closed", "by:closed_by", _kinds, DEALING)
CARD = Shape(
    10,
    "card",
    (
        "card:card "
        "position:position "
        "speed_mm_s:uint "  # mean over the 14 marks
        "margin_permille:uint "  # narrowest mark or gap, of its nominal share of the pitch
        "skew_um:uint "  # largest distance between the edges of tracks A and B
        "samples:uint "  # length of the pass, 50 us each
        "by_hand:flag"  # entered by the supervisor; then the four figures are 0
    ),
    _kinds,
    DEALING,
)
UNREADABLE = Shape(
    11,
    "unreadable",
    (
        "fault:fault "
        "position:position "
        "speed_mm_s:uint "  # 0, like the next two, if the pass has no such figure
        "margin_permille:uint "
        "skew_um:uint "
        "samples:uint"
    ),
    _kinds,
    DEALING,
)
DECISION = Shape(12, "decision", "hand:hand action:action total:uint", _kinds, DEALING)
RESULT = Shape(
    13,
    "result",
    (
        "winner:winner "
        "player_total:uint "
        "banker_total:uint "
        "player_natural:flag "
        "banker_natural:flag "
        "margin:uint "  # difference of the totals, 0-9
        "hits:uint "  # bit n: the n-th of `enums.HITS`, if a wager of the game depends on it
        "game:bytes"  # SHA-256 of the game document
    ),
    _kinds,
    DEALING,
)
ROUND_VOID = Shape(14, "round_void", "reason:void_reason", _kinds, DEALING)
LOCK = Shape(15, "lock", "released:flag", _kinds, DEALING)
ERROR = Shape(16, "error", "error:error card:card? fault:fault", _kinds, DEALING)
ERROR_CLEARED = Shape(17, "error_cleared", "error:error", _kinds, DEALING)
CUT_CARD = Shape(18, "cut_card", "rounds_left:uint", _kinds, DEALING)
SHOE_ENDED = Shape(
    19,
    "shoe_ended",
    (
        "reason:end_reason "
        "rounds:uint? "  # with a result; null after a restart, when the count is lost
        "cards:uint?"  # drawn, with burned and unreadable ones
    ),
    _kinds,
    DEALING,
)
CLOCK_SET = Shape(20, "clock_set", "before_unix_ms:uint?", _kinds, DEVICE)
GAP = Shape(
    21,
    "gap",
    (
        "first:uint "
        "last:uint "
        "reason:gap_reason "
        "mac:bytes"  # of event `last`: the chain continues from it
    ),
    _kinds,
    DEVICE,
)
GAME_LOADED = Shape(22, "game_loaded", "game:text sha256:bytes", _kinds, DEVICE)
IDENTIFIED = Shape(23, "identified", "", _kinds, DEVICE)
RESOLVED = Shape(
    24,
    "resolved",
    (
        "error:error "  # `unreadable`, `surplus_copy` or `card_too_many`
        "fault:fault "
        "position:position "  # of the card
        "resolution:resolution"
    ),
    _kinds,
    DEALING,
)
COMPOSITION = Shape(
    25,
    "composition",
    (
        "counts:bytes "  # 52: how many of each card 0 to 51 came out of this shoe
        "unread:uint "  # cards that came out and were neither read nor entered
        "expected:uint"  # cards in the decks that were loaded
    ),
    _kinds,
    DEALING,
)
CLEAN_SENSOR = Shape(
    26,
    "clean_sensor",
    "channel:channel mean_permille:uint",
    _kinds,
    DEVICE,
)  # the mean over hundreds of cards is out of bounds
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
    _kinds,
    DEVICE,
)
CHECKPOINT = Shape(
    28,
    "checkpoint",
    (
        "records:uint "  # number of events before this one
        "mac:bytes"  # of the last of them
    ),
    _kinds,
    DEVICE,
)  # at the end of a shoe of cards, after its composition
JOURNAL_FAULT = Shape(
    29,
    "journal_fault",
    (
        "fault:journal_fault "
        "sector:uint "  # of the journal's chip
        "first:uint "  # first and last event in it that cannot be read any more; 0: none
        "last:uint"
    ),
    _kinds,
    DEVICE,
)
UPDATED = Shape(30, "updated", "firmware:text build:bytes", _kinds, DEVICE)
UPDATE_UNDONE = Shape(31, "update_undone", "build:bytes", _kinds, DEVICE)
PROVISIONED = Shape(32, "provisioned", "table:text set:uint", _kinds, DEVICE)
WRONG_MACS = Shape(33, "wrong_macs", "count:uint", _kinds, DEVICE)  # since the start
DEBUG_OPENED = Shape(34, "debug_opened", "", _kinds, DEVICE)
LONG_PASS = Shape(
    35,
    "long_pass",
    (
        "card:card? "  # of the pass just recorded; null if that card is sealed
        "longer_um:uint"  # than one card, at most 65535
    ),
    _kinds,
    DEVICE,
)

GHOST_HAND = Shape(36, "ghost_hand", "count:uint", _kinds, DEALING)
"""The round whose betting is open is dealt without wagers: the `count`-th of this shoe of cards."""

SEAL = Shape(
    37,
    "seal",
    "commitment:bytes",  # of the round's key, which seals its cards that lie face down
    _kinds,
    DEALING,
)
SEALED_CARD = Shape(
    38,
    "sealed_card",
    (
        "place:uint "  # 0 for the first sealed card of the round
        "sealed:bytes "  # the card, under the round's key
        "position:position "
        "speed_mm_s:uint "
        "margin_permille:uint "
        "skew_um:uint "
        "samples:uint "
        "by_hand:flag"
    ),
    _kinds,
    DEALING,
)
UNSEALED = Shape(
    39,
    "unsealed",
    "seal_key:bytes",  # of the round; empty if its sealed cards are never to be known
    _kinds,
    DEALING,
)

PLAY = Shape(
    40,
    "play",
    (
        "box:uint "  # 1 to 7
        "hand:uint "  # of the box, from 1: splitting makes more
        "action:play_action "
        "total:uint "  # of the hand before
        "soft:flag"  # whether an ace counts eleven in it
    ),
    _kinds,
    DEALING,
)
LOOKED = Shape(41, "looked", "blackjack:flag", _kinds, DEALING)
"""The dealer looked at the hole card: whether it makes a blackjack, not which card it is."""
HAND_RESULT = Shape(
    42,
    "hand_result",
    "box:uint hand:uint outcome:outcome total:uint soft:flag",
    _kinds,
    DEALING,
)
BLACKJACK_RESULT = Shape(
    43,
    "blackjack_result",
    (
        "dealer_total:uint "
        "soft:flag "
        "cards:uint "  # of the dealer
        "game:bytes"  # SHA-256 of the game document
    ),
    _kinds,
    DEALING,
)
"""The end of a round of blackjack, after the result of each hand."""
HAND_BEGUN = Shape(46, "hand_begun", "seats:uint", _kinds, DEALING)
BETTING_ENDED = Shape(47, "betting_ended", "street:street", _kinds, DEALING)
RUN_TWICE = Shape(48, "run_twice", "street:street", _kinds, DEALING)
HAND_ENDED = Shape(
    49,
    "hand_ended",
    (
        "seats:uint "
        "board:bytes "  # cards 0-51 in their order, a byte each
        "second:bytes "  # the second board, empty if the hand was not run twice
        "game:bytes"  # SHA-256 of the game document
    ),
    _kinds,
    DEALING,
)
"""46 to 49 are hold'em's."""

KINDS = tuple(_kinds)
"""All kinds of events, by number."""
del _kinds
