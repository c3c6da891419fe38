"""Which tests failed when they ran last, for `sabot hil --failed`."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sabot.files import replace_whole

_STATE, _MODE = "XDG_STATE_HOME", 0o600


def state_file() -> Path:
    """The file of this user: failed tests by what was run, such as "sim smoke"."""
    home = os.environ.get(_STATE)
    folder = Path(home) if home else Path.home() / ".local" / "state"
    return folder / "sabot" / "hil-failed.json"


def failed(run: str) -> list[str]:
    """The tests that failed when they ran last in runs of this name, sorted."""
    return sorted(_all().get(run, []))


def note(run: str, passed: Iterable[str], failed_now: Iterable[str]) -> None:
    """Note how the tests of a run ended. A test that it has not judged stays as it was."""
    everything = _all()
    everything[run] = sorted((set(everything.get(run, [])) - set(passed)) | set(failed_now))
    path = state_file()
    with suppress(OSError):  # without it, only --failed knows less
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, json.dumps(everything, indent=1).encode(), _MODE)


def _all() -> dict[str, list[str]]:
    try:
        content = json.loads(state_file().read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {
        str(name): [str(test) for test in tests]
        for name, tests in content.items()
        if isinstance(tests, list)
    }
