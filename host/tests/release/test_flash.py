"""Flashing a release onto bare boards: simulated ones, through mpremote's own transport."""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from mpremote.transport import TransportError
from mpremote.transport_serial import SerialTransport

import sabot_firmware
from host.tests.support.naive_shoe import Answering
from sabot.errors import (
    BoardUnfit,
    CommandRefused,
    FlashBroken,
    KeysUnusable,
    NoShoe,
    PortNotFound,
    ReleaseUnusable,
    SabotError,
)
from sabot.keys import chain_keys, signing
from sabot.link import ports
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port
from sabot.release import build as releases
from sabot.release import flash as flashing
from sabot.release import layout
from sabot.release.documents import document
from sabot.release.flash import flash, signed_release
from sabot.release.update import Progress
from sabot.service.debug import open_prompt
from sabot.sim.process import JOURNAL, SimulatedShoe, new_journal
from sabot_hil.kit import releases as made
from sabot_protocol.chain import chain_id, command_key

pytestmark = pytest.mark.slow

_STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_CHUNK = 4096
_FIRST_KEY = chain_keys.new_key()
UNIT = {
    "/state/settings.cbor": document({"set": 0}),
    "/state/chain.cbor": document(chain_id(_FIRST_KEY)),
    "/state/command_key.cbor": document(command_key(_FIRST_KEY)),
    "/state/release_key.cbor": document(signing.public_of(made.HOUSE)),
    "/state/unit.cbor": document("SHOE-9"),
}
"""The files that make a flashed board a unit."""


def _no_prompt() -> None:
    raise AssertionError("no shoe runs here")


def _flash(
    port: str,
    built: releases.Release,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    *,
    force: bool = False,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    return flash(
        port, built, on_progress, force=force, open_repl=_no_prompt, now_s=now_s, pause=pause
    )


def _release(
    files: dict[str, bytes] | None = None,
    key: Ed25519PrivateKey = made.HOUSE,
    *,
    board: str = "sim",
    micropython: str = sabot_firmware.MICROPYTHON,
) -> releases.Release:
    """A release of this firmware, or of `files` instead."""
    modules = made.compiled("sim") if files is None else files
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "modules_of", lambda board: modules)
        sources = {path.replace(".mpy", ".py"): data for path, data in modules.items()}
        patch.setattr(releases, "sources_of", lambda board: sources)
        patch.setattr(sabot_firmware, "MICROPYTHON", micropython)
        return releases.build(board, key)


def _small() -> releases.Release:
    """A release that is quickly copied and does not start."""
    return _release(
        {"sabot_firmware/release/boot.mpy": b"boot", "sabot_firmware/main.mpy": bytes(9000)}
    )


def _build_of(built: releases.Release) -> bytes:
    """The `build` that a shoe reports when it runs the release, by protocol/README.md."""
    lines = [
        f"{sha256(data).hexdigest()} {len(data)} {path}\n"
        for path, data in sorted(built.files.items())
    ]
    return sha256("".join(lines).encode()).digest()


@contextmanager
def _repl(board: SimulatedShoe) -> Iterator[SerialTransport]:
    with closing(SerialTransport(board.port, timeout=100)) as transport:
        transport.enter_raw_repl()  # drops what a board that is gone has not read
        yield transport


def put(board: SimulatedShoe, files: dict[str, bytes]) -> None:
    """Put these files on the board as mpremote does it."""
    with _repl(board) as repl:
        for path, data in files.items():
            folder = path.rpartition("/")[0]
            if folder and not repl.fs_exists(folder):
                repl.fs_mkdir(folder)
            repl.fs_writefile(path, data, _CHUNK)


def put_unit(board: SimulatedShoe, files: dict[str, bytes] = UNIT) -> None:
    """Put the files of a unit on the board, and its first key on the journal's chip."""
    put(board, files)
    (board.state / JOURNAL).write_bytes(new_journal(_FIRST_KEY))


def _files(board: SimulatedShoe) -> dict[str, bytes]:
    """SHA-256 of all files on the board at its prompt, by path."""
    with _repl(board) as repl:
        found = [entry for folder in ("", "/state") for entry in _listed(repl, folder)]
        return {path: repl.fs_hashfile(path, "sha256", _CHUNK) for path in found}


