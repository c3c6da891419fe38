"""Files that a person crafts for a command to read: bytes, values and what is no file at all."""

import copy
import json
import os
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**26, 2**40, 2**63, -(2**63) - 1, 10**4299, float("nan"), float("inf"),
    "", "x", "\0", "\x1b[2J", "\u202e", "9" * 4300, "A" * 70_000, [], {}, [[]], [1] * 3000, "7H",
    "../../etc/passwd", "SHOE-7~2", "@desk", "ff" * 16, "9999-99-99T99:99:99Z", "١٢",
)  # fmt: skip
_JUNK = (
    b"", b"\0", bytes(100_000), b" " * 100_000, b"[" * 5000, b'{"a":' * 5000, b"9" * 4301,
    b"\x81" * 10_000, b"\x5b\x7f" + b"\xff" * 7, b"\x9b" + bytes(3) + b"\xff" * 5, b"\xff\xfe",
    b'{"a": NaN, "b": 1e999}', b"\xd8\x1d" * 2000 + b"\0", b"a = [" * 3000, b"\n" * 1000,
)  # fmt: skip


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """The file with some bytes changed, cut off, added or doubled."""
    content = bytearray(data)
    at = rng.randrange(len(content))
    match rng.randrange(6):
        case 0:
            del content[at:]
        case 1:
            content[at:at] = rng.randbytes(rng.randrange(1, 9))
        case 2:
            content[at:at] = content[at : at + 200]
        case 3:
            content[:0] = b"\xef\xbb\xbf"
        case _:
            for _ in range(rng.choice((1, 1, 3, 20))):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def junk(_data: bytes, rng: random.Random) -> bytes:
    """Something else than the file."""
    return rng.choice(_JUNK)


def changed_values(data: bytes, rng: random.Random) -> bytes:
    """A file of JSON, or of lines of JSON, with a value changed, removed, added or doubled;
    with other bytes than JSON as `changed_bytes`."""
    try:
        lines = [json.loads(data)]
    except ValueError:
        try:
            lines = [json.loads(line) for line in data.splitlines()]
        except ValueError:
            return changed_bytes(data, rng)
    at = rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            lines.insert(at, rng.choice(lines))
        case 1 if len(lines) > 1:
            del lines[at]
        case _:
            lines[at] = _with_another_value(lines[at], rng)
    return b"".join(_json(line) + b"\n" for line in lines)


def _json(value: Any) -> bytes:
    """As JSON, with whole numbers of any length."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _with_another_value(value: Any, rng: random.Random) -> Any:
    made = copy.deepcopy(value)
    ways = list(_ways_into(made))
    if not ways:
        return rng.choice(_VALUES)
    around, key = rng.choice(ways)
    match rng.randrange(5):
        case 0:
            del around[key]
        case 1 if isinstance(around, dict):
            around[rng.choice(("x", "", "unit", "Ⅷ"))] = rng.choice(_VALUES)
        case 2:
            around[key] = [around[key], around[key]]
        case _:
            around[key] = rng.choice(_VALUES)
    return made


def _ways_into(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys:
        yield value, key
        yield from _ways_into(value[key])


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        folder = os.open(path.parent, os.O_RDONLY)
        try:  # the name of a socket has at most 107 bytes
            bound.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)  # without a byte on the disk


def _link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


NO_FILES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _path: None,
    "folder": Path.mkdir,
    "pipe": _pipe,
    "socket": _socket,
    "large": _large,
    "circle": lambda path: path.symlink_to(path.name),
    "dangling": _link_to("nowhere"),
    "zeros": _link_to("/dev/zero"),
    "nothing in it": _link_to("/dev/null"),
    "memory": _link_to("/proc/self/mem"),
}
"""What can be at the name of a file, and is no file of any kind that a command reads."""
