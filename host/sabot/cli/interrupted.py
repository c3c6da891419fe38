"""What Ctrl-C left, and in which state: a line for each command.

A command whose own code knows more raises `errors.Interrupted` instead.
"""

_NOTHING = "nothing was changed"
_WHOLE = "what was to be written is there and whole, or as it was before"

_LEFT = {
    "demo": "",
    "sim": "",
    "sim-do": "the action may have been done; without an action it shows the shoe",
    "ports": _NOTHING,
    "log": "all events that came are stored; new ones stay on the shoe until it is logged again",
    "serve": "the screens are closed; sessions last, and open pages go on when it is started again",
    "replaced": "the seam is there and whole, or as it was before",
    "rounds": _NOTHING,
    "events": _NOTHING,
    "incidents": _NOTHING,
    "integrity": _NOTHING,
    "units": _NOTHING,
    "tables": _NOTHING,
    "pace": _NOTHING,
    "watch": _NOTHING,
    "users": "the user is as before, or has been changed whole",
    "desk": _NOTHING,
    "roster": "all shifts of the file are noted or none; the file of names is whole",
    "notary": "receipts that were signed are stored; the next run goes on from them",
    "database": "each step was done whole or not at all; the same command goes on",
    "forward": "what the centre has, it has for good; the rest is sent when it is started again",
    "feed": "what receivers acknowledged is noted; the rest is sent when it is started again",
    "verify": _NOTHING,
    "checkpoints": _WHOLE,
    "receipts": _WHOLE,
    "export": _WHOLE,
    "copy": "there is no copy, or a whole one",
    "convert": "the log is as it was, or converted whole; a copy of it is whole",
    "retention": "the minimum is the one that `sabot retention` shows",
    "open-seats": "the desk's chain may have the note that cards were to be opened; none was shown",
    "prune": "each unit has its old shoes of cards, or their tombstone; the same command goes on",
    "rebuild": "the log is as it was",
    "games": _NOTHING,
    "score": _NOTHING,
    "settle": _NOTHING,
    "odds": _NOTHING,
    "load": "the shoe has the game that `sabot ports` shows; what it deals now it goes on with",
    "doctor": _NOTHING,
    "health": _NOTHING,
    "capture": "passes that are in the folder stay; the same command goes on",
    "read": _NOTHING,
    "waveform": "the recording may be incomplete; write it again",
    "keys": "there is no new key, or a whole one",
    "build": "there is no release, or a whole one",
    "release": _NOTHING,
    "flash": "no release was begun; a board in BOOTSEL mode stays in it until it has a whole "
    "image: the same command begins again",
    "provision": "nothing was sent to the board",
    "update": "nothing was sent to a shoe",
    "debug": "a shoe that has its prompt deals again when it is switched off and on",
    "hil": "",
}
"""By command. Empty: the command has said it itself."""


def left_by(command: str) -> str:
    """What Ctrl-C left of a command; empty if the command has said it."""
    return _LEFT.get(command, _NOTHING)
