"""A cable between a shoe's port and the host that can be pulled and can be noisy."""

import contextlib
import os
import random
import select
import threading
import tty
from pathlib import Path

_CHUNK = 4096
_POLL_S = 0.05


class Cable:
    """Connects `shoe_port` with `port`, a path that stays the same over every pull and plug.

    `noise` is the share of bytes that are disturbed, in both directions. A third of them is
    flipped, a third is dropped, and after a third a byte is inserted.
    """

    def __init__(self, shoe_port: str, folder: Path, *, noise: float = 0.0, seed: int = 0) -> None:
        self.port = str(folder / "cable")
        self._shoe = os.open(shoe_port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._noise = noise
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._host: int | None = None
        self._far_end: int | None = None
        self._closed = False
        self.plug()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def plug(self) -> None:
        """Put the cable in."""
        with self._lock:
            self._host, self._far_end = os.openpty()
            tty.setraw(self._far_end)
            os.set_blocking(self._host, False)
            link = Path(self.port)
            link.unlink(missing_ok=True)
            link.symlink_to(os.ttyname(self._far_end))

    def pull(self) -> None:
        """Pull the cable out: the host's port vanishes, bytes on the way are lost."""
        with self._lock:
            for end in (self._host, self._far_end):
                if end is not None:
                    os.close(end)
            self._host = self._far_end = None
            Path(self.port).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop, and close both ports."""
        self._closed = True
        self._thread.join()
        self.pull()
        os.close(self._shoe)

    def __enter__(self) -> "Cable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _carry(self) -> None:
        while not self._closed:
            with self._lock:
                ends = [self._shoe] if self._host is None else [self._shoe, self._host]
            with contextlib.suppress(OSError, ValueError):
                ready, _, _ = select.select(ends, [], [], _POLL_S)
                with self._lock:
                    if self._shoe in ready:
                        self._copy(self._shoe, self._host)
                    if self._host is not None and self._host in ready:
                        self._copy(self._host, self._shoe)

    def _copy(self, source: int, sink: int | None) -> None:
        data = os.read(source, _CHUNK)
        if self._noise:
            data = self._spoil(data)
        if sink is not None:
            with contextlib.suppress(BlockingIOError):  # a full line drops what it cannot take
                os.write(sink, data)

    def _spoil(self, data: bytes) -> bytes:
        spoilt = bytearray()
        for octet in data:
            if self._random.random() >= self._noise:
                spoilt.append(octet)
                continue
            what = self._random.randrange(3)
            if what == 0:
                spoilt.append(octet ^ 1 << self._random.randrange(8))
            elif what == 1:
                spoilt += bytes((octet, self._random.randrange(256)))
        return bytes(spoilt)
