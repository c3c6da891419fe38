"""Crafted files, for every command that reads one; and names of files that a command must not
write over.

What must hold in every case: the command ends, with a documented exit code that is not that of a
fault, and says in one line what is wrong if it does not take the file; it prints nothing that a
terminal obeys; and no file is changed, added or removed but the one that it was to write.
"""

import json
import os
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from host.tests.adversary import crafted_files
from host.tests.adversary.cases import BATCHES, cases
from host.tests.support.commands import done_here, run_here
from host.tests.support.helpers import TEST_KEY, FirmwareLog, new_log, stored
from sabot import files
from sabot.audit.context import mac_before
from sabot.errors import InternalError
from sabot.keys import chain_keys, signing
from sabot.receipts import receipt
from sabot_firmware import VERSION
from sabot_protocol import baccarat

_PASSPHRASE = "correct horse battery"
_UNIT = "SHOE-7"
_WAGERS = {
    "round": {"player": ["2S", "4D"], "banker": ["9C", "QH"]},
    "positions": [
        {"seat": 9, "player": "Ida", "wagers": {"player": 20000}},
        {"seat": 3, "player": "Ann", "wagers": {"banker": 10000, "tie": 1000}},
    ],
    "house": {"vigorish_when": "marked"},
    "markers": [{"seat": 3, "player": "Ann", "owed_cents": 250}],
    "leaving": ["Ann"],
}
_FEEDS = """[[feed]]
name = "house"
kind = "webhook"
address = "http://127.0.0.1:9/sabot"
secret = "house.secret"
what = ["rounds"]
"""
_EXAMPLE = Path(__file__).parents[3] / "docs" / "example"

_VERIFY = "verify --db log.sqlite --keys sabot.keys --operator house.pub.pem"
_EXPORT = "export --db log.sqlite --unit SHOE-7 --shoe 1 --open --key house.pem -o"
READERS = {
    "bundle.sabot": "verify {} --operator house.pub.pem --keys sabot.keys",
    "kept.jsonl": f"{_VERIFY} --checkpoints {{}}",
    "receipts.jsonl": f"{_VERIFY} --receipts {{}} --notary notary.pub.pem",
    "sabot.keys": "verify --db log.sqlite --operator house.pub.pem --keys {}",
    "house.pub.pem": "verify --db log.sqlite --keys sabot.keys --operator {}",
    "notary.pub.pem": f"{_VERIFY} --notary {{}}",
    "house.pem": "keys operator show {}",
    "wagers.json": "settle {} --json",
    "hand.json": "settle --game holdem {} --json",
    "table.json": "settle --game blackjack {} --json",
    "feeds.toml": "feed --db log.sqlite --once --config {}",
    "list.csv": "provision --list {} --keys new.keys --commands new.commands --house house.pub.pem",
}
"""By file, the command that reads it."""

WRITERS = (
    f"{_EXPORT} {{}}",
    f"{_EXPORT} new.sabot --html {{}}",
    "copy --db log.sqlite -o {}",
    "checkpoints --db log.sqlite -o {}",
    "receipts --db log.sqlite -o {}",
    "settle --game holdem hand.json --phh {}",
    "waveform 7H -o {}",
    "keys operator show house.pem -o {}",
)
"""Commands that write a file of their own kind."""
_OWN_KIND = {
    ("export", "bundle.sabot"), ("checkpoints", "kept.jsonl"), ("receipts", "receipts.jsonl"),
    ("keys", "house.pub.pem"), ("keys", "notary.pub.pem"),
}  # fmt: skip
"""What a command may replace: a file of the kind that it writes."""


