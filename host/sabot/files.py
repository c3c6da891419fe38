"""Files and folders that sabot makes: no other user can have put a link in their place."""

import errno
import os
import secrets
import select
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OTHERS_WRITE = 0o022
_OTHERS = 0o077
_PRIVATE, _PRIVATE_FILE = 0o700, 0o600

SILENT_PIPE_S = 10


class NotPrivate(OSError):
    """A folder that another user made, or may write to; the message says which and why."""


def open_folder(path: Path) -> int:
    """Return a descriptor of the folder at `path`. Raises OSError."""
    return os.open(path, _OPEN_FOLDER)


def open_private(parent: int, name: str, *, make: bool = False) -> int:
    """Return a descriptor of the folder `name` in the folder `parent`: one that this user owns and
    no one else can read or write. With `make`, a missing one is made.

    A descriptor, because a path may lead elsewhere a moment after the check. Raises NotPrivate,
    also for a link; OSError.
    """
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, _PRIVATE, dir_fd=parent)
    try:
        folder = os.open(name, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    except NotADirectoryError:  # also for a link
        raise NotPrivate(f"{name} is a link or a file") from None
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid():
            raise NotPrivate(f"{name} belongs to another user")
        if status.st_mode & _OTHERS_WRITE:
            raise NotPrivate(f"other users may write to {name}")
        if status.st_mode & _OTHERS:
            os.fchmod(folder, _PRIVATE)
    except BaseException:
        os.close(folder)
        raise
    return folder


def make_private(path: Path) -> None:
    """Make an empty file that only this user can read and write, whatever the umask. Raises
    FileExistsError, also for a link; OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
    try:
        os.fchmod(descriptor, _PRIVATE_FILE)
    finally:
        os.close(descriptor)


def others_may_use(path: Path) -> bool:
    """Whether other users than its owner may read or write a file; False if there is none."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and bool(status.st_mode & _OTHERS)


class TooLarge(OSError):
    """A file that is larger than any of its kind."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(errno.EFBIG, f"it has over {most:,} bytes", str(path))


def open_to_read(path: Path) -> BinaryIO:
    """Open a file that a person has named. Raises OSError, also for a pipe through which nothing
    comes for 10 seconds: without a writer, opening it would wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(SILENT_PIPE_S * 1000):
                raise OSError(errno.ETIMEDOUT, "a pipe that nothing comes through", str(path))
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_no_pipe(path: Path) -> None:
    """Raise OSError for a pipe: for a file that a library opens, which would wait for ever."""
    with suppress(FileNotFoundError):  # as the library says
        if stat.S_ISFIFO(path.stat().st_mode):
            raise OSError(errno.EINVAL, "a pipe, not a file", str(path))


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a file, also of a pipe, of at most `most` bytes. Raises TooLarge;
    OSError."""
    with open_to_read(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLarge(path, most)
    return data


def check_is_file(path: Path) -> None:
    """Raise OSError if a device, a pipe or a socket has this name: a user who may do everything
    would put a file in its place, and /dev/null would be gone for every program. A path that leads
    to one by links, as /dev/stdout does, is the same."""
    try:
        mode = path.stat().st_mode
    except OSError:  # there is nothing
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a device or a pipe, and not a file", str(path))


def replace_whole(path: Path, data: bytes, mode: int) -> None:
    """Replace the file's content; after any error or Ctrl-C it is as before. Raises OSError.

    `mode` are the new file's permissions, without what the user's umask withholds. The content is
    first written to a file with a random name, so that no one can have put a link there. What is
    not a file stays (`check_is_file`).
    """
    check_is_file(path)
    draft = path.with_name(f".sabot-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
