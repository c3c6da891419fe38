"""The emulator as a target: the firmware on MicroPython on an emulated Raspberry Pi Pico.

Needs the optional packages of the extra `emulator` and an image of MicroPython
(`sabot_hil.emulation.uf2.find_image`).
"""

import fcntl
import hashlib
import lzma
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from sabot.errors import SimulatorFailed
from sabot.keys import chain_keys as unit_keys
from sabot.keys.signing import PrivateKey
from sabot.link.client import Client, SerialLine
from sabot.link.command_keys import CommandKeyFile
from sabot.release.uf2 import FLASH_BYTES, Image
from sabot.sim.channel import Outputs
from sabot.sim.process import new_journal
from sabot_hil.capabilities import LOCK_DECIDED, Seen, Unable
from sabot_hil.emulation import filesystem
from sabot_hil.emulation.nor_chip import TYPICAL, Times
from sabot_hil.emulation.pico import EmulatedPico
from sabot_hil.emulation.uf2 import find_image, named, read_image
from sabot_hil.kit import releases
from sabot_hil.kit.cache import cache
from sabot_hil.kit.witness import Witness, Witnessed
from sabot_hil.targets.emulated_line import EmulatedPort, Terminal
from sabot_hil.targets.hands import Hands
from sabot_protocol import enums
from sabot_protocol.baccarat import MINI_NAME, document_of
from sabot_protocol.chain import chain_id, command_key

_MS = 1000  # in us
_S = 1000 * _MS

_START_US = 20 * _S  # the longest time that a start may take
_SETTLE_US = 30 * _S
# Without a change of outputs or journal. The display waits for the journal, and for a verdict, its
# events and a garbage collection: the processor does not sleep until they are done. A host that is
# sent many events keeps it awake too, so after the longer time the shoe is quiet in any case.
_QUIET_US = 100 * _MS
_QUIET_AWAKE_US = 400 * _MS
_QUIET_STEP_US = 20 * _MS
_ASLEEP_SHARE = 0.3  # an idle shoe sleeps twice as much
# A finger's quick press. The board needs four equal looks, 5 ms apart, and does not look while it
# collects garbage or carries out an input: a press of 30 ms was lost.
_HELD_US = 100 * _MS
_ID_BYTES = 8
FIRST_KEY = hashlib.sha256(b"the first key of every emulated unit").digest()
"""Of the audit chain of every emulated unit."""
_COMMAND_KEY = command_key(FIRST_KEY)
_JOURNAL = new_journal(FIRST_KEY, hashlib.sha256(b"random bytes").digest())
_LED = 25  # on the Pico itself; boards/pico/board.py
_SENSORS = ("sensor_e", "sensor_a", "sensor_b", "sensor_x")


class EmulatorTarget:
    """A unit whose id depends only on `unit`; all units have the same first key. Its key file,
    `sabot.keys`, is in `folder`. `image` is a UF2 file; with None one is looked for. `seed` decides
    what a power cut leaves. `documents` are the unit's, besides those of every emulated unit or in
    their place.

    The very first start of a unit reads all of the journal's chip, which takes 11 s. So it is done
    once for all targets, and this one begins after it, unless `first_start`. Raises ImageUnusable.
    """

    def __init__(
        self,
        unit: str,
        folder: Path,
        witness: Witness,
        *,
        image: Path | None = None,
        seed: int = 0,
        first_start: bool = False,
        journal_times: Times = TYPICAL,
        flash_times: Times = TYPICAL,
        flash_percent: int | None = None,
        documents: Mapping[str, object] | None = None,
    ) -> None:
        self._image = read_image(find_image(image))
        files = firmware_files(documents)
        self.pico = EmulatedPico(
            self._image,
            files,
            unique_id=bytes.fromhex(board_number(unit)),
            journal_times=journal_times,
            flash_times=flash_times,
            flash_percent=flash_percent,
            seed=seed,
        )
        folder.mkdir(parents=True, exist_ok=True)
        self.keys = folder / "sabot.keys"
        unit_keys.add(self.keys, self.pico.unique_id.hex(), FIRST_KEY)
        self.clock = EmulatedClock(self.pico)
        self.bench = EmulatedBench(self.pico, witness)
        self.shoe = EmulatedShoe(self.pico, self.clock, witness)
        self.power = EmulatedPower(self.pico, self.bench, self.shoe)
        self.pico.journal.content[: len(_JOURNAL)] = _JOURNAL
        if not first_start:
            self.pico.flash[:], self.pico.journal.content[:] = started_unit(self._image, files)

    def house(self) -> tuple[str, PrivateKey]:
        """The board of its releases, and the key that signs them."""
        return "pico", releases.HOUSE

    def about(self) -> Mapping[str, str]:
        """What is tested, and on what rig."""
        package = f"rp2040py {version('rp2040py')}"
        return {
            "Rig": f"emulated Pico, {package}",
            "Flash": self.pico.flash_cost,
            "MicroPython": named(self._image),
        }

    def close(self) -> None:
        """Switch the power off and close the ports."""
        self.shoe.close()
        self.power.off()


