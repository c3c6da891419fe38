"""A debug session: MicroPython's prompt on a shoe, until its next start."""

from sabot.errors import NoShoe, PortBusy, PortNotFound
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import DebugCommand
from sabot.link.ports import Port
from sabot.retry import retried

_PATIENCE_S = 30.0
_READ_S = 0.5
_PROMPT = b">>>"
_INTERRUPT = b"\r\x03"  # to which a prompt answers with a new prompt


def open_prompt(name: str, path: str, keys: CommandKeyFile) -> str:
    """Restart the shoe at the port `path` with the prompt, wait for the prompt, return the unit's
    id. Errors call the port `name`, as the user does.

    Raises CommandRefused with the shoe's reason: its service switch is off, or cards are in play.
    Raises NoShoe if there is no prompt within half a minute.
    """
    with Port(path) as opened:
        client = Client(opened, keys=keys)
        client.ask(DebugCommand())

    def see_prompt() -> None:
        with Port(path) as opened:
            opened.write(_INTERRUPT)
            if _PROMPT not in opened.read(_READ_S):
                raise NoShoe(f"{path}: no prompt there")

    absent = (NoShoe, PortNotFound, PortBusy)  # the port vanishes for a while
    try:
        retried(see_prompt, *absent, within_s=_PATIENCE_S, every_s=_READ_S / 5)
    except absent:
        raise NoShoe(
            f"{name}: {client.unit} has restarted, but there is no prompt at {path}; try again"
        ) from None
    return client.unit
