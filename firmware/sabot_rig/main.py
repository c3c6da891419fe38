"""The program of the bench board: the board starts this module.

While no host is attached, a return and a Ctrl-C, which mpremote sends, give MicroPython's prompt.
However the program ends, it leaves the rig safe.
"""

import gc

import micropython

from sabot_rig.board import HostLine, RigBoard
from sabot_rig.rig import RigController

_CTRL_C = 3
_ASKS_FOR_PROMPT = b"\r\x03"

_REST_MS = 5
"""A board with nothing to do waits this long for its host. A press may last longer than asked
for by this time; all its other work can wait ten times as long."""


def serve(controller: RigController, line: HostLine) -> None:
    """Answer the host until the prompt is asked for."""
    out = memoryview(controller.out)
    sent = ready = 0
    while True:
        data = line.read()
        if data:
            if not controller.attached and _ASKS_FOR_PROMPT in data:
                return
            controller.feed(data)
        controller.step()
        if sent == ready:
            sent, ready = 0, controller.fill()
        sent = line.write(out, sent, ready)
        if sent == ready and not data:
            line.wait(_REST_MS)


def main() -> None:
    """Run the bench board."""
    micropython.kbd_intr(-1)  # byte 3 is an ordinary byte in a frame, not Ctrl-C
    controller = RigController(RigBoard())
    gc.collect()
    try:
        serve(controller, HostLine())
    finally:
        controller.make_safe()
        micropython.kbd_intr(_CTRL_C)


if __name__ == "__main__":
    main()
