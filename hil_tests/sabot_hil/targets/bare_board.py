"""An emulated bare Pico, as a technician gets it, and the steps that put it into service."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from sabot.errors import NoShoe
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.release.build import Release
from sabot.release.flash import flash
from sabot.release.provision import KeyFiles, UnitSettings, provision
from sabot.release.uf2 import Image
from sabot.release.update import update
from sabot_hil.capabilities import session_with
from sabot_hil.emulation.pico import EmulatedPico
from sabot_hil.kit import releases
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.emulator import EmulatedBench, EmulatedClock, EmulatedPower, EmulatedShoe
from sabot_protocol import messages

_S = 1_000_000  # in us
_STEP_US = 20_000
_BACK_S = 30.0
_LOOK_S = 0.5


def settings_of(unit: str) -> UnitSettings:
    """The settings that make a board this unit, at table 12."""
    return UnitSettings(
        unit=unit,
        table="12",
        card_set=0,
        when_full="stop",
        game=catalogue.document("mini"),
        release_key=signing.public_of(releases.HOUSE),
    )


class BareBoard:
    """A Pico with power that has only MicroPython on it, with the parts of a shoe on its pins."""

    def __init__(self, image: Image) -> None:
        self.pico = EmulatedPico(image, {}, unique_id=b"BAREPICO")
        witness = Witness()
        self.clock = EmulatedClock(self.pico)
        self.bench = EmulatedBench(self.pico, witness)
        self.shoe = EmulatedShoe(self.pico, self.clock, witness)
        self.shoe.keys = CommandKeyFile()  # a bare board has no key until it is provisioned
        self.power = EmulatedPower(self.pico, self.bench, self.shoe)
        self.pico.power_on()

    def now_s(self) -> float:
        """The board's time, which passes only during calls of these methods."""
        return self.clock.now_us() / _S

    def pause(self, seconds: float) -> None:
        """Let `seconds` of the board's time pass."""
        self.clock.pass_ms(1000 * seconds)

    @contextmanager
    def attached(self) -> Iterator[Client]:
        """Open a session at the board's port."""
        with session_with(self.shoe) as client:
            yield client

    def flash(self, built: Release) -> str:
        """Do what `sabot flash` does."""
        port = self.shoe.port

        def no_prompt() -> None:
            raise AssertionError("a bare board has its prompt")

        return self._meanwhile(lambda: flash(port, built, open_repl=no_prompt, now_s=self.now_s))

    def provision(self, unit: str, folder: Path) -> str:
        """Do what `sabot provision` does, for table 12; the key files are in `folder`."""
        files = KeyFiles(folder / "sabot.keys", folder / "sabot.commands", self.shoe.keys)
        return provision(
            self.attached, settings_of(unit), files, now_s=self.now_s, pause=self.pause
        )

    def update(self, built: Release) -> str:
        """Do what `sabot update` does."""
        return update(self.attached, built, now_s=self.now_s, pause=self.pause)

    def wait_for_service(self) -> None:
        """Wait until the board deals: after an update that it refused it starts again, 3 s later.
        Raises NoShoe if it does not deal within half a minute."""
        end_s = self.now_s() + _BACK_S
        while True:
            try:
                with self.attached() as client:
                    if client.welcome.game != messages.NO_GAME:
                        return
                    if self.now_s() > end_s:
                        raise NoShoe(f"{client.unit}: it does not return to its game")
            except NoShoe:
                if self.now_s() > end_s:
                    raise
            self.pause(_LOOK_S)

    def runs(self) -> str:
        """Return the version that runs."""
        with self.attached() as client:
            return client.welcome.firmware

    def _meanwhile(self, work: Callable[[], str]) -> str:
        """Return the result of `work`, which another program does at the board's port. The board's
        time passes until then, no faster than this machine's time, which that program uses."""
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(work)
            while not done.done():
                begun_s = time.monotonic()
                self.pico.run_us(_STEP_US)
                time.sleep(max(0.0, begun_s + _STEP_US / _S - time.monotonic()))
            return done.result()
