"""An emulated bare Pico as a target, through a pseudo-terminal that mpremote opens like a port."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sabot.release.uf2 import Image
from sabot_hil.capabilities import Unable
from sabot_hil.emulation.bare import BarePico
from sabot_hil.emulation.nor_chip import TYPICAL, Times
from sabot_hil.emulation.uf2 import named
from sabot_hil.targets.bare_prompt import RealPrompt
from sabot_hil.targets.emulated_line import Terminal

_T = TypeVar("_T")

_STEP_US = 2_000
_S = 1e6  # in us
_START_US = 2_000_000
_NO_HOST = "the emulated USB host cannot do this"


class EmulatedPrompt(RealPrompt):
    """A Pico with MicroPython's `image` and these files. `flash_percent` and `flash_times` are as
    for BarePico."""

    emulated = True

    def __init__(
        self,
        image: Image,
        files: Mapping[str, bytes] | None = None,
        *,
        flash_percent: int | None = None,
        flash_times: Times = TYPICAL,
    ) -> None:
        self._image = image
        self.pico = BarePico(
            image,
            files or {},
            unique_id=b"BAREPICO",
            flash_percent=flash_percent,
            flash_times=flash_times,
        )
        self.pico.power_on()
        self._terminal = Terminal(self.pico)
        self._pool = ThreadPoolExecutor(1)
        self._host_reads = True
        self.pico.run_us(_START_US)
        try:
            super().__init__("pico:emulator")
        except BaseException:
            self._end()
            raise

    def about(self) -> Mapping[str, str]:
        """What is measured."""
        return {
            **super().about(),
            "Flash": self.pico.flash_cost,
            "MicroPython": named(self._image),
        }

    def suspend_usb(self, seconds: float) -> None:
        """Raise Unable."""
        raise Unable(_NO_HOST)

    def replug_usb(self) -> None:
        """Raise Unable."""
        raise Unable(_NO_HOST)

    def close(self) -> None:
        """As RealPrompt, and switch it off."""
        try:
            super().close()
        finally:
            self._end()

    def _end(self) -> None:
        self._pool.shutdown()
        self._terminal.close()
        self.pico.power_off()

    def now_us(self) -> float:
        """Emulated time."""
        return self.pico.t_us

    def pass_s(self, seconds: float) -> None:
        """Let emulated time pass: the other thread runs the chip meanwhile."""
        end_us = self.now_us() + seconds * _S
        while self.now_us() < end_us:
            time.sleep(_STEP_US / _S)

    def _let_host_read(self, reads: bool) -> None:
        self._host_reads = reads  # the thread that runs the chip passes it on

    def _port(self) -> str:
        return self._terminal.name

    def _beside(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work`, which runs in another thread. The chip runs meanwhile, no
        faster than real time, which mpremote uses."""
        if threading.current_thread() is not threading.main_thread():
            return work()
        done = self._pool.submit(work)
        while not done.done():
            begun_s = time.monotonic()
            self.pico.let_host_read(self._host_reads)
            self.pico.run_us(_STEP_US)
            time.sleep(max(0.0, begun_s + _STEP_US / _S - time.monotonic()))
        return done.result()
