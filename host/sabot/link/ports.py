"""Ports: lists them, finds the port of a unit, and reads and writes without blocking."""

import errno
import os
import select
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

import serial
from serial import rfc2217
from serial.tools import list_ports
from serial.urlhandler import protocol_socket

from sabot.errors import NoShoe, PortBusy, PortNotFound, SabotError, SameUnit
from sabot.link import log_socket, runtime
from sabot.link.damage import Damage, says_text
from sabot.link.log_socket import LoggedShoe

BAUD = 115_200
_READ_BYTES = 65_536
_POLL_S = 0.05
_ASK_UNIT_TIMEOUT_S = 1.0
_BUSY = (errno.EBUSY, errno.EAGAIN)
_RASPBERRY_PI_USB = 0x2E8A
SIMULATED = "simulated"
"""The value of `PortInfo.what` for a simulated shoe."""
_NETWORK_SCHEMES = ("socket", "rfc2217")
_FIRST_WORDS_S = 0.05
"""A device server that sends a host away says why within this time."""
_RFC2217_READ_S = 0.02
"""pyserial asks an RFC 2217 server for all settings again at each change of a time limit, and has
none for writing: its own socket gives up after 5 s."""
_IGNORE_CONTROL = "ign_set_control"


@dataclass(frozen=True, slots=True)
class PortInfo:
    """A port where a shoe may be. `serial`: the USB serial number or a simulated unit's id."""

    serial: str
    port: str
    what: str


def attached() -> list[PortInfo]:
    """Return every board on USB and every running simulated shoe, sorted by serial number."""
    found = [
        PortInfo(info.serial_number, info.device, info.product or "USB board")
        for info in list_ports.comports()
        if info.serial_number and info.vid == _RASPBERRY_PI_USB
    ]
    found += [PortInfo(unit, port, SIMULATED) for unit, port in runtime.published().items()]
    return sorted(found, key=lambda info: info.serial)


def resolve(name: str, *, ask: bool = True) -> str:
    """Return the port or URL that `name` stands for.

    `name` is a board's serial number, a unit's id, a path, or a pyserial URL. Only if no board has
    this serial number, and with `ask`, all boards are asked for their unit's id.

    Raises PortNotFound; PortBusy if the unit may be at a port that another program has; SameUnit if
    two boards have this number or id.
    """
    found = _Boards(ask=ask).find(name)
    return found if isinstance(found, str) else found.port


def place_of(name: str) -> str:
    """Return the one name of the port for which `name` stands: the by-id, the by-path and the
    device name of a port have the same one. Empty if that is not known without asking boards."""
    if "://" in name:
        return name
    if "/" in name:
        return os.path.realpath(name)
    found = [info.port for info in attached() if info.serial == name]
    return os.path.realpath(found[0]) if len(found) == 1 else ""


