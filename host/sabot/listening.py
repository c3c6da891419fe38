"""Where a server of Sabot listens: its host and port."""

import ipaddress
from dataclasses import dataclass

from sabot.numbers import whole

_MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str, default_port: int) -> Address:
    """Read "HOST:PORT", "HOST", ":PORT" or "[HOST]:PORT". Raises ValueError."""
    if text.startswith("["):
        host, end, rest = text[1:].partition("]")
        colon, port = rest[:1], rest[1:]
        if not end or (rest and colon != ":"):
            raise ValueError(f"{text!r} is not HOST:PORT")
    else:
        host, colon, port = text.partition(":")
        if not colon and host.isdecimal():
            raise ValueError(f"{text!r} is not HOST:PORT; write 127.0.0.1:{text}")
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError(f"{text!r} is not HOST:PORT: {host!r} is not a host") from None
    number = whole(port, _MOST_PORT) if colon else default_port
    if number is None:
        raise ValueError(f"{text!r} is not HOST:PORT: {port!r} is not a port")
    return Address(host or "127.0.0.1", number)


def is_this_machine(host: str) -> bool:
    """Whether only programs on this machine reach a server at this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
