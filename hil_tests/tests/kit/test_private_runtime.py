"""No test's simulated shoe can be found by a program outside of its run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sabot.link import runtime
from sabot_hil.kit.private_runtime import private_runtime

_LIST = "from sabot.link import runtime; print(sorted(runtime.published()))"


def _listed(env: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", _LIST], env=env, text=True, stdout=-1, check=True)
    return done.stdout.strip()


def test_shoes_of_a_private_runtime_are_seen_only_within_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    outside = dict(os.environ)
    seen_by_all = runtime.publish("SEEN", "/dev/pts/0")
    with private_runtime():
        published = runtime.publish("HIDDEN", "/dev/pts/1")
        assert _listed(outside) == "['SEEN']"
        assert _listed(dict(os.environ)) == "['HIDDEN']"
        runtime.withdraw(published)
        folder = Path(os.environ["XDG_RUNTIME_DIR"])
    runtime.withdraw(seen_by_all)
    assert os.environ == outside and not folder.exists()


def test_a_run_of_tests_has_a_private_runtime() -> None:
    assert Path(os.environ["XDG_RUNTIME_DIR"]).name.startswith("sabot-run-")
    assert Path(os.environ["XDG_RUNTIME_DIR"]).stat().st_mode & 0o077 == 0