def _listed(repl: SerialTransport, folder: str) -> list[str]:
    if folder and not repl.fs_exists(folder):
        return []
    return [
        f"{folder}/{entry.name}"
        for entry in repl.fs_listdir(folder or "/")
        if entry.st_mode & 0x8000
    ]


def _refused(
    board: SimulatedShoe, built: releases.Release, kind: type[SabotError], *, force: bool = False
) -> str:
    """Flash the board, which is refused and changes nothing; return the error's one line."""
    before = _files(board)
    with pytest.raises(kind) as refused:
        _flash(board.unit, built, force=force)
    assert _files(board) == before
    message = str(refused.value)
    assert message.startswith(f"{board.unit}: ") and "\n" not in message and ";" in message
    return message


@contextmanager
def _bare(unit: str) -> Iterator[SimulatedShoe]:
    with SimulatedShoe(unit, files={}) as simulated:
        simulated.power_on()
        yield simulated


@pytest.fixture
def board() -> Iterator[SimulatedShoe]:
    """A bare board with power."""
    with _bare("BARE-1") as simulated:
        yield simulated


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are written to any board from now on."""
    paths: list[str] = []
    write = SerialTransport.fs_writefile

    def written(self: SerialTransport, dest: str, *rest: object) -> None:
        paths.append(dest)
        write(self, dest, *rest)

    monkeypatch.setattr(SerialTransport, "fs_writefile", written)
    return paths


@pytest.mark.parametrize(
    ("make", "path", "said"),
    [
        ("open('/state', 'w').close()", "state", "its state is a file, where Sabot has a folder"),
        ("os.mkdir('/main.py')", "main.py", "its main.py is a folder, where Sabot has a file"),
        ("os.mkdir('/a.code')", "a.code", "its a.code is a folder, where Sabot has a file"),
        (
            "os.mkdir('/state'); os.mkdir('/state/unit.cbor')",
            "state/unit.cbor",
            "its state/unit.cbor is a folder, where Sabot has a file",
        ),
    ],
)
def test_a_path_of_the_wrong_kind_is_named_with_what_to_do_and_no_retry_is_advised(
    board: SimulatedShoe, make: str, path: str, said: str
) -> None:
    """Before anything is written: flashing again could never change it."""
    with _repl(board) as repl:
        repl.exec(f"import os\n{make}")
    with pytest.raises(BoardUnfit) as refused:
        _flash("BARE-1", _small(), _begins)
    message = str(refused.value)
    assert message.startswith(f"BARE-1: {said}") and "\n" not in message
    (remove,) = re.findall(rf"`mpremote connect PORT fs (rm(?: -r)?) :{path}`", message)
    with _repl(board) as repl:  # as that command does
        repl.exec(f"import os\nos.{'rmdir' if remove == 'rm -r' else 'remove'}('/{path}')")
    with pytest.raises(_Begun):
        _flash("BARE-1", _small(), _begins)


class _Begun(Exception):
    """The board is fit: its first file would be written now."""


def _begins(progress: Progress) -> None:
    if progress.what == "beginning to copy":
        raise _Begun


def test_a_flashed_board_runs_the_release_unprovisioned_and_is_not_flashed_again(
    board: SimulatedShoe,
) -> None:
    built = _release()
    reported: list[Progress] = []
    assert (
        _flash(board.port, built, reported.append)
        == f"{board.port}: Sabot {sabot_firmware.VERSION}, flashed; "
        f"provision it: sabot provision {board.port} --table 1"
    )
    with Port(board.port) as port:
        client = Client(port)
        assert client.welcome.build == _build_of(built)
        assert (client.unit, client.welcome.board) == ("BARE-1", "sim")
        assert client.welcome.challenge == b"" and client.welcome.game == "none"
    steps = [progress.what for progress in reported]
    order = ["examining it", "beginning to copy", "copying"]
    order += ["checking what was copied", "starting it"]
    assert [what for n, what in enumerate(steps) if n == 0 or steps[n - 1] != what] == order
    copied = [progress for progress in reported if progress.what == "copying"]
    size = sum(map(len, built.files.values()))
    assert 2 * size < copied[-1].done == copied[-1].whole < 2 * size + 24_000
    with pytest.raises(BoardUnfit, match="Sabot runs there; `sabot update`"):
        _flash("BARE-1", built)


def test_force_flashes_a_shoe_in_service_only_with_its_key_and_service_switch(
    board: SimulatedShoe, sent: list[str]
) -> None:
    built = _release()
    put_unit(board)
    _flash("BARE-1", built)
    known = CommandKeyFile()

    def prompt() -> None:
        open_prompt("BARE-1", board.port, known)

    def flash_by_force() -> str:
        return flash("BARE-1", built, force=True, open_repl=prompt)

    sent.clear()
    with pytest.raises(KeysUnusable, match="no command key"):
        flash_by_force()
    known.put("SHOE-9", command_key(_FIRST_KEY))
    with pytest.raises(CommandRefused, match="service switch is off"):
        flash_by_force()
    assert sent == []
    board.bench.switch("service_on", True)
    board.bench.settle()
    assert flash_by_force().endswith("flashed")
    assert sent == ["/main.py.new"], "all other files were there"
    with Port(board.port) as port:
        client = Client(port, keys=known)
        assert client.unit == "SHOE-9" and client.welcome.build == _build_of(built)
        client.begin(1)
        kinds = []
        while len(kinds) < client.welcome.last_held:
            kinds += [record.event.kind for record in client.receive(1.0).records]
    assert kinds.count("debug_opened") == 1 and kinds.count("boot") == 2


def test_flashing_writes_no_release_key_and_no_settings(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flashing, "_wait_for_shoe", lambda *_: None)
    monkeypatch.setattr(SerialTransport, "exec_raw_no_follow", _no_reset())
    _flash("BARE-1", _small())
    monkeypatch.undo()
    assert set(_files(board)) == {
        "/main.py",
        "/boot.mpy",
        "/a.code",
        "/a.list",
        "/rescue.code",
        "/rescue.list",
        "/state/boot",
    }


def _no_reset() -> Callable[[SerialTransport, str], object]:
    execute = SerialTransport.exec_raw_no_follow

    def without_reset(self: SerialTransport, command: str) -> object:
        return execute(self, command.replace("machine.reset()", "pass"))

    return without_reset


def test_force_flashes_a_board_at_its_prompt_that_has_sabot_already(
    board: SimulatedShoe, sent: list[str]
) -> None:
    old = {
        "/boot.mpy": b"old",
        "/a.code": b"old",
        "/b.code": bytes(90_000),
        "/b.list": b"old",
        "/state/boot": b"1 b nothing 0 0",
        "/state/update": b"",
        "/boot.py": b"raise SystemExit",
    }
    put_unit(board, UNIT | old)
    sent.clear()
    built = _release()
    message = _refused(board, built, BoardUnfit)
    assert "Sabot is on it already; --force flashes it again" in message
    assert sent == []
    _flash("BARE-1", built, force=True)
    with Port(board.port) as port:
        assert Client(port).welcome.build == _build_of(built)
    assert not any(path in UNIT for path in sent)


def test_a_foreign_main_py_is_removed_first_and_sabots_needs_force(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(board, {"/main.py": b"import machine\nfrom boot import start\nstart()\n"})
    assert "Sabot is on it already" in _refused(board, _small(), BoardUnfit)
    put(board, {"/main.py": b"print('blink')\n", "/notes": b"keep me"})
    seen = []

    def interrupt(progress: Progress) -> None:
        if progress.what == "copying" and not seen:
            seen.append(progress)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _flash("BARE-1", _small(), interrupt)
    found = _files(board)
    assert "/main.py" not in found and "/main.py.new" in found
    assert found["/notes"] == sha256(b"keep me").digest()


def test_another_board_or_a_micropython_that_is_too_old_is_refused(board: SimulatedShoe) -> None:
    message = _refused(board, _release(board="pico"), BoardUnfit)
    assert "its MicroPython says linux" in message and "the release is for pico" in message
    message = _refused(board, _release(micropython="9.1.0"), BoardUnfit)
    assert "the release needs 9.1.0; put that on it with --micropython" in message


def test_a_release_without_a_boot_loader_is_refused(board: SimulatedShoe) -> None:
    with pytest.raises(ReleaseUnusable, match="no boot loader"):
        _flash("BARE-1", _release({"sabot_firmware/main.mpy": b"main"}))


def test_a_full_flash_is_reported_before_anything_is_written(board: SimulatedShoe) -> None:
    with _repl(board) as repl:
        repl.exec("f = open('/fill', 'wb')\nfor n in range(1200): f.write(bytes(1000))\nf.close()")
    message = _refused(board, _release(), BoardUnfit)
    assert "its flash is full" in message and "KB more are needed" in message


def test_a_flash_that_becomes_full_while_it_is_written_is_reported(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = SerialTransport.fs_writefile

    def filled(self: SerialTransport, dest: str, *rest: object) -> None:
        if dest == "/a.code":
            self.exec(
                "import os\ng = open('/fill', 'wb')\n"
                "for n in range(os.statvfs('/')[3] - 15): g.write(bytes(4088))\ng.close()"
            )
        write(self, dest, *rest)

    monkeypatch.setattr(SerialTransport, "fs_writefile", filled)
    with pytest.raises(FlashBroken, match=r"BARE-1: .*; its flash is full: remove files") as full:
        _flash("BARE-1", _release())
    assert "\n" not in str(full.value)
    assert "/main.py" not in _files(board)


def test_after_a_board_has_vanished_only_the_missing_files_are_copied(
    board: SimulatedShoe, sent: list[str]
) -> None:
    built = _release()
    put_unit(board)
    sent.clear()
    copied = []

    def pull(progress: Progress) -> None:
        copied.append(progress.done)
        if progress.what == "copying" and sent[-1] == "/rescue.code":
            board.power_off()

    with pytest.raises(FlashBroken, match=r"BARE-1: flashing broke off .*; .* flash it again"):
        _flash("BARE-1", built, pull)
    before = list(sent)
    assert before[0] == "/main.py.new" and "/a.code" in before and before[-1] == "/rescue.code"
    board.power_on()
    assert "/main.py" not in _files(board)
    sent.clear()
    _flash("BARE-1", built)
    assert not {*sent} & {*before[:-1]} and "/rescue.code" in sent
    with Port(board.port) as port:
        assert Client(port).welcome.build == _build_of(built)


@pytest.mark.parametrize("reports", [3, 20])
def test_after_ctrl_c_while_copying_the_board_has_its_power_and_the_next_try_continues(
    board: SimulatedShoe, sent: list[str], reports: int
) -> None:
    built = _release()
    seen: list[str] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress.what)
        if len(seen) == reports:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _flash("BARE-1", built, interrupt)
    assert seen[-1] == "copying"
    sent.clear()
    _flash("BARE-1", built)
    assert "/rescue.code" in sent
    with Port(board.port) as port:
        assert Client(port).welcome.build == _build_of(built)


def test_after_a_power_cut_at_any_step_there_is_a_prompt_and_the_next_try_continues(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = _small()
    put(board, {"/main.py": b"print('an old one')\n", "/boot.py": b"", "/state/boot.new": b""})
    monkeypatch.setattr(flashing, "_LINK_S", 0.05)
    monkeypatch.setattr(flashing, "_wait_for_shoe", lambda *_: None)
    execute = SerialTransport.exec_raw_no_follow
    tried: list[str] = []

    def cut(self: SerialTransport, command: str) -> object:
        if "os.rename('/main.py'," not in command:  # after it there is no main.py
            tried.append(command)
        last = "os.rename('/main.py.new'" in command and command not in cut_commands
        if "machine.reset()" in command or len(tried) == cut_at or last:
            board.power_off()
            raise TransportError("cut")
        return execute(self, command)

    monkeypatch.setattr(SerialTransport, "exec_raw_no_follow", cut)
    cut_at = 12
    cut_commands: list[str] = []
    while True:
        tried.clear()
        try:
            _flash("BARE-1", built)
            break
        except FlashBroken:
            cut_commands += tried[-1:]
        board.power_on()
        with monkeypatch.context() as patch:
            patch.setattr(SerialTransport, "exec_raw_no_follow", execute)
            assert "/main.py" not in _files(board)  # and it has its prompt
        cut_at += 3
    for step in ("os.remove(", "w(", "h.digest()", "os.rename('/main.py.new', '/main.py')"):
        assert any(step in command for command in cut_commands), step


def test_a_port_where_nothing_answers_is_reported() -> None:
    with Answering(lambda data: b"") as silent:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flashing, "_ANSWER_S", 0.3)
            with pytest.raises(NoShoe, match="neither a shoe nor MicroPython's prompt") as refused:
                _flash(silent.path, _small())
    assert str(refused.value).startswith(silent.path)
    with pytest.raises(PortNotFound):
        _flash("/dev/ttyNONE9", _small())
    with pytest.raises(NoShoe, match="not a serial port"):
        _flash("/dev/null", _small())


def test_what_a_board_says_of_itself_cannot_control_the_terminal(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = b"('rp2', 'Evil \\x1b[2J\\nboard', [1, 28, 0], [4096] * 10, {}, False, [], [])\n"
    monkeypatch.setattr(
        SerialTransport, "exec", lambda *_, **__: answer.replace(b"[4096] * 10", b"()")
    )
    with pytest.raises(NoShoe, match="BARE-1: lost while it was examined"):
        _flash("BARE-1", _small())
    answer = answer.replace(b"[4096] * 10", b"(4096, 4096, 9, 9)")
    monkeypatch.setattr(SerialTransport, "exec", lambda *_, **__: answer)
    with pytest.raises(BoardUnfit) as refused:
        _flash("BARE-1", _small())
    assert "its MicroPython says Evil ?[2J?board, the release" in str(refused.value)


def test_an_answer_that_makes_no_sense_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with Answering(lambda data: b"Login: ") as other:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flashing, "_ANSWER_S", 0.3)
            with pytest.raises(NoShoe):
                _flash(other.path, _small())
    assert capsys.readouterr().out == ""


def test_a_board_that_does_not_start_or_runs_something_else_is_reported(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_unit(board)
    with monkeypatch.context() as patch:
        flashed = layout.flashed
        patch.setattr(layout, "flashed", lambda files: flashed(made.compiled("sim")))
        runs, wanted = (_build_of(built).hex()[:16] for built in (_release(), _small()))
        with pytest.raises(FlashBroken, match=f"something else .build {runs}, not {wanted}.; "):
            _flash("BARE-1", _small())
    board.power_off()
    with _bare("BARE-2") as other:
        now_s = iter(range(10_000))
        monkeypatch.setattr(flashing, "_LINK_S", 0.05)
        with pytest.raises(FlashBroken, match="BARE-2: all files were copied, but no shoe"):
            _flash(other.unit, _small(), now_s=lambda: float(next(now_s)), pause=lambda _: None)


def test_two_boards_are_flashed_at_once_unless_they_have_the_same_serial_number(
    board: SimulatedShoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _bare("BARE-2") as other:
        built = _release()
        for each in (board, other):
            put_unit(each)
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda unit: _flash(unit, built), ["BARE-1", "BARE-2"]))
        assert done == [f"BARE-{n}: Sabot {sabot_firmware.VERSION}, flashed" for n in (1, 2)]
        twice = [ports.PortInfo("SAME", each.port, "USB board") for each in (board, other)]
        monkeypatch.setattr(ports, "attached", lambda: twice)
        with pytest.raises(SabotError, match=r"SAME: .* and .* have this name") as same:
            _flash("SAME", built)
        assert same.value.exit_code == 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a release and the house's public key."""
    releases.save(_small(), tmp_path / "made")
    (tmp_path / "house.pub.pem").write_bytes(signing.pem_of(signing.public_of(made.HOUSE)))
    return tmp_path


