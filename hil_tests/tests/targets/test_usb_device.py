"""What the host can do to a USB device, on files as the kernel has them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sabot_hil.capabilities import Unable
from sabot_hil.targets.usb_device import UsbDevice


class Kernel:
    """The files of one device, which goes to sleep or wakes when `pause` passes time."""

    def __init__(self, folder: Path) -> None:
        self.devices = folder
        self.device = folder / "1-2"
        self.power = self.device / "power"
        self.power.mkdir(parents=True)
        (self.device / "serial").write_text("E660\n")
        (self.device / "authorized").write_text("1")
        for name, text in (
            ("control", "on"),
            ("autosuspend_delay_ms", "2000"),
            ("runtime_status", "active"),
        ):
            (self.power / name).write_text(f"{text}\n")
        self.seen: list[str] = []
        self.now_s = 0.0

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        sleeps = (self.power / "control").read_text() == "auto"
        (self.power / "runtime_status").write_text("suspended\n" if sleeps else "active\n")
        self.seen.append((self.power / "runtime_status").read_text().strip())

    def of(self, serial: str, pause: Callable[[float], None] | None = None) -> UsbDevice:
        return UsbDevice(serial, self.devices, pause or self.pause, lambda: self.now_s)


def test_a_device_is_suspended_for_as_long_as_asked_and_its_settings_come_back(
    tmp_path: Path,
) -> None:
    kernel = Kernel(tmp_path)
    kernel.of("E660").suspend(3.0)
    assert kernel.seen.count("suspended") >= 2 and kernel.seen[-1] == "active"
    assert kernel.now_s >= 3.0
    assert (kernel.power / "control").read_text().strip() == "on"
    assert (kernel.power / "autosuspend_delay_ms").read_text() == "2000"


def test_a_device_that_does_not_sleep_is_left_awake_and_skips_the_test(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)

    def only_time(seconds: float) -> None:
        kernel.now_s += seconds

    with pytest.raises(Unable, match="does not become suspended"):
        kernel.of("E660", only_time).suspend(3.0)
    assert (kernel.power / "control").read_text() == "on"


def test_a_device_is_taken_away_and_taken_back(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    kernel.of("E660").replug()
    assert (kernel.device / "authorized").read_text() == "1"


def test_what_the_host_cannot_do_says_why(tmp_path: Path) -> None:
    with pytest.raises(Unable, match="lists no USB device E661"):
        Kernel(tmp_path).of("E661")
    kernel = Kernel(tmp_path / "of-root")
    (kernel.device / "authorized").unlink()
    (kernel.device / "authorized").mkdir()  # cannot be written, not even by root
    with pytest.raises(Unable, match="may not write"):
        kernel.of("E660").replug()
