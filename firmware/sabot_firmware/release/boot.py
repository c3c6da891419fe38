"""The boot loader: has one of two slots run, and only one that is whole and was signed.

No update ever touches it. So it stands alone, and imports nothing of a slot before it has looked
at all of it. Which slot that is: README.md, "Which slot runs", row by row in `choose`.
"""

import gc
import hashlib
import io
import os
import sys
from binascii import hexlify

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.interfaces import ByteSource, Digest, Feed, Writable

    Mount = Callable[["Slot", str], object]

SLOTS = ("a", "b")
RESCUE = "rescue"
"""As a slot: the release that was flashed, whose updater runs where neither slot can."""
STATE = "/state/boot"
WANTED = "/state/update"
"""A file that a shoe leaves to have its slot's updater run at its next start."""
UNIT = "/state/unit.cbor"
"""What a board has once it has been provisioned; until then its slot's updater runs."""
DEBUG = "/state/debug"
"""A file that a shoe leaves to have MicroPython's prompt at its next start, and once."""
CODE, LIST = ".code", ".list"
"""A slot is two files: its modules one behind the other, and a line `SHA-256 size path` for each.
The SHA-256 of the list is in the state, put there once the signature was found right."""

NOTHING, NEW, TRIED, UNDONE = "nothing", "new", "tried", "undone"
"""What there is to do with the other slot: nothing; to try the release in it; that was done; it was
given up."""

EMPTY = "-"
"""In the place of a SHA-256: nothing that may run is in that slot."""

_VERSION = "1"
_LONGEST = 256
_CHUNK = 4096
_FOLDER, _FILE = (0x4000,) + (0,) * 9, (0x8000,) + (0,) * 9
_ENOENT = 2
_THIS = sys.modules[__name__]
_BUFFER_SIZE = 11  # a request of MicroPython's streams (py/stream.h)
_PIECE = 240


class State:
    """What is kept from start to start: the slot that is `current`, how it stands with the `other`
    one, and by slot the SHA-256 of its list, in hex, or EMPTY."""

    def __init__(self, current: str, other: str, lists: "dict[str, str]") -> None:
        self.current = current
        self.other = other
        self.lists = lists

    def line(self) -> str:
        """As it is kept."""
        return " ".join([_VERSION, self.current, self.other] + [self.lists[slot] for slot in SLOTS])


def other_slot(slot: str) -> str:
    """The one that `slot` is not."""
    return SLOTS[1 - SLOTS.index(slot)]


def choose(state: State, good: "Callable[[str], bool]") -> "tuple[str, State]":
    """The slot to run, "" for none, and the state to keep from then on. `good(slot)` tells whether
    that slot holds just what was signed."""
    current, other = state.current, other_slot(state.current)
    if state.other == NEW and good(other):
        return other, State(current, TRIED, state.lists)
    given_up = NOTHING if state.other == NOTHING else UNDONE
    if good(current):
        return current, State(current, given_up, state.lists)
    if good(other):
        return other, State(other, NOTHING, state.lists)
    return "", State(current, given_up, state.lists)


def load(root: str) -> State:
    """The state that is kept below `root`; with nothing in any slot where there is none."""
    try:
        with open(root + STATE) as file:
            version, current, other, a, b = file.read(_LONGEST).split(" ")
        if version == _VERSION and current in SLOTS and other in (NOTHING, NEW, TRIED, UNDONE):
            return State(current, other, {"a": a, "b": b})
    except (OSError, ValueError):
        pass
    return State("a", NOTHING, {"a": EMPTY, "b": EMPTY})


def keep(root: str, state: State) -> None:
    """Replace the state: after a loss of power it is the old one or the new."""
    with open(root + STATE + ".new", "w") as file:
        file.write(state.line())
    os.rename(root + STATE + ".new", root + STATE)


def ask_for(wish: str, root: str) -> None:
    """Have the next start do what `wish` stands for, WANTED or DEBUG, and once."""
    open(root + wish, "wb").close()


def _asked_for(wish: str, root: str) -> bool:
    try:
        os.remove(root + wish)
    except OSError:
        return False
    return True


def is_unit(root: str) -> bool:
    """Whether the board below `root` has been provisioned."""
    try:
        os.stat(root + UNIT)
    except OSError:
        return False
    return True


def modules(slot: str, digest: str) -> "dict[str, tuple[int, int]]":
    """Where each module begins in the code of the slot at the path `slot`, and its size, by path.

    Empty unless the list has that SHA-256, and the code is just what the list says.
    """
    found = {}
    at = 0
    try:
        with open(slot + LIST, "rb") as file:
            text = file.read()
        if _hex(hashlib.sha256(text)) != digest:
            return {}
        chunk = bytearray(_CHUNK)
        with open(slot + CODE, "rb") as file:
            for line in text.decode().rstrip("\n").split("\n"):
                expected, size, path = line.split(" ")
                if _hex(sha256_of(file, int(size), chunk)) != expected:
                    return {}
                found[path] = (at, int(size))
                at += int(size)
            return {} if file.read(1) else found
    except (OSError, ValueError):
        return {}


