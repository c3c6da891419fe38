"""The host's clock, from which shoes get theirs: whether it was set to another time, whether the
system says that it is synchronised, and when a shoe's clock is due to be set from it again.
"""

import ctypes
import struct
import subprocess
import time
from collections.abc import Callable
from threading import Lock

TOLERANCE_MS = 1000
"""By so much the host's clock may have moved against the time that has passed before a shoe is set
again. Time servers move it by 0.5 ms a second at most."""
_AGAIN_S = 30.0  # a clock that is set again and again fills no journal
_SYSTEM_S = 3.0

# adjtimex(2), on a machine with words of 64 bits: a size for any of its versions, and where in it
# the status is. The call answers TIME_ERROR, or has this bit, if the clock is not synchronised.
_TIMEX_BYTES, _STATUS_AT = 256, 40
_TIME_ERROR, _STA_UNSYNC = 5, 0x0040


def is_synchronised() -> bool | None:
    """Whether the system says that its clock is synchronised with a time server; None if it does
    not say."""
    try:
        timex = ctypes.create_string_buffer(_TIMEX_BYTES)  # `modes` is 0: nothing is set
        state = ctypes.CDLL(None).adjtimex(timex)
    except (OSError, AttributeError):
        state = -1
    if state >= 0:
        (status,) = struct.unpack_from("=i", timex, _STATUS_AT)
        return state != _TIME_ERROR and not status & _STA_UNSYNC
    return _as_systemd_says()  # services that are kept from setting clocks may not ask the kernel


def _as_systemd_says() -> bool | None:
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SYSTEM_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(done.stdout.strip())


def _passed_s() -> float:
    """The time since the machine began, also that in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class HostClock:
    """The host's clock beside the time that passes. Thread-safe."""

    def __init__(
        self,
        now_unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        passed_s: Callable[[], float] = _passed_s,
    ) -> None:
        self._now_unix_ms, self._passed_s = now_unix_ms, passed_s
        self._lock = Lock()
        self._seen_ms = self.began_unix_ms

    @property
    def unix_ms(self) -> int:
        """What the clock says."""
        return self._now_unix_ms()

    @property
    def passed_s(self) -> float:
        """The time that passes, which no one sets."""
        return self._passed_s()

    @property
    def began_unix_ms(self) -> int:
        """When that time began by the clock as it is now. It moves if the clock is set."""
        return self._now_unix_ms() - round(1000 * self._passed_s())

    def moved_ms(self) -> int:
        """Return by how much the clock was set since the last call, ahead if positive; 0 for what a
        time server does all the time."""
        now = self.began_unix_ms
        with self._lock:
            moved, self._seen_ms = now - self._seen_ms, now
        return moved if abs(moved) > TOLERANCE_MS else 0


class ShoeClock:
    """When the clock of a shoe is due to be set again, in one session: after a shoe of cards,
    because its crystal drifts; when the host's own clock was set; and, if its journal was full,
    once there may be room."""

    def __init__(self, host: HostClock) -> None:
        self._host = host
        self._taken = False
        self._stored = self._shoe_ended = False
        self._set_s = self._began_ms = 0.0

    def was_set(self, taken: bool) -> None:
        """The shoe was asked to set its clock; `taken` is false if its journal was full."""
        self._taken, self._stored, self._shoe_ended = taken, False, False
        self._set_s, self._began_ms = self._host.passed_s, self._host.began_unix_ms

    def stored(self, shoe_ended: bool) -> None:
        """Events of the shoe were stored; the last one of a shoe of cards among them, or not."""
        self._stored = True
        self._shoe_ended = self._shoe_ended or shoe_ended

    @property
    def due(self) -> bool:
        """Whether to set it now."""
        if not self._taken:
            return self._stored
        if self._host.passed_s - self._set_s < _AGAIN_S:
            return False
        moved_ms = abs(self._host.began_unix_ms - self._began_ms)
        return self._shoe_ended or moved_ms > TOLERANCE_MS
