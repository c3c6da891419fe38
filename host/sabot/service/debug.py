"""A debug session: MicroPython's prompt on a shoe, until its next start."""

import time
from contextlib import suppress

from sabot.errors import NoShoe, PortNotFound
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeys
from sabot.link.ports import Port
from sabot_protocol import messages

_PATIENCE_S = 30.0
_LOOK_S = 0.5
_PROMPT = b">>>"
_INTERRUPT = b"\r\x03"  # what a prompt answers with a new one


def open_prompt(name: str, path: str, keys: CommandKeys) -> str:
    """Have the shoe at the port `path`, which the user calls `name`, start anew with the prompt,
    and wait until it is there; the unit's id.

    Raises CommandRefused with the shoe's reason: its service switch is off, cards are in play.
    NoShoe where there is no prompt within half a minute.
    """
    with Port(path) as opened:
        client = Client(opened, keys=keys)
        client.command(messages.DEBUG)
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(NoShoe, PortNotFound), Port(path) as opened:  # it vanishes for a while
            opened.write(_INTERRUPT)
            if _PROMPT in opened.read(_LOOK_S):
                return client.unit
        time.sleep(_LOOK_S / 5)
    raise NoShoe(f"{name}: {client.unit} has started anew, and no prompt is at {path}; try again")
