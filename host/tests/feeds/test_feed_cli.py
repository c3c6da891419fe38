"""`sabot feed` as its user has it: a process that is started, killed, ended, and looked at."""

import base64
import json
import random
import signal
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from host.tests.feeds.test_feeds import _by_unit, _wanted
from host.tests.support.brokers import free_port, until
from host.tests.support.commands import SABOT, environment
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from host.tests.support.terminal import ended_by_ctrl_c, shown
from host.tests.support.webhook_receiver import SECRET, Receiver, hang, receiving

pytestmark = pytest.mark.slow

_TOKEN = "a token of the tests, long"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a log, and secrets."""
    log = FirmwareLog().deal_shoe(shuffled_names(5))
    with new_log(tmp_path / "log.sqlite") as store:
        for unit in ("SHOE-1", "SHOE-2"):
            store.append(unit, stored(log.records[:600]))
    secret = f"whsec_{base64.b64encode(SECRET).decode()}"
    for name, text in (("secret", secret), ("token", _TOKEN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path


def _configure(folder: Path, receiver: Receiver, more: str = "") -> None:
    (folder / "feeds.toml").write_text(
        f'[[feed]]\nname = "crm"\nkind = "webhook"\naddress = "{receiver.address}"\n'
        'secret = "secret"\ntoken = "token"\nin_play = true\n'
        f'[pull]\nlisten = "127.0.0.1:{free_port()}"\n{more}'
    )


def _started(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(SABOT), "feed", "--db", "log.sqlite", *words],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _once(folder: Path) -> tuple[int, str]:
    started = _started(folder, "--once")
    _, said = started.communicate(timeout=90)
    return started.returncode, said


def test_killed_at_any_moment_it_misses_nothing_and_repeats_what_was_in_the_air(
    folder: Path, rng: random.Random
) -> None:
    with receiving() as receiver, new_log(folder / "log.sqlite") as store:
        _configure(folder, receiver)
        wanted = _wanted(store)
        kills = 0
        while _by_unit(receiver.ids) != wanted and kills < 5:
            started = _started(folder)
            with suppress(subprocess.TimeoutExpired):
                started.wait(rng.uniform(0.5, 1.1))
            started.kill()
            started.communicate()
            kills += 1
        assert _once(folder)[0] == 0
        assert _by_unit(receiver.ids) == wanted
        assert len(receiver.taken) - len(receiver.ids) <= 8 * kills


def test_once_says_what_was_delivered_and_ends_with_1_if_not_all_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as receiver:
        _configure(folder, receiver)
        code, said = _once(folder)
        assert (code, said) == (0, f"crm: {len(receiver.taken)} messages delivered\n")
        assert _once(folder) == (0, "crm: 0 messages delivered\n")
    (folder / "feeds.sqlite").unlink()
    with receiving(lambda handler, _: handler.say(410)) as receiver:
        _configure(folder, receiver)
        code, said = _once(folder)
        assert code == 1 and "410" in said and "Traceback" not in said


def test_it_runs_until_ctrl_c_serves_metrics_and_missing_rounds_and_shows_no_secret(
    folder: Path,
) -> None:
    port = free_port()
    with receiving() as receiver, new_log(folder / "log.sqlite") as store:
        _configure(folder, receiver)
        wanted = _wanted(store)
        started = _started(folder, "--metrics", f"127.0.0.1:{port}")
        try:
            until(lambda: _by_unit(receiver.ids) == wanted)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                metrics = answer.read().decode()
            listen = (folder / "feeds.toml").read_text().rpartition(":")[2].strip().strip('"')
            asked = urllib.request.Request(
                f"http://127.0.0.1:{listen}/feeds/crm/rounds?unit=SHOE-1",
                headers={"authorization": f"Bearer {_TOKEN}"},
            )
            with urllib.request.urlopen(asked) as answer:
                rounds = json.load(answer)
        finally:
            started.send_signal(signal.SIGINT)
            out, said = started.communicate(timeout=200)
    sent = [got.event for got in receiver.taken if got.event["type"] == "sabot.round.ended"]
    assert rounds == [each for each in sent if each["data"]["unit"] == "SHOE-1"]
    count = len(receiver.taken)
    assert f'sabot_feed_delivered_total{{feed="crm"}} {count}.0' in metrics
    assert (started.returncode, out) == (0, "")
    assert said.splitlines()[-1].startswith("log.sqlite: what receivers acknowledged is noted")
    for secret in (_TOKEN, SECRET.decode(), base64.b64encode(SECRET).decode()):
        assert secret not in said + metrics


def test_ctrl_c_in_a_run_that_would_end_is_130(folder: Path) -> None:
    with receiving(hang) as receiver:
        _configure(folder, receiver)
        started = _started(folder, "--once")
        until(lambda: receiver.got)
        begin_s = time.monotonic()
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=200)
        assert time.monotonic() - begin_s < 14, "it waits for no answer that does not come"
    assert started.returncode == 130 and len(said.splitlines()) == 1
    assert said.startswith("sabot: interrupted: log.sqlite: what receivers acknowledged")


def test_on_a_terminal_it_shows_how_each_feed_does(folder: Path) -> None:
    with receiving() as receiver, new_log(folder / "log.sqlite") as store:
        _configure(folder, receiver)
        count = sum(map(len, _wanted(store).values()))
        command = ["bash", "-c", f"cd {folder} && exec {SABOT} feed --db log.sqlite"]
        seen = f"crm: {count} messages delivered"
        code, output = ended_by_ctrl_c(command, environment(), seen.encode())
    assert code == 0 and "Traceback" not in output
    assert not any(line.startswith("crm:") for line in shown(output)), "the bar is gone"
    assert "what receivers acknowledged is noted" in shown(output)[-1]


def test_a_wrong_configuration_is_refused_whole(folder: Path) -> None:
    with receiving() as receiver:
        _configure(folder, receiver, "[other]\n")
        code, said = _once(folder)
    assert code == 42 and "feeds.toml: other: is not known" in said and len(said.splitlines()) == 1
    assert not receiver.got and not (folder / "feeds.sqlite").exists()


def test_two_of_one_configuration_do_not_run_at_once(folder: Path) -> None:
    with receiving() as receiver:
        _configure(folder, receiver)
        started = _started(folder)
        try:
            until(lambda: receiver.taken)
            code, said = _once(folder)
        finally:
            started.send_signal(signal.SIGTERM)
            started.communicate(timeout=200)
    assert code == 8 and "another program has it" in said
    assert started.returncode == 0


def test_a_wrong_address_for_metrics_is_said(folder: Path) -> None:
    with receiving() as receiver:
        _configure(folder, receiver)
        for at, code in (("x:y", 2), (f"192.0.2.1:{free_port()}", 37)):
            started = _started(folder, "--once", "--metrics", at)
            _, said = started.communicate(timeout=200)
            assert started.returncode == code and "Traceback" not in said, said
