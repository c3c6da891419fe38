"""The sockets of running logs, in a folder that another user could have prepared."""

import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from host.tests.link.test_runtime import (
    Plant,
    a_file,
    link_for_all,
    open_to_all,
    ours,
    shared,
    victim,
)
from sabot.link import log_socket
from sabot.log.readers import Readers

__all__ = ["shared", "victim"]  # fixtures

_RUN = """
import sys, time
from sabot.log.readers import Readers
Readers([sys.argv[1]]).start()
print("started", flush=True)
time.sleep(600)
"""


def socket_file(folder: Path) -> Path:
    (found,) = (folder / "sabot-logs").iterdir()
    return found


def started(port: str) -> "subprocess.Popen[bytes]":
    """A process with a socket for the shoe at `port`."""
    child = subprocess.Popen([sys.executable, "-c", _RUN, port], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"started\n"
    return child


@pytest.mark.parametrize("plant", [link_for_all, open_to_all, a_file])
def test_a_folder_that_others_can_change_is_refused(
    shared: Path, victim: Path, plant: Plant
) -> None:
    plant(shared, victim)
    with pytest.raises(OSError) as raised:
        Readers(["SHOE-7"]).start()
    text = log_socket.unusable(raised.value)
    assert "set XDG_RUNTIME_DIR to a folder of your own" in text and "\n" not in text
    assert log_socket.logged() == []


def test_a_link_in_place_of_the_folder_is_refused(shared: Path, victim: Path) -> None:
    ours(shared).mkdir(0o700)
    (ours(shared) / "sabot-logs").symlink_to(victim)
    with pytest.raises(OSError, match="sabot-logs is a link or a file"):
        Readers(["SHOE-7"]).start()
    assert log_socket.logged() == []


def test_folder_and_socket_are_private_and_named_after_the_process(runtime_folder: Path) -> None:
    before = os.umask(0)
    readers = Readers(["SHOE-7"])
    try:
        readers.start()
    finally:
        os.umask(before)
    path = socket_file(runtime_folder)
    assert path.name.startswith(f"{os.getpid()}-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    readers.close()
    assert list(path.parent.iterdir()) == []


def test_the_folder_may_have_a_long_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 120) / ("y" * 120)  # a path of a socket has 108 bytes
    long.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    readers = Readers(["SHOE-7"])
    readers.start()
    assert [each.port for each in log_socket.logged()] == ["SHOE-7"]
    readers.close()


@pytest.mark.slow
def test_the_socket_of_a_killed_log_is_removed_and_that_of_a_running_one_stays(
    runtime_folder: Path,
) -> None:
    killed, running = started("SHOE-7"), started("SHOE-8")
    try:
        assert {each.port for each in log_socket.logged()} == {"SHOE-7", "SHOE-8"}
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(list((runtime_folder / "sabot-logs").iterdir())) == 2
        (shoe,) = log_socket.logged()
        assert (shoe.port, shoe.process) == ("SHOE-8", running.pid)
        assert socket_file(runtime_folder).name == shoe.log
    finally:
        for each in (killed, running):
            each.kill()
            each.communicate()


@pytest.mark.slow
def test_a_stopped_log_does_not_hold_up_the_others(
    runtime_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_socket, "_LISTING_S", 0.3)
    stopped, running = started("SHOE-7"), started("SHOE-8")
    try:
        stopped.send_signal(signal.SIGSTOP)
        assert [each.port for each in log_socket.logged()] == ["SHOE-8"]
        assert len(list((runtime_folder / "sabot-logs").iterdir())) == 2  # it may go on
    finally:
        for each in (stopped, running):
            each.kill()
            each.communicate()


def test_only_sockets_of_our_form_are_opened_or_removed(runtime_folder: Path) -> None:
    folder = runtime_folder / "sabot-logs"
    folder.mkdir(0o700)
    letter = folder / f"12-{'a' * 16}"
    letter.write_bytes(b"Dear sir or madam,\n")
    (folder / f"13-{'a' * 16}").symlink_to(letter)
    os.mkfifo(folder / f"14-{'a' * 16}")
    names = ["notes", "12-x", f"0-{'a' * 16}", f"12-{'A' * 16}"]
    for name in names:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other, chdir(folder):
            other.bind(name)  # the whole path may be longer than an address can be
    assert log_socket.logged() == [] and log_socket.find("SHOE-7") is None
    assert len(list(folder.iterdir())) == 3 + len(names)
    assert letter.read_bytes() == b"Dear sir or madam,\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_not_answered(runtime_folder: Path, tmp_path: Path) -> None:
    """Even one who may open the socket, as root may."""
    readers = Readers(["SHOE-7"])
    readers.start()
    try:
        path = socket_file(runtime_folder)
        for each in (path, path.parent, runtime_folder, *tmp_path.parents, tmp_path):
            if each.owner() == "root" and str(each).startswith(str(tmp_path.parents[1])):
                each.chmod(0o777)
        code = (
            "import os, socket, sys, cbor2\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\none.connect(sys.argv[1])\n"
            "try: one.send(cbor2.dumps([1, 'shoes', 0])); print(one.recv(1000))\n"
            "except OSError as error: print(type(error).__name__)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, path.name],
            cwd=path.parent,  # the whole path may be longer than the 107 bytes of an address
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() in ("b''", "BrokenPipeError", "ConnectionResetError"), done
        path.parent.chmod(0o700)
        assert [each.port for each in log_socket.logged()] == ["SHOE-7"]
    finally:
        readers.close()
