"""The target of a real board, but with two emulated Picos, wired pin to pin, as bench board and
shoe.

The bench board's firmware, its messages, `bench_shoe.py` and `bench_board.py` are those of a real
rig. Time is emulated: it passes only while the test waits.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from sabot.errors import NoShoe
from sabot.keys.signing import PrivateKey
from sabot.release.uf2 import Image
from sabot_hil.capabilities import Unable
from sabot_hil.emulation.pico import EmulatedPico
from sabot_hil.emulation.uf2 import find_image, named, read_image
from sabot_hil.emulation.wired import QUANTUM_US, BenchPico, Pair, Plugged
from sabot_hil.kit import releases
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.bench_shoe import BoardTarget
from sabot_hil.targets.edge import Condition, OpenLine
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_hil.targets.rig_check import PLUG

BENCH = "emulator"
"""The bench's name for `--bench`."""

_S = 1_000_000  # in us


class WiredTarget(BoardTarget):
    """An emulated shoe, as `EmulatorTarget`, wired to an emulated bench board."""

    def __init__(
        self, unit: str, folder: Path, witness: Witness, *, image: Path | None = None, seed: int = 0
    ) -> None:
        self._image = read_image(find_image(image))
        # The target's own bench is not used: from here on the wires drive the pins.
        alone = EmulatorTarget(unit, folder, witness, image=image, seed=seed)
        pico = alone.pico
        self._flash_cost = f"the shoe's: {pico.flash_cost}; the bench board's costs nothing"
        self._bench_pico = BenchPico.started(self._image)
        edge = EmulatedEdge(Pair(self._bench_pico, pico), pico)
        super().__init__(pico.unique_id.hex(), BENCH, witness, edge, alone.shoe.keys)

    def house(self) -> tuple[str, PrivateKey]:
        """The board of its releases, and the key that signs them."""
        return "pico", releases.HOUSE

    def about(self) -> Mapping[str, str]:
        """What is tested, and on what rig."""
        rig = (
            f"emulated bench board, firmware {self._board.firmware}, which sees {QUANTUM_US} us "
            f"late; emulated Picos, rp2040py {version('rp2040py')}"
        )
        return {
            **super().about(),
            "Rig": rig,
            "Flash": self._flash_cost,
            "MicroPython": named(self._image),
        }

    def close(self) -> None:
        """Switch the power of both off."""
        super().close()
        self._bench_pico.power_off()


def plugged(image: Image) -> "EmulatedEdge":
    """Return an emulated bench board with its check plug on, for `rig_check.check_bench`."""
    return EmulatedEdge(Plugged(BenchPico.started(image), PLUG), None)


class _World(Protocol):
    """`Pair` or `Plugged`."""

    bench: BenchPico
    on_quantum: Callable[[], None]

    @property
    def t_us(self) -> int: ...
    def run_us(self, us: float) -> None: ...
    def run_until(self, condition: Callable[[], bool], within_us: float) -> bool: ...


class EmulatedEdge:
    """Time and ports of an emulated rig, as `sabot_hil.targets.edge.Edge`. There is one thread: the
    parallel work is done whenever time passes."""

    emulated = True

    def __init__(self, world: _World, shoe: EmulatedPico | None) -> None:
        self._world = world
        self._shoe = shoe

    def now_s(self) -> float:
        return self._world.t_us / _S

    def pass_s(self, seconds: float) -> None:
        self._world.run_us(seconds * _S)

    def condition(self) -> Condition:
        return _Condition(self._world)

    def open_bench(self, name: str) -> OpenLine:
        return _BenchLine(name, self._world.bench)

    def open_shoe(self, unit: str) -> OpenLine:
        assert self._shoe is not None
        return _ShoeLine(unit, self._world, self._shoe)

    def port(self, unit: str) -> str:
        raise Unable("no port for other programs: emulated time passes only in the test itself")

    def beside(self, step: Callable[[], bool]) -> Callable[[], None]:
        def on_quantum() -> None:
            if not step():
                self._world.on_quantum = lambda: None

        self._world.on_quantum = on_quantum
        return on_quantum


class _Condition:
    """As `threading.Condition`, without a lock: there is one thread."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self._notified = False

    def __enter__(self) -> "_Condition":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def notify_all(self) -> None:
        self._notified = True

    def wait(self, timeout: float | None = None) -> bool:
        self._notified = False
        return bool(self.wait_for(lambda: self._notified, timeout))

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        assert timeout is not None, "without a time-out the wait may never end"
        return self._world.run_until(lambda: bool(predicate()), timeout * _S)


class _BenchLine:
    """The bench board's USB serial line. It is read whenever time has passed, so reading takes no
    time."""

    def __init__(self, name: str, bench: BenchPico) -> None:
        self.name = name
        self._bench = bench

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes that have come."""
        return self._bench.usb_read()

    def write(self, data: bytes | bytearray) -> None:
        """Send `data`."""
        self._bench.usb_write(bytes(data))

    def close(self) -> None:
        """Do nothing: the line stays."""


class _ShoeLine:
    """The shoe's USB serial line. Reading lets time pass. Raises NoShoe without power."""

    def __init__(self, name: str, world: _World, shoe: EmulatedPico) -> None:
        self.name = name
        self._world = world
        self._shoe = shoe
        self._starts = shoe.starts
        self._check()
        shoe.usb_read()  # drop what came while no host was there

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes that have come, after at most `timeout_s`."""
        self._check()
        shoe = self._shoe
        self._world.run_until(lambda: self._gone() or shoe.usb_waiting > 0, timeout_s * _S)
        self._check()
        return shoe.usb_read()

    def write(self, data: bytes | bytearray) -> None:
        """Send `data`."""
        self._check()
        self._shoe.usb_write(bytes(data))

    def close(self) -> None:
        """Close the line."""
        self._starts = -1

    def _gone(self) -> bool:
        return not self._shoe.powered or self._shoe.starts != self._starts

    def _check(self) -> None:
        if self._gone():
            raise NoShoe(f"{self.name}: the connection broke")
