"""Messages of the simulated bench, which plays cards and the dealer's hands and sees the lamps.

They go over a line of their own. No shoe in service knows them.
"""

from sabot_definitions.form import Field, Message

FROM_BENCH = (
    Message(
        96,
        "samples",
        "To the shoe: sensor samples, as in a recording.",
        Field(
            "words",
            "bytes",
            "whole words of 4 bytes, at most 480 bytes",
            rule="bstr .size (4..480)",
        ),
    ),
    Message(
        97,
        "press",
        "To the shoe: a button is pressed and released.",
        Field("button", "button", "which one"),
    ),
    Message(
        98,
        "switch",
        "To the shoe: a switch changes.",
        Field("switch", "switch", "which one"),
        Field("on", "flag", "whether it is on now"),
    ),
    Message(
        99,
        "parts",
        "To the shoe: how its bolt and its supply are now, if it senses them.",
        Field("bolt_stuck", "flag", "whether the bolt no longer follows the lock"),
        Field("supply_low", "flag", "whether the supply falls"),
    ),
)

TO_BENCH = (
    Message(
        112,
        "lock",
        "From the shoe: the lock moves.",
        Field("released", "flag", "whether a card can be drawn now"),
    ),
    Message(
        113,
        "lamps",
        "From the shoe: the lamps change.",
        Field("lit", "uint", "bit n: the n-th of `LAMPS` is lit", bits="LAMPS"),
    ),
    Message(
        114,
        "display",
        "From the shoe: the display changes.",
        Field("text", "text", "its lines, with newlines between them"),
    ),
    Message(
        115,
        "buzzer",
        "From the shoe: a beep.",
        Field("ms", "uint", "for this time"),
    ),
    Message(
        116,
        "idle",
        "From the shoe: it waits for more.",
        Field("taken", "uint", "bench messages acted on since the start"),
    ),
    Message(
        117,
        "latches_armed",
        "From the shoe: its latches are ready to remember that something is opened.",
        Field("armed", "flag", "always true"),
    ),
)