def distinct(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return each port once, by the first name that was given for it; and for each other name of
    it, that first name.

    Boards are asked for their units' ids only if names of several sorts are given.
    """
    given = list(dict.fromkeys(names))
    places = {name: place_of(name) for name in given}
    if any(places.values()) and not all(places.values()):
        boards = _Boards()
        for name in [name for name in given if not places[name]]:
            with suppress(SabotError):
                found = boards.find(name)
                places[name] = os.path.realpath(found if isinstance(found, str) else found.port)
    firsts: dict[str, str] = {}
    for name in given:
        firsts.setdefault(places[name] or name, name)
    others = {name: firsts[places[name] or name] for name in given}
    return list(firsts.values()), {name: first for name, first in others.items() if name != first}


def lasting_names(names: Iterable[str]) -> dict[str, str | SabotError]:
    """For each of `names`, a name that the board keeps when it restarts and gets another port: its
    serial number, if it has a unique one. Or the error of `resolve`.

    All boards are asked once for all names: two that ask at a time find each other's ports busy.
    """
    boards = _Boards()
    return {name: boards.lasting_name(name) for name in names}


def lasting_name(name: str) -> str:
    """`lasting_names` of one board. Raises as `resolve`."""
    found = lasting_names([name])[name]
    if isinstance(found, SabotError):
        raise found
    return found


class _Boards:
    """What is attached now. Each board is asked for its unit's id at most once, and only with
    `ask`."""

    def __init__(self, *, ask: bool = True) -> None:
        self._infos = attached()
        self._ask = ask

    def find(self, name: str) -> str | PortInfo:
        """The board of this name; `name` itself if it is a path or a URL. Raises as `resolve`."""
        if _is_path_or_url(name):
            return name
        found = [info for info in self._infos if info.serial == name]
        busy: list[str] = []
        if not found and self._ask:
            logged = log_socket.find(name)
            if logged is not None and logged.welcome is not None:
                raise _logged_error(name, logged)
        if self._infos and not found and self._ask:
            found = [info for info in self._infos if self._units[info.port] == name]
            of_logs = {shoe.url for shoe in log_socket.logged() if shoe.welcome is not None}
            unknown = [info.port for info in self._infos if self._units[info.port] is None]
            busy = [port for port in unknown if port not in of_logs]  # not those of other units
        if len(found) > 1:
            at = " and ".join(info.port for info in found)
            raise SameUnit(f"{name}: {at} have this name; name the port, or detach one")
        if found:
            return found[0]
        if busy:
            raise PortBusy(
                f"{name}: at no free port, but perhaps at {' or '.join(busy)}, in use by another "
                "program, perhaps `sabot log`; stop that first"
            )
        why = runtime.unusable()
        raise PortNotFound(
            f"{name}: no such unit is attached; `sabot ports` lists those that are"
            + (f". {why}" if why else "")
        )

    def lasting_name(self, name: str) -> str | SabotError:
        """The lasting name of the board of this name, or the error of `find`."""
        try:
            found = self.find(name)
        except SabotError as error:
            return error
        if isinstance(found, str):
            place = os.path.realpath(found)
            at_port = [info for info in self._infos if os.path.realpath(info.port) == place]
            if len(at_port) != 1:
                return found
            found = at_port[0]
        unique = sum(info.serial == found.serial for info in self._infos) == 1
        return found.serial if unique else found.port

    @cached_property
    def _units(self) -> dict[str, str | None]:
        """By port: the unit's id; empty if no shoe answers, None if the port is in use."""
        ports = [info.port for info in self._infos]
        with ThreadPoolExecutor(len(ports)) as pool:
            return dict(zip(ports, pool.map(_unit_at, ports), strict=True))


def _is_path_or_url(name: str) -> bool:
    return "://" in name or "/" in name


def _unit_at(port: str) -> str | None:
    """Return the id of the unit at `port`; empty if no shoe answers, None if the port is in use."""
    from sabot.link.client import Client  # slow to import, and seldom needed here

    try:
        with Port(port) as opened:
            return Client(opened, _ASK_UNIT_TIMEOUT_S).unit
    except PortBusy:
        return None
    except SabotError:
        return ""


class Port:
    """An open port. `name` is the name that the user gave; `lasting` what `lasting_names` returned
    for it, with which no other board is asked.

    Its errors are SabotErrors, in one line that says what to do.
    """

    def __init__(self, name: str, lasting: str = "") -> None:
        self.name = name
        self.url = url = resolve(lasting, ask=False) if lasting else resolve(name)
        try:
            self._serial = _opened(url)
        except (serial.SerialException, OSError, ValueError, LookupError, TypeError) as error:
            raise _opening_error(name, url, error) from None
        self._pollable = _has_descriptor(self._serial)
        self._first = b""
        if url.lower().startswith(_NETWORK_SCHEMES):  # what it says may be lost once we write
            with suppress(NoShoe):
                self._first = self.read(_FIRST_WORDS_S)

    def __enter__(self) -> "Port":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes that came, after at most `timeout_s`; empty if none came."""
        if self._first:
            first, self._first = self._first, b""
            return first
        try:
            if self._pollable:
                ready, _, _ = select.select([self._serial.fileno()], [], [], timeout_s)
                return bytes(self._serial.read(_READ_BYTES)) if ready else b""
            if not isinstance(self._serial, _Rfc2217):
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
        """Close the port."""
        try:
            self._serial.close()
        except OSError:
            pass  # the port is gone already


def through_log(name: str) -> LoggedShoe | None:
    """The shoe `name` (as of `resolve`) of a running log; None if no log of this user has it."""
    return log_socket.find(name, [info.port for info in attached() if info.serial == name])


def _logged_error(name: str, shoe: LoggedShoe) -> PortBusy:
    return PortBusy(
        f"{name}: `sabot log` (process {shoe.process}) has it: end that log, then repeat this "
        "command"
    )


def _opening_error(name: str, url: str, error: Exception) -> SabotError:
    code = getattr(error, "errno", None)
    text = str(error)
    if code in _BUSY or "exclusively lock" in text:
        logged = log_socket.find(url)
        if logged is not None and logged.welcome is not None:
            return _logged_error(name, logged)
        return PortBusy(f"{name}: in use by another program, perhaps `sabot log`; stop that first")
    if code == errno.EACCES:
        return PortNotFound(
            f"{name}: no permission; join the group that owns it (often dialout) and log in again"
        )
    if code == errno.ENOENT or "No such file" in text:
        return PortNotFound(f"{name}: no such port; `sabot ports` lists those that are attached")
    if "invalid URL" in text or isinstance(error, ValueError | LookupError) or _bad_address(name):
        return PortNotFound(f"{name}: not a port or pyserial URL such as socket://host:port")
    if isinstance(error, _NoRfc2217) and text:
        return NoShoe(says_text(name, text))
    if isinstance(error, _NoRfc2217):
        raw = name.replace("rfc2217://", "socket://", 1)
        return PortNotFound(
            f"{name}: a server answers, and does not speak RFC 2217; switch that on there, or name "
            f"it as raw TCP: {raw}"
        )
    if "://" in name:
        return PortNotFound(f"{name}: no connection ({_reason(error)}); is the device server on?")
    return NoShoe(f"{name}: not a serial port ({_reason(error)})")


def _bad_address(name: str) -> bool:
    """Whether `name` is a network address without a host or a port."""
    try:
        parts = urlsplit(name)
        return parts.scheme in _NETWORK_SCHEMES and not (parts.hostname and parts.port)
    except ValueError:
        return True


class _RawTcp(protocol_socket.Serial):  # type: ignore[misc]
    """A port of a device server that speaks raw TCP. What the server says first is kept."""

    def reset_input_buffer(self) -> None:
        """Nothing."""


class _Rfc2217(rfc2217.Serial):  # type: ignore[misc]
    """A port of a device server that speaks RFC 2217. Its time limit stays as it is."""

    def open(self) -> None:
        """As pyserial; what a server says that does not speak RFC 2217 is in the error."""
        try:
            super().open()
        except OSError as error:  # also those of pyserial
            said = "" if self._read_buffer is None else self._said()
            if said or "RFC2217 or BINARY" in str(error):
                raise _NoRfc2217(said) from None
            raise

    def _said(self) -> str:
        watched = Damage()
        while not self._read_buffer.empty():
            watched.feed(self._read_buffer.get() or b"")
        return watched.said()


class _NoRfc2217(serial.SerialException):  # type: ignore[misc]
    """A server does not speak RFC 2217, and has said this."""


def _opened(url: str) -> serial.SerialBase:
    """Raises what pyserial does for a port that cannot be opened."""
    scheme = url.partition(":")[0].lower()
    if scheme == "rfc2217":
        # Not every server answers when DTR and RTS are set, and a shoe needs neither.
        url += "" if _IGNORE_CONTROL in url else f"{'&' if '?' in url else '?'}{_IGNORE_CONTROL}"
        return _Rfc2217(url, baudrate=BAUD, timeout=_RFC2217_READ_S)
    limits = {"timeout": 0, "write_timeout": 2}
    if scheme == "socket":
        return _RawTcp(url, baudrate=BAUD, **limits)
    exclusive = {} if "://" in url else {"exclusive": True}
    return serial.serial_for_url(url, baudrate=BAUD, **limits, **exclusive)


def _has_descriptor(port: serial.SerialBase) -> bool:
    try:
        port.fileno()
    except (OSError, AttributeError):  # for some URLs of pyserial
        return False
    return True


def _reason(error: Exception) -> str:
    return str(error).split("\n")[0].replace("Could not open port", "").strip(" :") or "closed"
