"""How long each piece of the shoe's work takes on the emulated Pico: `COSTS_US` of the model of its
turns (firmware/tests/support/timed_shoe.py).

`python -m sabot_hil.benchmarks.costs` deals rounds with a host that asks, and prints the longest
time of each piece. `SABOT_FLASH_PERCENT` sets what a miss of the flash cache costs. The methods are
wrapped on the board, which adds some 0.1 ms to each.
"""

import re
import tempfile
import time
from pathlib import Path

from sabot.link.client import Client
from sabot.link.messages import HealthCommand, IdentifyCommand, SelfTestCommand, SetClockCommand
from sabot.release.compiling import modules
from sabot.release.compiling.short_names import short_names
from sabot.sim.waveform import pass_samples
from sabot_hil.kit import releases
from sabot_hil.kit.dealer import load_cards
from sabot_hil.kit.runner import run
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.emulator import EmulatorTarget, firmware_files
from sabot_protocol import cards, messages

_DEALT = ("AC", "2C", "9C", "TD", "KH")  # a round but for its last card
_SPEEDS_MM_S = (300.0, 1000.0, 3000.0)

_PIECES = (
    ("read samples", "boards.pico.board", "Board", "read_samples"),
    ("lock after", "panel", "Presenting", "set_lock"),
    ("collect, measure or fill gaps", "heap", "Heap", "maintain"),
    ("fill gaps", "heap", "Heap", "fill_gaps"),
    ("tick, with gaps", "ticking", "Ticking", "tick"),
    ("carry out, with all that follows", "acting", "Acting", "carry_out"),
    ("event", "journal.recorder", "Recorder", "record"),
    ("keep state", "acting", "Acting", "keep_state"),
    ("all outputs", "panel", "Presenting", "show"),
    ("display, a line", "boards.pico.ssd1306", "Display", "refresh"),
    ("frame, with its command", "link.link", "Link", "feed"),
    ("signed frame", "link.authentication", "CommandGuard", "allow_signed"),
    ("command", "shoe", "Shoe", "command"),
    ("fill, with its events", "link.link", "Link", "fill"),
    ("link, 64 bytes out", "boards.pico.board", "Board", "write_link"),
    ("journal, a step", "journal.journal", "Journal", "step"),
)

# Runs on the board. `asyncio.run` is the last thing that the firmware calls before its tasks run.
_PROBE = """
import asyncio, sys, time
LONGEST = {}
def longest(label, us):
    if us > LONGEST.get(label, -1):
        LONGEST[label] = us
def wrap(label, owner, name):
    method = getattr(owner, name)
    def timed(*given):
        begun = time.ticks_us()
        result = method(*given)
        longest(label, time.ticks_diff(time.ticks_us(), begun))
        return result
    setattr(owner, name, timed)
def reader(owner):
    method = owner.read
    def timed(self, data, at, end):
        known = self.known
        begun = time.ticks_us()
        at = method(self, data, at, end)
        us = time.ticks_diff(time.ticks_us(), begun)
        if self.ended:
            longest("reader, the verdict", us)
        elif self.known != known:
            longest("reader, the last mark", us)
        return at
    owner.read = timed
def dump(owner):
    command = owner.command
    def then(self, shape, values):
        if shape.number == IDENTIFY:
            for label, us in LONGEST.items():
                print("COST %s: %d" % (label, us))
        return command(self, shape, values)
    owner.command = then
def run(main, run=asyncio.run):
    for label, module, owner, name in PIECES:
        wrap(label, getattr(sys.modules["sabot_firmware." + module], owner), name)
    reader(sys.modules["sabot_firmware.cards.reader"].Reader)
    dump(sys.modules["sabot_firmware.shoe"].Shoe)
    run(main)
asyncio.run = run
"""


def measure() -> dict[str, int]:
    """Return the longest time of each piece of work, in us, by name."""
    files = firmware_files()
    short = short_names(modules.before_short_names("pico"))
    pieces = [(*piece[:2], *(short.get(name, name) for name in piece[2:])) for piece in _PIECES]
    constants = f"PIECES = {pieces!r}\nIDENTIFY = {messages.IDENTIFY.number}\n"
    files["probe.py"] = releases.script_for("pico", constants + _PROBE)
    files["main.py"] = b"import probe\n" + files["main.py"]
    with tempfile.TemporaryDirectory() as folder:
        target = EmulatorTarget("COSTS", Path(folder), Witness())
    pico, bench = target.pico, target.bench
    pico.put_files(files)
    target.power.on()
    printed = bytearray()
    read = pico.usb_read

    def tee() -> bytes:
        data = read()
        printed.extend(data)
        return data

    pico.usb_read = tee  # type: ignore[method-assign]
    load_cards(bench, *_DEALT)
    client = target.shoe.attach()
    client.begin(1)
    for speed_mm_s in _SPEEDS_MM_S:
        samples = pass_samples(cards.number_of("7S"), 0, speed_mm_s=speed_mm_s)
        bench.play(samples)
        _receive(client)
        client.ask(SetClockCommand(int(time.time() * 1000)))
        client.ask(HealthCommand())
        client.ask(SelfTestCommand())
        bench.press("next")
        for name in ("9D", "TS", "KC"):
            bench.pull(name)
        _receive(client)
    client.ask(IdentifyCommand())
    _receive(client)
    return {
        label.decode(): int(us) for label, us in re.findall(rb"COST ([^:]+): (\d+)", bytes(printed))
    }


def _receive(client: Client) -> None:
    for _ in range(100):
        if client.receive(0.01).records:
            client.acknowledge()


def main() -> None:
    """Print how long each piece of the shoe's work takes on the emulated Pico."""
    for label, us in sorted(measure().items()):
        print(f"{us:8,} us  {label}")


if __name__ == "__main__":
    run(main)