class EmulatedClock:
    """Time that passes only while a test lets it pass."""

    emulated = measures_shoe = True

    def __init__(self, pico: EmulatedPico) -> None:
        self._pico = pico

    def now_us(self) -> int:
        """Microseconds since the target was made."""
        return self._pico.t_us

    def pass_ms(self, ms: float) -> None:
        """Let `ms` milliseconds pass."""
        self._pico.run_us(ms * _MS)

    def slept_us(self) -> int:
        """Microseconds since the last start in which the processor slept. Raises Unable."""
        slept_us = self._pico.slept_us
        if slept_us is None:
            raise Unable("the emulator's loop counts sleep only if Cython is installed")
        return slept_us


class EmulatedBench(Hands):
    """Hands at the pins, eyes on pins and display."""

    def __init__(self, pico: EmulatedPico, witness: Witness) -> None:
        self._pico = pico
        self._witness = witness
        self._outputs = Outputs()
        self._seen: list[Seen] = []
        self._changed_us = 0
        self.take_card_out()
        for button in enums.BUTTONS:
            self._put(f"button_{button}", False)
        for switch in enums.SWITCHES:
            self._put(f"switch_{switch}", False)
        pico.on_pin(pico.pins["lock"].gpio, self._lock_moved)
        pico.on_pin(_LED, self._lock_decided)
        for lamp in enums.LAMPS:
            pico.on_pin(pico.pins[f"lamp_{lamp}"].gpio, self._lamp_watcher(lamp))
        pico.on_buzzer = self._buzzed
        pico.on_display = self._drawn

    def take_card_out(self) -> None:
        """Leave the head without a card."""
        for part in _SENSORS:
            self._put(part, False)

    @property
    def outputs(self) -> Outputs:
        """What the shoe shows now."""
        return self._outputs

    def seen(self) -> list[Seen]:
        """Every change of an output since the last call."""
        seen, self._seen = self._seen, []
        return seen

    def play(self, samples: bytes) -> int:
        """Play sample words to the head; returns the time of the first one."""
        self._must_have_power()
        began_us = self._pico.t_us
        self._witness.played(began_us, samples)
        self._pico.run_us(self._pico.play(samples))
        return began_us

    def press(self, button: str) -> Outputs:
        """Press a button and release it; returns what the shoe shows then."""
        self._must_have_power()
        for held in (True, False):
            self._put(f"button_{button}", held)
            self._pico.run_us(_HELD_US)
        return self.settle()

    def switch(self, switch: str, on: bool) -> Outputs:
        """Move a switch; without power it only changes its position."""
        self._put(f"switch_{switch}", on)
        if not self._pico.powered:
            return self._outputs
        self._pico.run_us(_HELD_US)
        return self.settle()

    def plug_display(self, plugged: bool) -> None:
        """Plug the display in or out."""
        self._pico.plug_display(plugged)

    def settle(self) -> Outputs:
        """Wait until outputs and journal have been quiet for a while. Raises SimulatorFailed."""
        begin_us = self._pico.t_us
        end_us = begin_us + _SETTLE_US
        while self._pico.powered and self._pico.t_us < end_us:
            last_us = max(begin_us, self._changed_us, self._pico.journal.changed_ns // _MS)
            quiet_us = self._pico.t_us - last_us
            if quiet_us >= _QUIET_AWAKE_US or (quiet_us >= _QUIET_US and self._sleeps()):
                return self._outputs
            self._pico.run_us(max(_QUIET_US - quiet_us, _QUIET_STEP_US))
        if self._pico.powered:
            raise SimulatorFailed(f"the shoe is not quiet after {_SETTLE_US // _S} s")
        return self._outputs

    def _sleeps(self) -> bool:
        """Whether the processor sleeps as one that waits, in the time of a step, which passes."""
        slept_us = self._pico.slept_us or 0
        self._pico.run_us(_QUIET_STEP_US)
        return (self._pico.slept_us or 0) - slept_us >= _ASLEEP_SHARE * _QUIET_STEP_US

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        """Wait until `wanted` is true of what the shoe shows. Raises SimulatorFailed."""
        self._must_have_power()
        if not self._pico.run_until(lambda: wanted(self._outputs), _SETTLE_US):
            shown = " / ".join(line for line in self._outputs.display if line)
            raise SimulatorFailed(
                f"the shoe has not {what}: not within {_SETTLE_US // _S} s; it shows: {shown}"
            )
        return self._outputs

    def _must_have_power(self) -> None:
        if not self._pico.powered:
            raise SimulatorFailed("the shoe has no power")

    def _put(self, part: str, on: bool) -> None:
        pin = self._pico.pins[part]
        self._pico.set_pin(pin.gpio, pin.on if on else 1 - pin.on)

    def _lock_moved(self, t_us: int, level: int) -> None:
        released = level == self._pico.pins["lock"].on
        self._show(t_us, replace(self._outputs, lock_released=released), "lock_released", released)

    def _lock_decided(self, t_us: int, level: int) -> None:
        self._seen.append(Seen(t_us, LOCK_DECIDED, level == 1))

    def _lamp_watcher(self, lamp: str) -> Callable[[int, int], None]:
        on = self._pico.pins[f"lamp_{lamp}"].on

        def changed(t_us: int, level: int) -> None:
            lit = {lamp} if level == on else set[str]()
            lamps = frozenset(self._outputs.lamps - {lamp} | lit)
            self._show(t_us, replace(self._outputs, lamps=lamps), "lamps", lamps)

        return changed

    def _buzzed(self, t_us: int, hertz: float) -> None:
        if hertz:
            beeps = self._outputs.beeps + 1
            self._show(t_us, replace(self._outputs, beeps=beeps), "beeps", beeps)
        self._changed_us = t_us

    def _drawn(self, t_us: int) -> None:
        lines = self._pico.display.lines()
        self._show(t_us, replace(self._outputs, display=lines), "display", lines)

    def _show(self, t_us: int, outputs: Outputs, what: str, value: object) -> None:
        self._changed_us = t_us
        if outputs != self._outputs:
            self._outputs = outputs
            self._seen.append(Seen(t_us, what, value))


class EmulatedShoe:
    """The link, over the emulated USB serial line. A session takes its number from `random`: to get
    the same trace twice, set the seed of `random`."""

    def __init__(self, pico: EmulatedPico, clock: EmulatedClock, witness: Witness) -> None:
        self.unit = pico.unique_id.hex()
        self.keys = CommandKeyFile()
        """The keys that `attach` signs commands with."""
        self.keys.put(self.unit, _COMMAND_KEY)
        self._pico = pico
        self._clock = clock
        self._witness = witness
        self._port: EmulatedPort | None = None
        self._terminal: Terminal | None = None

    @property
    def port(self) -> str:
        """A pseudo-terminal that any program may open."""
        if self._terminal is None:
            self._terminal = Terminal(self._pico)
        return self._terminal.name

    def suspend(self, seconds: float) -> None:
        """Raise Unable."""
        raise Unable("the emulated USB host cannot do this")

    def replug(self) -> None:
        """Raise Unable."""
        raise Unable("the emulated USB host cannot do this")

    def attach(self) -> Client:
        """A new session; ends an earlier one."""
        return Client(self.line(), now_s=lambda: self._clock.now_us() / _S, keys=self.keys)

    def line(self) -> SerialLine:
        """The bare link; ends an earlier session."""
        self.detach()
        if self._terminal is not None:
            self._terminal.plugged = False
        self._port = EmulatedPort(self._pico)
        return Witnessed(self._port, self._witness, self._clock.now_us)

    def detach(self) -> None:
        """Close the host's end."""
        if self._port is not None:
            self._port.close()
            self._port = None
        if self._terminal is not None:
            self._terminal.plugged = True

    def close(self) -> None:
        """Close the session and the pseudo-terminal."""
        self.detach()
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None


class EmulatedPower:
    """The supply."""

    def __init__(self, pico: EmulatedPico, bench: EmulatedBench, shoe: EmulatedShoe) -> None:
        self._pico = pico
        self._bench = bench
        self._shoe = shoe

    def on(self) -> None:
        """Switch the power on; returns once the display shows the state of the link, or an error.

        Raises SimulatorFailed if the display shows nothing.
        """
        if not self._pico.powered:
            self._bench.take_card_out()
        self._pico.power_on()
        shown = self._pico.run_until(
            lambda: not self._pico.powered or bool(self._bench.outputs.title), _START_US
        )
        if not shown:
            said = self._pico.usb_read().decode(errors="replace").strip()
            raise SimulatorFailed(f"emulated shoe {self._shoe.unit} does not start: {said}")
        if self._pico.powered:
            self._bench.settle()

    def off(self) -> None:
        """Switch the power off at once."""
        self._pico.power_off()

    def brown_out(self, us: int) -> None:
        """Leave the processor without power for `us` microseconds; the journal's chip continues
        its operation."""
        self._pico.brown_out(us)

    def sag(self, volts: float, *, fall_ms: float, low_ms: float, rise_ms: float) -> None:
        """Raise Unable."""
        raise Unable("the emulated supply is on or off")

    def off_in_flash(self, operation: int, share: float) -> None:
        """Cut the power during an operation of the journal's chip from now on."""
        self._pico.cut_power_in(operation, share)

    def written_us(self) -> int:
        """When the last operation of the journal's chip ended or will end."""
        return self._pico.journal.changed_ns // _MS


def board_number(unit: str) -> str:
    """Return the number of the board of a target with this name."""
    return hashlib.sha256(unit.encode()).hexdigest()[: 2 * _ID_BYTES]


def firmware_files(documents: Mapping[str, object] | None = None) -> dict[str, bytes]:
    """Return the files of a new unit, by name: this firmware, compiled if it was not yet, and the
    unit's documents, besides or in place of the usual ones."""
    # A unit without an id uses its board's number.
    known: dict[str, object] = {
        "settings": {"set": 0},
        "chain": chain_id(FIRST_KEY),
        "command_key": _COMMAND_KEY,
        "unit": "",
        "game": document_of(MINI_NAME),
    }
    return filesystem.shoe_files({**known, **(documents or {})})


def started_unit(image: Image, files: Mapping[str, bytes]) -> tuple[bytes, bytes]:
    """Return the content of the Pico's flash and of the journal's chip after the first start of a
    unit with these files. It is kept between runs, under a name that depends on everything that was
    on the unit."""
    digest = hashlib.sha256(image.content)
    for path, content in files.items():
        digest.update(f"{path} {len(content)}\n".encode() + content)
    file = cache() / f"started-{digest.hexdigest()[:32]}.xz"
    with (cache() / "started.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a minute's work: other runs wait instead of repeating it
        if file.exists():
            both = lzma.decompress(file.read_bytes())
            return both[:FLASH_BYTES], both[FLASH_BYTES:]
        pico = EmulatedPico(image, files)
        pico.journal.content[: len(_JOURNAL)] = _JOURNAL
        bench = EmulatedBench(pico, Witness())
        EmulatedPower(pico, bench, EmulatedShoe(pico, EmulatedClock(pico), Witness())).on()
        pico.power_off()
        flash, journal = bytes(pico.flash), bytes(pico.journal.content)
        unfinished = file.with_suffix(".new")
        unfinished.write_bytes(lzma.compress(flash + journal, preset=0))
        unfinished.rename(file)
        return flash, journal
