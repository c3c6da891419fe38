"""Every message of the link. A message on the wire is `[number, ...its fields]`.

The host speaks first, with `hello`; before that a shoe answers nothing else.

A definition is a block of this page: number, name, for a command who may send it, a sentence on
what it is, and its fields, after the `id` that each command and each report begins with. After a
change run `make generated`; docs/adding.md says what else a message needs.
"""

from sabot_definitions.form import IN_SIGNED, OPEN, PROVEN, Command, Field, Message, Report

TO_DEVICE = (
    Message(
        1,
        "hello",
        "Open the link, or begin it again. These fields are the same in every version.",
        Field(
            "protocol",
            "uint",
            "newest version that the host speaks; it speaks all from 10 on, see "
            "[Versions](#versions)",
        ),
        Field(
            "session",
            "uint",
            "64 random bits, new in each session: the host's challenge. `welcome`, `firmware`, "
            "`game` and `challenge` repeat it",
        ),
    ),
    Message(
        2,
        "ack",
        "Events are durable. Repeated, it says that the host is alive and misses events.",
        Field("number", "uint", "every event up to this number is durable; 0: none"),
    ),
    Command(
        16,
        "set_clock",
        IN_SIGNED,
        "Set the clock.",
        Field("unix_ms", "uint", "the time now, ms since 1970 UTC"),
    ),
    Command(17, "identify", IN_SIGNED, "Beep, and record `identified`."),
    Command(18, "status", OPEN, "Report the state of the shoe.", answer="status_report"),
    Command(
        19,
        "read_events",
        PROVEN,
        "Send held events again, acknowledged ones too.",
        Field("first", "uint", "from this number on"),
    ),
    Command(
        20,
        "load_game",
        IN_SIGNED,
        "Take a part of a game document, see [The game document](#the-game-document). At the last "
        "part the whole document is checked and taken, or refused.",
        Field("offset", "uint", "of this part in the document"),
        Field("size", "uint", "bytes of the whole document"),
        Field("part", "bytes", "1 to 400 bytes of it"),
    ),
    Command(21, "health", OPEN, "Report how well the sensor head sees.", answer="health_report"),
    Command(
        22,
        "next_pass",
        PROVEN,
        "Report the figures of a kept pass.",
        Field("after", "uint", "the first kept pass with a number above this; 0 for the oldest"),
        answer="pass_report",
    ),
    Command(
        23,
        "read_pass",
        PROVEN,
        "Send samples of a kept pass.",
        Field("pass", "uint", "its number; refused if it is not kept any more", rule="counted"),
        Field(
            "offset",
            "uint",
            "from this byte of its runs on; refused if the pass has fewer bytes",
        ),
        answer="pass_samples",
    ),
    Command(
        24,
        "update",
        IN_SIGNED,
        "Begin a release, see [Releases](#releases).",
        Field("size", "uint", "bytes of its head: the signature of 64 bytes, then the manifest"),
        answer="update_report",
    ),
    Command(
        25,
        "update_part",
        PROVEN,
        "Take a part of the release. One that was not asked for changes nothing.",
        Field("offset", "uint", "as in the last `update_report`"),
        Field("part", "bytes", "1 to 400 bytes from there on"),
        answer="update_report",
    ),
    Command(26, "update_status", OPEN, "Report the stage of a release.", answer="update_report"),
    Command(
        27,
        "restart",
        IN_SIGNED,
        "Restart, between rounds, and try the staged release, if there is one.",
    ),
    Command(28, "confirm", IN_SIGNED, "Keep the release on trial."),
    Message(
        29,
        "signed",
        "Carry out a command that the host has signed, see [Who may ask](#who-may-ask).",
        Field("id", "uint", "of the command in it"),
        Field(
            "command", "bytes", "its message, 1 to 460 bytes; with another length `mac` is wrong"
        ),
        Field("mac", "bytes", "16: of the command, in this session", rule="mac"),
    ),
    Command(
        30,
        "provision",
        IN_SIGNED,
        "Take a part of the document that makes a board a unit, see [Provisioning](#provisioning).",
        Field("offset", "uint", "of this part in the document"),
        Field("size", "uint", "bytes of the whole document"),
        Field("part", "bytes", "1 to 400 bytes of it"),
        answer="update_report",
    ),
    Command(
        31,
        "debug",
        IN_SIGNED,
        "With the service switch on, between shoes of cards: restart with MicroPython's prompt at "
        "the port, until the next start.",
    ),
    Command(
        32, "self_test", IN_SIGNED, "Test the shoe, between rounds.", answer="self_test_report"
    ),
    Command(
        33,
        "read_game",
        PROVEN,
        "Send a part of the document of the game that is dealt.",
        Field("offset", "uint", "from this byte on; refused if the document has fewer bytes"),
        answer="game_part",
    ),
    Command(
        36,
        "stir",
        IN_SIGNED,
        "Stir 32 random bytes of the host into the unit's pool, see "
        "[Random numbers](#random-numbers).",
        Field("hidden", "bytes", "32: the bytes, hidden under a key of the unit", rule="sha256"),
        answer="stir_report",
        since=11,
    ),
)

