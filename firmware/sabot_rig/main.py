"""Where the bench board begins: the board starts this module.

It gives MicroPython's prompt back to whoever sends a return and a Ctrl-C, as mpremote does, while
no host is attached. Whatever ends it, the rig is safe then.
"""

import gc

import micropython

from sabot_rig.board import Board, Line
from sabot_rig.rig import Bench

_CTRL_C = 3
_ASKS_FOR_PROMPT = b"\r\x03"

_REST_MS = 5
"""A board with nothing to do waits for its host, but no longer: a press may last so much more than
it was told to. Whatever else comes by itself can wait ten times as long."""


def serve(bench: Bench, line: Line) -> None:
    """Answer the host until somebody asks for the prompt."""
    out = memoryview(bench.out)
    sent = ready = 0
    while True:
        data = line.read()
        if data:
            if not bench.attached and _ASKS_FOR_PROMPT in data:
                return
            bench.feed(data)
        bench.step()
        if sent == ready:
            sent, ready = 0, bench.fill()
        sent = line.write(out, sent, ready)
        if sent == ready and not data:
            line.wait(_REST_MS)


def main() -> None:
    """Run the bench board."""
    micropython.kbd_intr(-1)  # byte 3 is a byte like any other in a frame
    bench = Bench(Board())
    gc.collect()
    try:
        serve(bench, Line())
    finally:
        bench.make_safe()
        micropython.kbd_intr(_CTRL_C)


if __name__ == "__main__":
    main()
