"""Opens a shoe to be read: through the running `sabot log` that has it, else at its port."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sabot.link.client import Client, ReadShoe
from sabot.link.command_keys import CommandKeyFile
from sabot.link.log_socket import LoggedShoe, ThroughLog, logged
from sabot.link.ports import Port, attached, through_log

_ATTACHING_S = 3.0
_POLL_S = 0.1


@contextmanager
def reading(name: str, keys: CommandKeyFile, lasting: str = "") -> Iterator[ReadShoe]:
    """A shoe by a port or its unit's id. A running log of this user goes on logging it.

    `lasting` is its `ports.lasting_names`, if that is known. Raises as Port and Client do, and
    NoShoe if a log has it and has no session with it.
    """
    shoe = _logged(name)
    if shoe is not None:
        with ThroughLog(shoe) as through:
            yield through
        return
    with Port(name, lasting) as opened:
        yield Client(opened, keys=keys)


def everything_to_read() -> list[str]:
    """The names of all shoes that `sabot ports` lists."""
    shoes = logged()
    names = {shoe.unit or shoe.port for shoe in shoes}
    known = names | {shoe.port for shoe in shoes} | {shoe.url for shoe in shoes}
    names |= {info.serial for info in attached() if known.isdisjoint((info.serial, info.port))}
    return sorted(names)


def _logged(name: str) -> LoggedShoe | None:
    """The shoe of a log. One that the log attaches to just now is waited for."""
    deadline_s = time.monotonic() + _ATTACHING_S
    while True:
        shoe = through_log(name)
        if shoe is None or shoe.welcome is not None or time.monotonic() > deadline_s:
            return shoe
        time.sleep(_POLL_S)
