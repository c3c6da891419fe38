"""Faults: errors that no part of Sabot expects. A line says what happened, and where the details
are: in a file of this user, since a traceback tells nothing to who reads the line."""

import os
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

from sabot.errors import InternalError
from sabot.files import make_private
from sabot.text import printable, shortened

_MOST_FILES = 20
_MOST_BYTES = 1 << 16
_MOST_TEXT = 200
_ENDING = ".fault.txt"

_lock = threading.Lock()
_texts: dict[str, str] = {}
"""What was said of errors so far."""


def folder() -> Path:
    """Return where details are kept: in the folder that systemd gives a service, or in that of this
    user's programs. Raises RuntimeError if this user has none."""
    service = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if service:
        return Path(service) / "faults"
    own = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(own) / "sabot" / "faults"


def text_of(error: BaseException) -> str:
    """Keep the details of an error, and return a line about it: what it is, and where the details
    are. One that comes again and again is kept once."""
    kind = type(error).__name__
    said = shortened(printable(str(error)), _MOST_TEXT)
    what = f"{kind}: {said}" if said else kind
    what += _place_of(error)
    with _lock:
        if what not in _texts:
            if len(_texts) >= _MOST_FILES:
                _texts.clear()
            _texts[what] = (
                f"a fault of Sabot itself ({what}); please report it: {_where_details_are(error)}"
            )
        return _texts[what]


def _where_details_are(error: BaseException) -> str:
    try:
        return f"details are in {_keep(error)}"
    except (OSError, RuntimeError) as failed:
        reason = getattr(failed, "strerror", None) or failed
        return f"details could not be kept ({reason})"


def internal_error(what: str, error: BaseException) -> InternalError:
    """Return an unexpected error as one that ends a command; `what` says what it ends."""
    return InternalError(f"{what}: {text_of(error)}")


def _place_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if "sabot" in Path(each.filename).parts] or frames
    return f", in {Path(own[-1].filename).name} line {own[-1].lineno}" if own else ""


def _keep(error: BaseException) -> Path:
    """Write the details of an error to a file of its own; the oldest files make room. Raises
    OSError, RuntimeError."""
    here = folder()
    here.mkdir(mode=0o700, parents=True, exist_ok=True)
    now_s, now_ns = divmod(time.time_ns(), 10**9)
    now = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now_s))
    path = here / f"{now}.{now_ns:09}Z-{os.getpid()}{_ENDING}"
    make_private(path)
    thread = threading.current_thread().name
    text = f"thread {thread}\n" + "".join(traceback.format_exception(error))
    path.write_bytes(text.encode(errors="backslashreplace")[-_MOST_BYTES:])
    for old in sorted(here.glob(f"*{_ENDING}"))[:-_MOST_FILES]:
        with suppress(OSError):
            old.unlink()
    return path
