"""The boot loader: runs one of two slots, and only a slot that is whole and was signed.

No update ever changes it. So it uses no other module, and it imports nothing from a slot before it
has checked the whole slot. `choose` decides which slot runs, row by row as the table in README.md,
"Which slot runs".
"""

import gc
import hashlib
import io
import os
import sys
from binascii import hexlify

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.interfaces import ByteSource, Digest, Feed

    Mount = Callable[["Slot", str], object]

SLOTS = ("a", "b")
RESCUE = "rescue"
"""A third slot with the release that was flashed; its updater runs if neither slot is good."""
STATE = "/state/boot"
WANTED = "/state/update"
"""A file that asks for the slot's updater at the next start."""
UNIT = "/state/unit.cbor"
"""A document that a board has once it is provisioned; until then the slot's updater runs."""
DEBUG = "/state/debug"
"""A file that asks for MicroPython's prompt at the next start, once."""
CODE, LIST = ".code", ".list"
"""A slot is two files: its modules one after another, and a list with a line `SHA-256 size path`
for each. The SHA-256 of the list is in the state, put there once the signature was verified."""

NOTHING, NEW, TRIED, UNDONE = "nothing", "new", "tried", "undone"
"""The state of the other slot: nothing to do; a release to be tried; a release that was tried; a
release that was given up."""

EMPTY = "-"
"""In place of a SHA-256: the slot holds nothing that may run."""

_VERSION = "1"
_LONGEST = 256
_CHUNK = 4096
_FOLDER, _FILE = (0x4000,) + (0,) * 9, (0x8000,) + (0,) * 9
_THIS = sys.modules[__name__]
_BUFFER_SIZE = 11  # a request of MicroPython's streams (py/stream.h)
_PIECE = 240
_AGAIN = "/sabot_protocol/game_rules.mpy"
"""The module that a shoe loads for each game that it gets, and gives back (link/commands.py)."""


class State:
    """The state that is kept between starts: the `current` slot, the state of the `other` slot, and
    for each slot the SHA-256 of its list, in hex, or EMPTY."""

    def __init__(self, current: str, other: str, lists: "dict[str, str]") -> None:
        self.current = current
        self.other = other
        self.lists = lists

    def line(self) -> str:
        """Return the state as the line that is stored."""
        return " ".join([_VERSION, self.current, self.other] + [self.lists[slot] for slot in SLOTS])


def other_slot(slot: str) -> str:
    """Return the slot that is not `slot`."""
    return SLOTS[1 - SLOTS.index(slot)]


def choose(state: State, good: "Callable[[str], bool]") -> "tuple[str, State]":
    """Return the slot to run, "" for none, and the state to keep. `good(slot)` says whether a slot
    holds exactly what was signed."""
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
    """Return the state kept below `root`; a state with empty slots if there is none."""
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
    """Ask the next start for `wish`, WANTED or DEBUG. It does that once."""
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


def modules(slot: str, digest: str) -> "dict[str, int]":
    """Return where each module begins in the code of the slot at `slot`, by its path with a "/"
    before it.

    Empty unless the list has this SHA-256 and the code is exactly what the list says.
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
            # Bytes: MicroPython looks each new text up among all names, 0.2 ms on a Pico.
            for line in text.rstrip(b"\n").split(b"\n"):
                expected, size, path = line.split(b" ")
                if hexlify(sha256_of(file, int(size), chunk).digest()) != expected:
                    return {}
                found[(b"/" + path).decode()] = at
                at += int(size)
            return {} if file.read(1) else found
    except (OSError, ValueError):
        return {}


def sha256_of(file: "ByteSource", size: int, chunk: bytearray) -> "Digest":
    """Return the SHA-256 of the next `size` bytes, or of as many as there are. They are read into
    `chunk`; a larger one is faster."""
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


class ModuleStream(io.IOBase):
    """The bytes of `file` from where it stands, for MicroPython's loader, which knows where a
    module ends. It reads in pieces: one large buffer would fragment the heap."""

    def __init__(self, file: "ByteSource") -> None:
        self.readinto = file.readinto  # not a method of this class: that would take 0.2 ms a piece

    def ioctl(self, request: int, argument: int) -> int:
        """Answer MicroPython, which asks how much to read at once, and closes the stream."""
        return _PIECE if request == _BUFFER_SIZE else 0


class Slot:
    """The `modules` of the slot at the path `slot` as a file system; no others can be imported.

    It is also faster: littlefs takes 3 ms to find that a file is missing, and an import asks twice.
    """

    def __init__(self, slot: str, modules: "dict[str, int]") -> None:
        self._code = open(slot + CODE, "rb")
        self._stream = ModuleStream(self._code)
        self._modules = modules
        self._kinds = dict.fromkeys(modules, _FILE)
        for path in modules:
            folder = path[: path.rfind("/")]
            while folder and folder not in self._kinds:
                self._kinds[folder] = _FOLDER
                folder = folder[: folder.rfind("/")]
        self.stat = self._kinds.__getitem__
        """Returns the kind of a path; raises KeyError if there is no such file or folder.
        MicroPython takes any error for that, and asks three times for each module: with a method
        that raises OSError a start is 0.1 s longer."""

    def mount(self, readonly: bool, mkfs: bool) -> None:
        """MicroPython requires it."""

    def open(self, path: str, mode: str) -> ModuleStream:
        """Open a module; it is valid until the next one is opened. All but one are imported only
        once, so the entry is removed to free memory."""
        self._code.seek(self._modules[path])
        if path != _AGAIN:
            del self._kinds[path], self._modules[path]
        return self._stream


def start(
    root: str,
    mount: "Mount",
    reset: "Callable[[], object]",
    watch: "Callable[[], Feed]",
) -> None:
    """Run the slot to be run below `root`; a reset follows. Returns only for the prompt.

    `mount(file_system, path)` is MicroPython's. `reset()` restarts the board. `watch()` starts a
    watchdog, for a release on trial, and returns the function that feeds it.
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
            # A host ignores this as noise; a technician sees the reason.
            getattr(sys, "print_exception", print)(error)
        if not (on_trial or wanted):
            _rescue(root, state, mount)
    finally:
        reset()


def _import_from(slot: str, modules: "dict[str, int]", mount: "Mount") -> None:
    path = slot[slot.rfind("/") :]  # short: each module's path is in the heap
    mount(Slot(slot, modules), path)
    sys.path[:] = [path, ".frozen"]
    # The release that runs keeps the state with this module too: there is no memory for a second.
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
