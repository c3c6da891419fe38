"""Writes a release to the slot that does not run; the boot loader tries it at the next start.

It works in steps; `_take_release` has them in order. Nothing is written before the signature is
found correct, and nothing in that slot can run before all of it is there.

Objects that stay for long are made after a garbage collection: otherwise they are spread over the
heap, and no free piece is large enough for a manifest.
"""

import gc
import os
from binascii import hexlify
from hashlib import sha256

from sabot_firmware import MICROPYTHON, VERSION
from sabot_firmware.link.answers import Refusal
from sabot_firmware.release import boot
from sabot_protocol import enums, release

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Iterator

_STAGES = enums.UPDATE_STAGES
IDLE = _STAGES.index("idle")
HEAD = _STAGES.index("head")
CHECKING = _STAGES.index("checking")
CODE = _STAGES.index("code")
STAGED = _STAGES.index("staged")
REFUSED = _STAGES.index("refused")

_SIGNATURE_SIZE = 64
_SAVED = 16384
"""The code is saved after this many bytes: whole blocks of the flash, so that continuing an update
rewrites none."""
_PIECE = 512
_SIZE = 6  # place in the result of os.stat


class Update:
    """An update of the slots below `root`; the slot `running` must stay. `public` is the public key
    of releases for this unit, None if it has none, `board` the board's name."""

    def __init__(self, root: str, running: str, public: "bytes | None", board: str) -> None:
        self.stage = IDLE
        self.refusal = "none"
        """Why a release was refused, a word of `enums.REFUSALS`."""
        self.detail = ""
        """The figure, name or fault that belongs to it."""
        self.manifest = b""
        """SHA-256 of the last manifest, empty before."""
        self.offset = 0
        """How many bytes of the head or the code have arrived."""
        self.running = running
        self._root = root
        self._idle = boot.other_slot(running)
        self._public = public
        self._board = board
        self._head = bytearray()
        self._size = 0  # of the code
        self._work = None
        self._file = None
        if boot.load(root).other == boot.NEW:
            self.stage = STAGED

    def begin(self, size: int) -> None:
        """Begin a release. Its head has `size` bytes: the signature, then the manifest. A part of
        another release is dropped once this one's signature is found correct."""
        self._drop()
        if self._public is None:
            self._refuse("no_key")
        elif not _SIGNATURE_SIZE < size <= _SIGNATURE_SIZE + release.MAX_MANIFEST:
            self._refuse("bad_size", str(_SIGNATURE_SIZE + release.MAX_MANIFEST))
        else:
            self.stage = HEAD
            gc.collect()
            self._head = bytearray(size)

    def take(self, offset: int, part: bytes) -> bool:
        """Take a part of the head or the code; return whether it is the one that was expected."""
        if offset != self.offset or not part:
            return False
        end = offset + len(part)
        if self.stage == HEAD and end <= len(self._head):
            self._head[offset:end] = part
            self.offset = end
            if end == len(self._head):
                self.stage = CHECKING
                self._work = self._take_release(self._head)
                self._head = bytearray()
            return True
        if self.stage == CODE and end <= self._size and self._file is not None:
            try:
                self._file.write(part)
            except OSError as error:
                self._refuse("bad_flash", str(error))
                return False
            self.offset = end
            if end == self._size:
                self.stage = CHECKING
            return True
        return False

    def busy(self) -> bool:
        """Whether `step` has something to do."""
        if self._work is None:
            return False
        return self.stage != CODE or self._file is None or self._due()

    def step(self) -> None:
        """Do the next step: some milliseconds of work, or an erase of the board's flash."""
        try:
            next(self._work)  # type: ignore[call-overload]
        except StopIteration:
            self._work = None
        except Refusal as refused:
            self._refuse(refused.reason, refused.detail)
        except release.ReleaseError as error:
            self._refuse("bad_head", str(error))
        except OSError as error:
            self._refuse("bad_flash", str(error))
        except MemoryError:
            self._refuse("no_heap")

    def _refuse(self, refusal: str, detail: str = "") -> None:
        self._drop()
        self.stage = REFUSED
        self.refusal, self.detail = refusal, detail

    def _drop(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._work = None
        self._head = bytearray()
        self.offset = 0
        self.refusal, self.detail = "none", ""
        self.stage = IDLE

    def _take_release(self, head: bytearray) -> "Iterator[None]":
        # A manifest has 6 KB, and there is no room for a copy of it.
        signature, data = bytes(head[:_SIGNATURE_SIZE]), memoryview(head)[_SIGNATURE_SIZE:]
        # Loaded only when needed: it takes 5 KB and 0.3 s.
        from sabot_firmware.release.ed25519 import verification

        self.manifest = sha256(data).digest()
        right = False
        for step in verification(self._public or b"", signature, release.signed(data)):
            right = step
            yield
        if not right:
            raise Refusal("not_ours")
        gc.collect()
        manifest = release.Manifest(data)
        yield
        refusal, detail = release.refusal(manifest, self._board, MICROPYTHON, VERSION)
        if refusal != "none":
            raise Refusal(refusal, detail)
        lists = boot.load(self._root).lists
        lists[self._idle] = boot.EMPTY
        boot.keep(self._root, boot.State(self.running, boot.NOTHING, lists))
        yield
        digest = self._list(manifest)
        yield
        for _ in self._take_code(manifest.size):
            yield
        yield
        if not boot.modules(self._slot(""), digest):
            os.remove(self._slot(boot.CODE))
            raise Refusal("damaged")
        lists[self._idle] = digest
        boot.keep(self._root, boot.State(self.running, boot.NEW, lists))
        self.stage = STAGED

    def _list(self, manifest: release.Manifest) -> str:
        """Write the slot's list, unless it is there already (then some of its code may be, too).
        Return its SHA-256 in hex."""
        path = self._slot(boot.LIST)
        listed = sha256()
        for number in range(len(manifest.files)):
            listed.update(manifest.line(number))
        digest = listed.digest()
        if _sha256_of(path) != digest:
            if _size_of(self._slot(boot.CODE)):
                os.remove(self._slot(boot.CODE))
            with open(path, "wb") as file:
                for number in range(len(manifest.files)):
                    file.write(manifest.line(number))
        return hexlify(digest).decode()

    def _take_code(self, size: int) -> "Iterator[None]":
        path = self._slot(boot.CODE)
        self._size = size
        self.offset = _size_of(path)
        if self.offset > size:
            os.remove(path)
            self.offset = 0
        self.stage = CODE
        while self.offset < size:
            gc.collect()
            self._file = open(path, "ab")
            self._saved = self.offset
            while not self._due():
                yield
            self._file.close()
            self._file = None
            yield
        self.stage = CHECKING

    def _due(self) -> bool:
        """Whether the bytes that arrived must be saved now."""
        return self.offset == self._size or self.offset - self._saved >= _SAVED

    def _slot(self, suffix: str) -> str:
        return self._root + "/" + self._idle + suffix


def _sha256_of(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return boot.sha256_of(file, release.MAX_LIST + 1, bytearray(_PIECE)).digest()
    except OSError:
        return b""


def _size_of(path: str) -> int:
    try:
        return os.stat(path)[_SIZE]
    except OSError:
        return 0
