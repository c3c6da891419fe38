"""What tests, and the programs that they start, must not take from where pytest is started."""

import gc
import os
import signal
import stat
import tempfile
import time
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 * 2**30  # the tests of three workers need a tenth of it at a time


def same_surroundings() -> None:
    """Make this process, and those that it starts, begin as anywhere else.

    SIGINT ends them: in the background of a shell without job control, as with `make test &` in a
    script, it is ignored, and what they start would inherit that and never end by Ctrl-C. Their
    clock is in UTC: a test of another zone sets its own. What `sabot hil` notes of failed tests for
    its next run is the user's, of another checkout perhaps: tests neither read nor change it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["XDG_STATE_HOME"] = os.devnull  # no folder: nothing is kept
    os.environ["TZ"] = "UTC"
    time.tzset()


def collect_seldom() -> None:
    """Let Python look for cycles of garbage seldom: with all modules and tests in memory it spends
    an eighth of the time of `make check` on that, and a test leaves little."""
    gc.set_threshold(50_000, 20, 50)


def temporary_files_in_memory(memory: Path = IN_MEMORY) -> None:
    """Keep temporary files in memory, if there is room for them and TMPDIR names no other place: a
    file system on a disk spends a sixth of the tests' time to make, to sync and to remove them."""
    if "TMPDIR" in os.environ:
        return
    folder = memory / f"sabot-{os.geteuid()}"
    try:
        folder.mkdir(exist_ok=True)
        made, around = folder.lstat(), os.statvfs(folder)
        if not stat.S_ISDIR(made.st_mode) or made.st_uid != os.geteuid():
            return
        folder.chmod(0o711)  # PostgreSQL's own user goes through it, whatever the umask
    except OSError:
        return
    room = around.f_bavail * around.f_frsize >= _ROOM_BYTES
    if room and not around.f_flag & os.ST_NOEXEC:  # tests start programs that they make
        os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = None  # what was found before
