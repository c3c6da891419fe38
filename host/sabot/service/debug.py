"""A debug session: MicroPython's prompt on a shoe, until its next start."""

from sabot.errors import NoShoe, PortNotFound
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import DebugCommand
from sabot.link.ports import Port
from sabot.retry import retried

_PATIENCE_S = 30.0
_LOOK_S = 0.5
_PROMPT = b">>>"
_INTERRUPT = b"\r\x03"  # what a prompt answers with a new one


def open_prompt(name: str, path: str, keys: CommandKeyFile) -> str:
    """Have the shoe at the port `path`, which the user calls `name`, restart with the prompt,
    and wait until it is there; the unit's id.

    Raises CommandRefused with the shoe's reason: its service switch is off, cards are in play.
    NoShoe where there is no prompt within half a minute.
    """
    with Port(path) as opened:
        client = Client(opened, keys=keys)
        client.ask(DebugCommand())

    def see_prompt() -> None:
        with Port(path) as opened:
            opened.write(_INTERRUPT)
            if _PROMPT not in opened.read(_LOOK_S):
                raise NoShoe(f"{path}: no prompt there")

    try:  # the port vanishes for a while
        retried(see_prompt, NoShoe, PortNotFound, within_s=_PATIENCE_S, every_s=_LOOK_S / 5)
    except (NoShoe, PortNotFound):
        raise NoShoe(
            f"{name}: {client.unit} has restarted, and no prompt is at {path}; try again"
        ) from None
    return client.unit