GONE = (34,)
"""Numbers of commands that were removed: `mark_ghost` of version 10."""

TO_HOST = (
    Message(
        64,
        "welcome",
        "The first of the four answers to `hello`: the unit and the events that it holds.",
        Field("session", "uint", "as in `hello`"),
        Field(
            "protocol",
            "uint",
            "newest version that the device speaks; it speaks all from 10 on",
            rule="protocol-version",
        ),
        Field(
            "unit",
            "text",
            "id of the unit, also its USB serial number; a host refuses one that is not as in "
            '"Provisioning"',
        ),
        Field("boot", "uint", "the start of the unit, counted from 1", rule="counted"),
        Field("reset_cause", "reset_cause", "of this start"),
        Field(
            "first_held",
            "uint",
            "number of the first event that can still be sent",
            rule="counted",
        ),
        Field("last_held", "uint", "and of the last; `first_held` - 1 if none is held"),
        Field("max_payload", "uint", "bytes: 512", rule="512"),
    ),
    Message(
        65,
        "wrong_version",
        "The answer to a `hello` of a version that the device does not speak.",
        Field("protocol", "uint", "newest version that the device speaks", rule="protocol-version"),
        Field("asked", "uint", "version in `hello`"),
    ),
    Message(
        66,
        "event",
        "An event, in the bytes that are stored.",
        Field("record", "bytes", "one event, as recorded", rule="record"),
        Field("mac", "bytes", "16: its MAC in the audit chain", rule="mac"),
    ),
    Report(
        67,
        "reply",
        "A command was carried out, or refused.",
        Field(
            "refusal",
            "refusal",
            "`none`: it is done; else why it is refused, see [Refusals](#refusals)",
        ),
        Field(
            "detail", "text", "the figure, name or fault that belongs to the refusal; else empty"
        ),
    ),
    Message(
        68,
        "heartbeat",
        "The device is attached, and its state.",
        Field("t_ms", "uint", "ms since the start"),
        Field("phase", "phase", "phase of the shoe of cards"),
        Field("error", "error", "what stops play"),
        Field("shoe", "uint", "as in the header of events"),
        Field("round", "uint", "as in the header of events"),
        Field("first_held", "uint", "as in `welcome`", rule="counted"),
        Field("last_held", "uint", "as in `welcome`"),
    ),
    Message(
        69,
        "problem",
        "The device dropped a frame from the host.",
        Field("problem", "problem", "why"),
        Field("count", "uint", "how often this happened since the start", rule="counted"),
    ),
    Report(
        70,
        "status_report",
        "The state of the shoe.",
        Field("t_ms", "uint", "ms since the start"),
        Field("unix_ms", "uint?", "ms since 1970 UTC; null: no host has set the clock"),
        Field("phase", "phase", "phase of the shoe of cards"),
        Field("error", "error", "what stops play"),
        Field("lock_released", "flag", "whether a card can be drawn"),
        Field("shoe", "uint", "as in the header of events"),
        Field("round", "uint", "as in the header of events"),
        Field("cards", "uint", "drawn from this shoe of cards, with burned ones"),
        Field(
            "heap_used",
            "uint",
            "bytes after the last garbage collection, about 2 s ago, or after a self-test",
        ),
        Field("heap_free", "uint", "bytes"),
        Field("queue_events", "uint", "events held and not acknowledged"),
        Field("frames_dropped", "uint", "from the host, since the start"),
        Field(
            "journal_room",
            "uint",
            "events that surely fit before an unacknowledged one is overwritten",
        ),
        Field("bad_sectors", "uint", "of the journal's chip, found since the start"),
    ),
    Message(
        71,
        "firmware",
        "The second answer to `hello`: the firmware that runs.",
        Field("session", "uint", "as in `hello`"),
        Field("version", "text", "of the firmware"),
        Field("build", "bytes", "SHA-256 of the code that runs", rule="sha256"),
        Field("board", "text", "kind of board"),
    ),
    Message(
        72,
        "game",
        "The third answer to `hello`: the game that is dealt.",
        Field("session", "uint", "as in `hello`"),
        Field("name", "text", "of the game that is loaded", rule="game-name"),
        Field("sha256", "bytes", "of its document", rule="sha256"),
    ),
    Report(
        73,
        "health_report",
        "How well the channels of the sensor head see.",
        Field("cards", "uint", "read since the start; the next four are means over these"),
        Field(
            "e_permille", "uint", "from the last mark to the end of the card, by E; 1000 is nominal"
        ),
        Field("a_permille", "uint", "length of a mark, by track A; 1000 is nominal"),
        Field("b_permille", "uint", "the same by track B"),
        Field(
            "x_permille",
            "uint",
            "from the card's edge at X to the middle of its first mark; 1000 is nominal",
        ),
        Field("dirty", "uint", "bit n: the n-th of `CHANNELS` is out of bounds", bits="CHANNELS"),
        Field("overruns", "uint", "how often samples were lost since the start"),
        Field("calibrated_e_permille", "uint?", "of the last test card; null: there was none"),
        Field("calibrated_a_permille", "uint?", "the same"),
        Field("calibrated_b_permille", "uint?", "the same"),
        Field("calibrated_x_permille", "uint?", "the same"),
        Field(
            "calibrated_unix_ms",
            "uint?",
            "time of the test card, ms since 1970 UTC; null also if no host had set the clock",
        ),
    ),
    Report(
        74,
        "pass_report",
        "The figures of a kept pass.",
        Field(
            "pass",
            "uint",
            "its number, counted since the start; 0: no kept pass is above `after`, and the other "
            "fields have no meaning",
        ),
        Field("t_ms", "uint", "its end, ms since the start"),
        Field("fault", "fault", "`none` if a card was read"),
        Field("card", "card?", "null with a fault"),
        Field("set", "uint?", "0-12; null if there was no good code", rule="set-or-null"),
        Field(
            "speed_mm_s",
            "uint",
            "as in the event `card`; 0, like the next two, if the pass has no such figure",
        ),
        Field("margin_permille", "uint", "as in the event `card`"),
        Field("skew_um", "uint", "as in the event `card`"),
        Field("samples", "uint", "that the pass lasted, 50 us each"),
        Field("bytes", "uint", "of its runs"),
        Field("cut", "flag", "the pass had more runs than are kept: its end is missing"),
    ),
    Report(
        75,
        "pass_samples",
        "Samples of a kept pass, as runs of equal ones.",
        Field("pass", "uint", "as in `read_pass`", rule="counted"),
        Field("offset", "uint", "as in `read_pass`"),
        Field(
            "runs",
            "bytes",
            "from there on, 1 to 400 bytes; a run may go on in the next answer",
            rule="bstr .size (1..400)",
        ),
    ),
    Report(
        76,
        "update_report",
        "How far a release has come.",
        Field("stage", "update_stage", "of the release"),
        Field("manifest", "bytes", "SHA-256 of the last manifest; empty: none since the start"),
        Field("offset", "uint", "the next byte of the head or of the code to send"),
        Field(
            "refusal",
            "refusal",
            "in the stage `refused`: why, see [Refusals](#refusals); else `none`",
        ),
        Field(
            "detail", "text", "the figure, name or fault that belongs to the refusal; else empty"
        ),
    ),
    Message(
        77,
        "challenge",
        "The fourth answer to `hello`: what each MAC of this session is made with, and the proof "
        "of the other three answers.",
        Field("session", "uint", "as in `hello`"),
        Field(
            "challenge",
            "bytes",
            "16 random bytes that are part of each MAC of this session; empty: the unit has no key "
            "and must be provisioned",
        ),
        Field(
            "proof",
            "bytes",
            "16: the MAC of `welcome`, `firmware` and `game`, see [Who may ask](#who-may-ask); "
            "empty with an empty `challenge`",
        ),
    ),
    Report(
        78,
        "self_test_report",
        "The result of the self-tests.",
        Field("failed", "uint", "bit n: the n-th of `SELF_TESTS`", bits="SELF_TESTS"),
        Field("seen", "uint", "bit n: the n-th of `CHANNELS` sees something now", bits="CHANNELS"),
        Field(
            "temperature_c",
            "int?",
            "of the processor, degrees Celsius; null if it cannot measure it",
        ),
        Field("sectors", "uint", "of the journal's ring", rule="counted"),
        Field("begun", "uint", "sectors begun over the life of the chip; each was erased for that"),
        Field("wrong_macs", "uint", "wrong MACs of commands since the start"),
        Field(
            "stuck",
            "uint",
            "bit n: the n-th of `RANDOM_SOURCES` failed its test at the start",
            bits="RANDOM_SOURCES",
            since=11,
        ),
        Field("host_bytes", "flag", "whether its pool has had bytes of a host", since=11),
    ),
    Report(
        79,
        "game_part",
        "A part of the document of the game that is dealt.",
        Field(
            "sha256",
            "bytes",
            "32: of the whole document, as in `game` and in the event `result`",
            rule="sha256",
        ),
        Field("size", "uint", "bytes of the whole document", rule="counted"),
        Field("offset", "uint", "of this part in the document"),
        Field("part", "bytes", "1 to 400 bytes from there on", rule="bstr .size (1..400)"),
    ),
    Report(
        81,
        "stir_report",
        "The bytes of the host are in the unit's pool.",
        Field("first", "flag", "the pool had no bytes of a host before"),
        Field(
            "stuck",
            "uint",
            "bit n: the n-th of `RANDOM_SOURCES` failed its test at the start",
            bits="RANDOM_SOURCES",
        ),
        since=11,
    ),
)
