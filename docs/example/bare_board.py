"""A simulated Pico with MicroPython and nothing else, until Ctrl-C: to try docs/technician.md."""

import signal
import threading

from sabot.sim.process import SimulatedShoe

with SimulatedShoe("BARE-1", files={}) as board:
    board.power_on()
    print(board.port, flush=True)
    ended = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    ended.wait()