_IN_DANGER = (
    "log.sqlite", "sabot.keys", "house.pem", "house.pub.pem", "bundle.sabot", "kept.jsonl",
    "receipts.jsonl", "hand.json",
)  # fmt: skip

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SILENT_PIPE_S", 0.02)
    monkeypatch.setenv("SABOT_PASSPHRASE", _PASSPHRASE)
    monkeypatch.setenv("STATE_DIRECTORY", os.devnull)  # no details of faults: there are to be none


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log, and a file of each kind that a command reads."""
    made = tmp_path_factory.mktemp("made")
    log = FirmwareLog(firmware=VERSION).load().draw("AS", "2C", "9S", "KC", "KD", "7D")
    for name in ("house", "notary"):
        signing.make_key_pair(made / name, _PASSPHRASE.encode())
    with new_log(made / "log.sqlite") as store:
        store.append(_UNIT, stored(log.records))
        store.keep_game(baccarat.document_of(baccarat.MINI_NAME))
        notary = signing.load_private(made / "notary.pem", _PASSPHRASE.encode)
        last = store.last_number(_UNIT)
        signed = receipt.make(
            notary, unit=_UNIT, number=last, mac=mac_before(store, _UNIT, last + 1), records=last,
            unix_ms=1_795_000_000_000, checked=receipt.CHAIN,
        )  # fmt: skip
        store.keep_receipts(_UNIT, [(last, signed)])
    chain_keys.add(made / "sabot.keys", _UNIT, TEST_KEY)
    for name in ("hand.json", "table.json"):
        shutil.copy(_EXAMPLE / name, made)
    (made / "wagers.json").write_text(json.dumps(_WAGERS))
    (made / "feeds.toml").write_text(_FEEDS)
    (made / "list.csv").write_text("board,unit,table,game\n/dev/none,SHOE-1,1,mini\n")
    given = {"SABOT_PASSPHRASE": _PASSPHRASE}
    done_here(made, *f"{_EXPORT} bundle.sabot".split(), **given)
    done_here(made, *["checkpoints", "--db", "log.sqlite", "-o", "kept.jsonl"])
    done_here(made, *["receipts", "--db", "log.sqlite", "-o", "receipts.jsonl"])
    return made


def _copied(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    return to


def _content(folder: Path) -> Mapping[str, str]:
    """What every name in the folder is: a hash of the file, or what kind of other thing."""
    found = {}
    for path in folder.iterdir():
        mode = path.lstat().st_mode
        small = stat.S_ISREG(mode) and path.stat().st_size < 1 << 20
        found[path.name] = sha256(path.read_bytes()).hexdigest() if small else stat.filemode(mode)
    return found


def _wrong_with(folder: Path, command: str, written: tuple[str, ...] = ()) -> Iterator[str]:
    """What does not hold of a command that was given something crafted."""
    before = _content(folder)
    out, problems, code = run_here(folder, *shlex.split(command))
    line = (problems.splitlines() or [""])[-1]
    if not isinstance(code, int) or code == InternalError.exit_code:
        yield f"ends with {code!r}: {problems}"
    elif code not in (0, 1, 2) and not line.startswith("sabot: "):
        yield f"ends with {code}, and says {problems!r}"
    if not (out + problems).replace("\n", "").isprintable():
        yield f"prints what controls a terminal: {out + problems!r}"
    after = _content(folder)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name) and name not in written:
            yield f"{name} was {before.get(name)} and is {after.get(name)}"


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_crafted_file_is_refused_with_a_line_or_read(
    folder: Path, tmp_path: Path, batch: int
) -> None:
    wrong = []
    for seed, rng in cases(batch, sample=40):
        case = _copied(folder, tmp_path / "case")
        name = rng.choice(list(READERS))
        way = rng.choice(
            (crafted_files.changed_bytes, crafted_files.changed_values, crafted_files.junk)
        )
        crafted = case / name
        data = crafted.read_bytes()
        crafted.write_bytes(way(data, rng))
        command = READERS[name].format(name)
        written = ("feeds.sqlite", "new.keys", "new.commands")
        wrong += [
            f"seed {seed}, {way.__name__}: {command}: {each}"
            for each in _wrong_with(case, command, written)
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("what", crafted_files.NO_FILES)
def test_what_is_no_file_is_refused_with_a_line(folder: Path, tmp_path: Path, what: str) -> None:
    wrong = []
    for name, command in READERS.items():
        case = _copied(folder, tmp_path / "case")
        (case / name).unlink()
        crafted_files.NO_FILES[what](case / name)
        line = command.format(name)
        wrong += [f"{line}: {each}" for each in _wrong_with(case, line, ("feeds.sqlite",))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command", WRITERS)
def test_no_command_writes_over_a_file_of_another_kind(
    folder: Path, tmp_path: Path, command: str
) -> None:
    wrong = []
    word = command.split()[0]
    new = ("new.sabot",)
    for name in _IN_DANGER:
        case = _copied(folder, tmp_path / "case")
        own = (name,) if (word, name) in _OWN_KIND and "--html" not in command else ()
        line = command.format(name)
        wrong += [f"{line}: {each}" for each in _wrong_with(case, line, (*own, *new))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", ["letter", "link"])
@pytest.mark.parametrize("command", WRITERS)
def test_no_command_writes_through_a_link(
    folder: Path, tmp_path: Path, command: str, target: str
) -> None:
    case = _copied(folder, tmp_path / "case")
    (case / "letter").write_text("a letter")
    (case / "link").symlink_to(target)
    assert not list(_wrong_with(case, command.format("link"), ("link", "new.sabot")))


@pytest.mark.parametrize(
    "command",
    [
        f"{_EXPORT} new --html new",
        f"{_EXPORT} new --html ./new",
        f"{_EXPORT} new --hand hand.json --phh new",
    ],
)
def test_two_files_of_one_export_have_names_of_their_own(
    folder: Path, tmp_path: Path, command: str
) -> None:
    case = _copied(folder, tmp_path / "case")
    assert not list(_wrong_with(case, command)) and not (case / "new").exists()


@pytest.mark.parametrize(
    "command",
    [
        "keys operator make -o .",
        "keys escrow make -o /",
        f"units --db {'a' * 300}",
        f"rounds --db log.sqlite --zone {'a' * 300}",
        f"verify --db log.sqlite --keys {'a' * 300}",
        f"verify {'a' * 300}",
        f"copy --db log.sqlite -o {'a' * 300}",
        f"checkpoints --db log.sqlite -o {'a' * 300}",
        "serve --db log.sqlite --listen ../../etc:1",
        "feed --db log.sqlite --metrics ../../etc:1 --once",
        "serve --db log.sqlite --zone ../../etc/passwd",
    ],
)
def test_a_name_that_cannot_be_one_is_refused_with_a_line(
    folder: Path, tmp_path: Path, command: str
) -> None:
    assert not list(_wrong_with(_copied(folder, tmp_path / "case"), command))


def test_an_empty_passphrase_is_a_wrong_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SABOT_PASSPHRASE", "")
    case = _copied(folder, tmp_path / "case")
    out, problems, code = run_here(case, "keys", "operator", "show", "house.pem")
    assert (code, out) == (21, "") and "wrong passphrase" in problems
