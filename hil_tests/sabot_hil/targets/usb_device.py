"""What a Linux host can do to a USB device while it keeps its power: suspend it, and take it away.

Both go through files of the kernel (Documentation/ABI/testing/sysfs-bus-usb), which only root may
write unless a rule of udev allows it.
"""

import time
from collections.abc import Callable
from pathlib import Path

from sabot_hil.capabilities import Unable

DEVICES = Path("/sys/bus/usb/devices")
"""Where the kernel lists the USB devices."""

_WITHIN_S = 5.0
_LOOK_S = 0.05


class UsbDevice:
    """The device with this USB serial number. Raises Unable if the kernel lists none."""

    def __init__(
        self,
        serial: str,
        devices: Path = DEVICES,
        pause: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        found = [each.parent for each in devices.glob("*/serial") if _text(each) == serial]
        if not found:
            raise Unable(f"{devices} lists no USB device {serial}: only a Linux host can do this")
        self._folder = found[0]
        self._pause = pause
        self._now_s = now_s

    def suspend(self, seconds: float) -> None:
        """Suspend it for so long, and resume it. No program may have its port open.

        Raises Unable if this user may not, or the device does not go to sleep.
        """
        power = self._folder / "power"
        delay = _text(power / "autosuspend_delay_ms")
        control = _text(power / "control")
        self._write(power / "autosuspend_delay_ms", "0")
        try:
            self._write(power / "control", "auto")
            self._wait_for(power / "runtime_status", "suspended")
            self._pause(seconds)
        finally:
            self._write(power / "control", "on")
            self._write(power / "autosuspend_delay_ms", delay)
        self._wait_for(power / "runtime_status", "active")
        self._write(power / "control", control)

    def replug(self) -> None:
        """Let the host take its address and its drivers away, and take it back. Raises Unable."""
        self._write(self._folder / "authorized", "0")
        self._write(self._folder / "authorized", "1")

    def _write(self, file: Path, text: str) -> None:
        try:
            file.write_text(text)
        except OSError as error:
            raise Unable(
                f"this user may not write {file} ({error.strerror}); run it as root, or allow it "
                "with a rule of udev"
            ) from None

    def _wait_for(self, file: Path, text: str) -> None:
        deadline_s = self._now_s() + _WITHIN_S
        while _text(file) != text:
            if self._now_s() > deadline_s:
                raise Unable(f"{file} does not become {text} within {_WITHIN_S:g} s")
            self._pause(_LOOK_S)


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
