"""What a host can ask of a shoe, from which each needs some of its memory."""

import random
from collections.abc import Callable, Mapping
from contextlib import suppress

from sabot.errors import CommandRefused, SabotError
from sabot.games import families
from sabot.link import wire
from sabot.link.client import Client
from sabot.link.messages import (
    HealthCommand,
    IdentifyCommand,
    LoadGameCommand,
    NextPassCommand,
    ReadPassCommand,
    SelfTestCommand,
    SetClockCommand,
    UpdatePartCommand,
)
from sabot_hil.capabilities import session_with
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_protocol import VERSION, messages

_QUESTIONS = 60
_FLOOD_MS = 1500
_UNIX_MS = 1_790_000_000_000
_PASSES = 5
_LATE_S = 0.3
_MOST_TURNS = 40


def _flood(target: EmulatorTarget, rng: random.Random) -> None:
    """Ask without a pause, and do not take any event."""
    line = target.shoe.line()
    line.write(wire.frame_of(messages.HELLO, VERSION, 1) + wire.frame_of(messages.ACK, 0))
    line.write(b"".join(wire.frame_of(messages.STATUS, 1 + n) for n in range(_QUESTIONS)))
    target.clock.pass_ms(_FLOOD_MS)
    target.shoe.detach()


def _noise(target: EmulatorTarget, rng: random.Random) -> None:
    """Send frames that are damaged, too long, or no messages."""
    line = target.shoe.line()
    line.write(rng.randbytes(700) + b"\0" + wire.frame_of(messages.HELLO, VERSION, 2))
    for _ in range(8):
        line.write(rng.randbytes(rng.randrange(1, 200)) + b"\0")
    target.clock.pass_ms(_FLOOD_MS)
    target.shoe.detach()


def _taken(client: Client, first: int) -> None:
    client.begin(first)
    for _ in range(_MOST_TURNS):
        if not client.receive(_LATE_S).records:
            break
        client.acknowledge()


def _late_host(target: EmulatorTarget, rng: random.Random) -> None:
    """Take all events that wait, and stir in random bytes, as a log does."""
    with session_with(target.shoe) as client:
        client.stir()
        _taken(client, client.welcome.first_held)


def _self_test(target: EmulatorTarget, rng: random.Random) -> None:
    with session_with(target.shoe) as client:
        client.ask(SelfTestCommand())


def _half_a_game(target: EmulatorTarget, rng: random.Random) -> None:
    """Send the first part of a game; the session stays open meanwhile, and so does the part."""
    document = families.document("blackjack")
    client = target.shoe.attach()
    part = document[: messages.MAX_GAME_PART]
    client.ask(LoadGameCommand(0, len(document), part))


def _wrong_game(target: EmulatorTarget, rng: random.Random) -> None:
    """Send a whole game that is refused once it is checked."""
    document = families.document("blackjack")
    with session_with(target.shoe) as client:
        client.load_game(document[:-1] + b"\xff")


def _same_game(target: EmulatorTarget, rng: random.Random) -> None:
    """Send the game again that is dealt."""
    with session_with(target.shoe) as client:
        client.load_game(client.read_game())


def _release(target: EmulatorTarget, rng: random.Random) -> None:
    """Send a part of a release to a shoe that does not take one now."""
    with session_with(target.shoe) as client:
        client.ask(UpdatePartCommand(0, rng.randbytes(messages.MAX_UPDATE_PART)))


def _passes(target: EmulatorTarget, rng: random.Random) -> None:
    """Fetch kept passes with all their samples."""
    with session_with(target.shoe) as client:
        after = 0
        for _ in range(_PASSES):
            kept = client.ask(NextPassCommand(after))
            if not kept.bytes:
                break
            after = kept.pass_
            for offset in range(0, kept.bytes, messages.MAX_RUN_BYTES):
                client.ask(ReadPassCommand(after, offset))


def _doctor(target: EmulatorTarget, rng: random.Random) -> None:
    """Ask what `sabot doctor` asks, set the clock and let it beep."""
    with session_with(target.shoe) as client:
        for command in (SetClockCommand(_UNIX_MS), IdentifyCommand(), HealthCommand()):
            with suppress(CommandRefused):
                client.ask(command)


def _events_again(target: EmulatorTarget, rng: random.Random) -> None:
    """Take events again from the first that the shoe has."""
    with session_with(target.shoe) as client:
        client.read_again(client.welcome.first_held)
        _taken(client, client.welcome.first_held)


WORKS: Mapping[str, Callable[[EmulatorTarget, random.Random], None]] = {
    "flood": _flood,
    "noise on the line": _noise,
    "late host": _late_host,
    "self-test": _self_test,
    "half a game sent": _half_a_game,
    "game refused": _wrong_game,
    "game sent again": _same_game,
    "release refused": _release,
    "passes fetched": _passes,
    "doctor": _doctor,
    "events again": _events_again,
}
"""Each, by its name."""


def do(work: str, target: EmulatorTarget, rng: random.Random) -> None:
    """Do one of WORKS. A refusal is no fault: it took memory too."""
    with suppress(SabotError):
        WORKS[work](target, rng)
