"""How long a Pico takes to seal a card, measured on the emulated one."""

from sabot_hil.emulation.pico import EmulatedPico
from sabot_hil.emulation.uf2 import find_image, read_image
from sabot_hil.kit import releases

_ROUNDS = 8
_STARTER = f"""\
import time

begun = time.ticks_us()
from sabot_firmware.journal.seals import Seals
seals = Seals(bytes(32))
note = bytearray(20)
loaded = time.ticks_us()
for n in range({_ROUNDS}):
    seals.begin(1000 + n)
committed = time.ticks_us()
for n in range({_ROUNDS}):
    seals.note(2000 + n, note)
    seals.card(51)
sealed = time.ticks_us()
seals.state(3000, bytes(200))
kept = time.ticks_us()
times = (begun, loaded, committed, sealed, kept)
print("took", *[time.ticks_diff(times[i + 1], times[i]) for i in range(4)])
"""
_LONGEST_US = 60e6


def sealing_times_us() -> tuple[float, float, float, float]:
    """Return the microseconds to load the module, to commit to a round's key, to seal a card with
    its note for the journal, and to seal a state. Raises ImageUnusable."""
    files = {**releases.compiled("pico"), "main.py": releases.script_for("pico", _STARTER)}
    pico = EmulatedPico(read_image(find_image()), files)
    said = bytearray()

    def reported() -> bool:
        said.extend(pico.usb_read())
        return b"took" in said and said.endswith(b"\n")

    pico.power_on()
    if not pico.run_until(reported, _LONGEST_US):
        raise AssertionError(f"its output was {bytes(said)!r}")
    _, loading, committing, sealing, keeping = said[said.index(b"took") :].split()
    return int(loading), int(committing) / _ROUNDS, int(sealing) / _ROUNDS, int(keeping)