def sha256_of(file: "ByteSource", size: int, chunk: bytearray) -> "Digest":
    """Of the next `size` bytes, or those that there are, read into `chunk`: the larger the
    faster."""
    view, digest = memoryview(chunk), hashlib.sha256()
    while size > 0:
        count = file.readinto(view[: min(size, len(chunk))])
        if not count:
            break
        digest.update(view[:count])
        size -= count
    return digest


def _hex(digest: "Digest") -> str:
    return hexlify(digest.digest()).decode()


class Module(io.IOBase):
    """The next `size` bytes of a file, piece by piece: as one they would leave a hole in the
    heap."""

    def __init__(self, file: "ByteSource", size: int) -> None:
        self._file = file
        self._left = size

    def readinto(self, buf: "Writable") -> int:
        """As a file's."""
        count = self._file.readinto(memoryview(buf)[: min(self._left, len(buf))])
        self._left -= count
        return count

    def ioctl(self, request: int, argument: int) -> int:
        """MicroPython asks how much to read at once, and closes it."""
        return _PIECE if request == _BUFFER_SIZE else 0


class Slot:
    """The `modules` of the slot at the path `slot` as a file system: no other can be imported.

    And faster: littlefs takes 3 ms to tell that a file is not there, and an import asks twice.
    """

    def __init__(self, slot: str, modules: "dict[str, tuple[int, int]]") -> None:
        self._code = open(slot + CODE, "rb")
        self._modules = modules
        self._folders: "set[str]" = set()
        for path in modules:
            folder = path[: path.rfind("/")]
            while folder and folder not in self._folders:
                self._folders.add(folder)
                folder = folder[: max(folder.rfind("/"), 0)]

    def mount(self, readonly: bool, mkfs: bool) -> None:
        """MicroPython asks for it."""

    def stat(self, path: str) -> "tuple[int, ...]":
        """Whether there is one."""
        if path[1:] in self._modules:
            return _FILE
        if path[1:] in self._folders:
            return _FOLDER
        raise OSError(_ENOENT)

    def open(self, path: str, mode: str) -> Module:
        """That module, until the next one is opened. Each is imported once: what is known of it
        would only take room."""
        at, size = self._modules.pop(path[1:])
        self._code.seek(at)
        return Module(self._code, size)


def start(
    root: str,
    mount: "Mount",
    reset: "Callable[[], object]",
    watch: "Callable[[], Feed]",
) -> None:
    """Run what there is to run below `root`, for ever: behind the end of it is a prompt.

    `mount(file_system, path)` is MicroPython's. `reset()` starts anew. `watch()` starts a watchdog,
    for a release on trial, and gives what feeds it.
    """
    if _asked_for(DEBUG, root):
        return
    before = load(root)
    found = {}

    def good(slot: str) -> bool:
        found[slot] = modules(root + "/" + slot, before.lists[slot])
        return bool(found[slot])

    slot, state = choose(before, good)
    if state.line() != before.line():
        keep(root, state)
    on_trial = slot not in ("", state.current)
    wanted = _asked_for(WANTED, root)
    try:
        try:
            if slot:
                feed = watch() if on_trial else None
                _import_from(root + "/" + slot, found[slot], mount)
                if (wanted or not is_unit(root)) and not on_trial:
                    from sabot_firmware.release.updater import main
                else:
                    from sabot_firmware.main import main
                main(root, slot, state, feed)
        except Exception as error:
            # To a host it is noise; to a technician the reason.
            getattr(sys, "print_exception", print)(error)
        if not (on_trial or wanted):
            _rescue(root, state, mount)
    finally:
        reset()


def _import_from(slot: str, modules: "dict[str, tuple[int, int]]", mount: "Mount") -> None:
    path = slot[slot.rfind("/") :]  # short: each module's path is in the heap
    mount(Slot(slot, modules), path)
    sys.path[:] = [path, ".frozen"]
    # What runs keeps the state as this does, and there is no room for it twice.
    sys.modules["sabot_firmware.release.boot"] = _THIS
    gc.collect()


def _rescue(root: str, state: State, mount: "Mount") -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in ("sabot_firmware", "sabot_protocol"):
            del sys.modules[name]
    slot = root + "/" + RESCUE
    with open(slot + LIST, "rb") as file:
        digest = _hex(hashlib.sha256(file.read()))
    _import_from(slot, modules(slot, digest), mount)
    from sabot_firmware.release.updater import main

    main(root, "", state, None)