def test_a_release_must_be_signed_with_the_houses_key(folder: Path) -> None:
    house = folder / "house.pub.pem"
    assert signed_release(folder / "made", house) == _small()
    releases.save(_release(dict(_small().files), _STRANGER), folder / "strange")
    with pytest.raises(ReleaseUnusable, match=r"strange: not signed with the key of .*--house"):
        signed_release(folder / "strange", house)
    signature = folder / "made" / "manifest.sig"
    good = signature.read_bytes()
    for wrong in (bytes(64), good[:-1] + bytes([good[-1] ^ 1])):
        signature.write_bytes(wrong)
        with pytest.raises(ReleaseUnusable, match="made: not signed with the key of"):
            signed_release(folder / "made", house)
    signature.write_bytes(good[:-1])
    with pytest.raises(ReleaseUnusable, match="its signature is cut off"):
        signed_release(folder / "made", house)
    signature.unlink()
    with pytest.raises(ReleaseUnusable, match=r"manifest.sig: cannot be read"):
        signed_release(folder / "made", house)
    with pytest.raises(KeysUnusable, match="not a public Ed25519 key"):
        signed_release(folder / "made", folder / "made" / "manifest.cbor")


def test_a_damaged_release_is_refused(folder: Path) -> None:
    (folder / "made" / "sabot_firmware" / "main.mpy").write_bytes(bytes(8999))
    with pytest.raises(ReleaseUnusable, match=r"sabot_firmware/main.mpy is damaged"):
        signed_release(folder / "made", folder / "house.pub.pem")
