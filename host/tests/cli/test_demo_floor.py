"""`sabot demo --serve`: several tables on the screens, until Ctrl-C."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from sabot.log.store import Filter, open_store
from sabot_hil.kit.waiting import wait_until

pytestmark = pytest.mark.slow

_SABOT = str(Path(sys.executable).with_name("sabot"))
_STOP_S = 30


def test_it_deals_at_every_table_until_ctrl_c_and_keeps_the_log_that_was_named(
    tmp_path: Path,
) -> None:
    db = tmp_path / "floor.sqlite"
    command = [_SABOT, "demo", "--serve", "--db", str(db), "--listen", "127.0.0.1:0", "--pace", "0"]
    with (
        (tmp_path / "out").open("wb") as out,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as demo,
    ):
        printed = ""

        def is_served() -> bool:
            nonlocal printed
            printed = (tmp_path / "out").read_text()
            return "Ctrl-C" in printed or demo.poll() is not None

        try:
            wait_until(is_served, 60)
            url = re.findall(r"http://127\.0\.0\.1:\d+/", printed)[0]

            def all_deal() -> bool:
                with open_store(db) as store:
                    opened = {row.unit for row in store.rows(Filter(kinds=("betting_open",)))}
                return len(opened) == 6

            wait_until(all_deal, 60)
            with urllib.request.urlopen(f"{url}sign-in", timeout=100) as answer:
                assert "Sign in" in answer.read().decode()
            demo.send_signal(signal.SIGINT)
            demo.wait(_STOP_S)
        finally:
            demo.kill()
    printed = (tmp_path / "out").read_text()
    assert demo.returncode == 0, printed
    assert f"{db} is kept" in printed and "Traceback" not in printed
    for name in ("surveillance", "floor", "admin"):
        assert re.search(rf"sign in as {name}, password \S{{12}}\n", printed)


@pytest.mark.parametrize("option", ["--game=mini", "--short", "--unit=A", "--noise=nominal"])
def test_options_of_one_table_are_refused(option: str) -> None:
    run = subprocess.run([_SABOT, "demo", "--serve", option], capture_output=True, text=True)
    assert run.returncode == 2 and "--serve deals games of its own" in run.stderr


def test_a_log_that_exists_is_refused_before_anything_starts(tmp_path: Path) -> None:
    db = tmp_path / "floor.sqlite"
    db.touch()
    run = subprocess.run(
        [_SABOT, "demo", "--serve", "--db", str(db)], capture_output=True, text=True
    )
    assert run.returncode == 8 and "exists already" in run.stderr
