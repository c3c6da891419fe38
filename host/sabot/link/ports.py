"""Ports: which there are, who is at them, and reading what is there without waiting for more."""

import errno
import select
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

import serial
from serial.tools import list_ports

from sabot.errors import NoShoe, PortBusy, PortNotFound, SabotError, SameUnit
from sabot.link import runtime

BAUD = 115_200
_READ = 65_536
_POLL_S = 0.05
_ASK_S = 1.0
_BUSY = (errno.EBUSY, errno.EAGAIN)
_RASPBERRY_PI_USB = 0x2E8A
SIMULATED = "simulated"
"""What a `PortInfo` says of a shoe that is no board."""
_ON_NETWORK = ("socket", "rfc2217")


@dataclass(frozen=True, slots=True)
class PortInfo:
    """A port where a shoe may be: `serial` is the USB serial number or the simulated unit."""

    serial: str
    port: str
    what: str


def attached() -> list[PortInfo]:
    """Every board on USB and every simulated shoe that runs, by serial number."""
    found = [
        PortInfo(info.serial_number, info.device, info.product or "USB board")
        for info in list_ports.comports()
        if info.serial_number and info.vid == _RASPBERRY_PI_USB
    ]
    found += [PortInfo(unit, port, SIMULATED) for unit, port in runtime.published().items()]
    return sorted(found, key=lambda info: info.serial)


def resolve(name: str) -> str:
    """The port or URL that `name` stands for: a board's number or a unit's id, else a path or
    pyserial URL. Who has a number is not asked; where nobody has it, all are asked for their id.

    Raises PortNotFound, or SameUnit where two boards say that they are it.
    """
    if "://" in name or "/" in name:
        return name
    there = attached()
    found = [info.port for info in there if info.serial == name]
    if there and not found:
        with ThreadPoolExecutor(len(there)) as pool:
            units = pool.map(lambda info: _unit_at(info.port), there)
        found = [info.port for info, unit in zip(there, units, strict=True) if unit == name]
    if len(found) > 1:
        raise SameUnit(f"{name}: so are called {' and '.join(found)}; name the port, or detach one")
    if found:
        return found[0]
    raise PortNotFound(f"{name}: no such unit is attached; `sabot ports` lists those that are")


def _unit_at(port: str) -> str:
    """The id of the unit there; empty where nobody says one, or another program has the port."""
    from sabot.link.client import Client  # it takes long to import, and is seldom wanted here

    try:
        with Port(port) as opened:
            return Client(opened, _ASK_S).unit
    except SabotError:
        return ""


class Port:
    """An open port. `name` is what the user called it. Raises SabotError, in words."""

    def __init__(self, name: str) -> None:
        self.name = name
        url = resolve(name)
        options = {"exclusive": True} if "://" not in url else {}
        try:
            self._serial = serial.serial_for_url(
                url, baudrate=BAUD, timeout=0, write_timeout=2, **options
            )
        except (serial.SerialException, OSError, ValueError, LookupError) as error:
            raise _why_not(name, error) from None
        self._pollable = _has_descriptor(self._serial)

    def __enter__(self) -> "Port":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, timeout_s: float) -> bytes:
        """What has come, after at most `timeout_s`; empty where nothing came."""
        try:
            if self._pollable:
                ready, _, _ = select.select([self._serial.fileno()], [], [], timeout_s)
                return bytes(self._serial.read(_READ)) if ready else b""
            self._serial.timeout = min(timeout_s, _POLL_S)
            first = self._serial.read(1)
            return bytes(first + self._serial.read(self._serial.in_waiting)) if first else b""
        except (serial.SerialException, OSError, ValueError, TypeError) as error:
            raise NoShoe(f"{self.name}: the connection broke ({_reason(error)})") from None

    def write(self, data: bytes | bytearray) -> None:
        """Send `data`."""
        try:
            self._serial.write(data)
        except (serial.SerialException, OSError, ValueError, TypeError) as error:
            raise NoShoe(f"{self.name}: the connection broke ({_reason(error)})") from None

    def close(self) -> None:
        """Give the port back."""
        try:
            self._serial.close()
        except OSError:
            pass  # it was gone already


def _why_not(name: str, error: Exception) -> SabotError:
    code = getattr(error, "errno", None)
    text = str(error)
    if code in _BUSY or "exclusively lock" in text:
        return PortBusy(f"{name}: in use by another program, perhaps `sabot log`; stop that first")
    if code == errno.EACCES:
        return PortNotFound(
            f"{name}: no permission; join the group that owns it (often dialout) and log in anew"
        )
    if code == errno.ENOENT or "No such file" in text:
        return PortNotFound(f"{name}: no such port; `sabot ports` lists those that are attached")
    if "invalid URL" in text or isinstance(error, ValueError | LookupError) or _no_address(name):
        return PortNotFound(f"{name}: not a port or pyserial URL such as socket://host:port")
    if "://" in name:
        return PortNotFound(f"{name}: no connection ({_reason(error)}); is the device server on?")
    return NoShoe(f"{name}: not a serial port ({_reason(error)})")


def _no_address(name: str) -> bool:
    """Whether `name` is an address on the network in the wrong form."""
    try:
        parts = urlsplit(name)
        return parts.scheme in _ON_NETWORK and not (parts.hostname and parts.port)
    except ValueError:
        return True


def _has_descriptor(port: serial.SerialBase) -> bool:
    try:
        port.fileno()
    except (OSError, AttributeError):  # some of pyserial's URLs have none
        return False
    return True


def _reason(error: Exception) -> str:
    return str(error).split("\n")[0].replace("Could not open port", "").strip(" :") or "closed"
