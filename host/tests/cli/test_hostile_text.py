"""No command prints, or writes to a file, anything from outside but printable characters.

Each command gets a hostile shoe, log, file, name of a file or argument, whatever it takes.
"""

import io
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from unittest.mock import patch

import cbor2
import numpy as np
import pytest
from serial.tools import list_ports

from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from host.tests.support.hostile import (
    OVERLONG,
    TEXT,
    UNIT,
    HostileShoe,
    hostile_log,
    seen_by,
)
from host.tests.support.keeping_shoe import KeptPass, made_of
from host.tests.support.naive_shoe import Answering, answering_shoe
from sabot.cli import run
from sabot.cli.commands import MODULES, imported
from sabot.keys import signing
from sabot.link import runtime
from sabot.release import build as releases
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import faulty_pass
from sabot_hil.kit.releases import HOUSE
from sabot_hil.report.results import Measurement, Result, SuiteRun, write_results

pytestmark = pytest.mark.slow

ARGUMENT = TEXT.replace("/", "").replace("\ufffe", "")
"""Hostile text as an argument or a file's name."""
NAME = ARGUMENT.encode()[:180].decode(errors="ignore")

_OURS = {".sqlite", ".sqlite-wal", ".sqlite-shm", ".pem", ".sabot", ".samples", ".png", ".bin"}
"""Files whose form is not text, or that the tests made."""


@dataclass(frozen=True, slots=True)
class Adversary:
    """What the commands get. The paths are in the current folder."""

    shoe: str
    """Port of a hostile shoe that refuses."""
    reporting: str
    """Port of one that reports."""
    named: str
    """Port of one with a hostile id."""
    babbling: str
    """Port of a device that sends hostile text at once."""


def _commands() -> Iterator[tuple[str, ...]]:
    """Every command of the command line, by its words."""

    def walk(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        subcommands = getattr(command, "commands", None)
        if subcommands is None or (words and getattr(command, "invoke_without_command", False)):
            yield words
        for name, each in (subcommands or {}).items():
            yield from walk(each, (*words, name))

    for name in MODULES:
        yield from walk(imported(name), (name,))


_LOGS = ("hostile.sqlite", "named.sqlite", "damaged.sqlite", NAME)
_KEY = ("--key", "house.pem")
_EXPORTED = (*_KEY, "--open", "-o", "out/it.sabot", "--html", "out/it.html")
_NO_SERVER = "postgresql://x@127.0.0.1:1/none"
_NOWHERE = ("--listen", "192.0.2.1:1", "--plain-http")
_PUB = ("--house", "house.pub.pem")


def _on_logs(*words: str) -> list[list[str]]:
    return [[*words, "--db", db, *how] for db in _LOGS for how in ((), ("--json",), ("--csv",))]


def _at_databases(word: str, *more: str) -> list[list[str]]:
    """A command at servers that are not there."""
    places = (_NO_SERVER, f"{_NO_SERVER}/{NAME}", ARGUMENT)
    return [["database", word, place, *more] for place in places]


DRIVEN: dict[str, Callable[[Adversary], list[list[str]]]] = {
    "demo": lambda _: [["demo", "--deck", "junk"], ["demo", "--deck", "junk", "--unit", ARGUMENT]],
    "sim": lambda _: [["sim", "--deck", "junk"], ["sim", "--unit", ARGUMENT]],
    "sim-do": lambda it: [
        ["sim-do", ARGUMENT],
        ["sim-do", it.shoe],
        ["sim-do", it.reporting, "key", ARGUMENT],
        ["sim-do", "SHOE-1", ARGUMENT, ARGUMENT],
    ],
    "ports": lambda _: [["ports"], ["ports", "--json"]],
    "log": lambda it: [
        ["log", it.reporting, "--once", "--db", "taken.sqlite"],
        ["log", it.shoe, "--once", "--db", "taken2.sqlite"],
        ["log", it.named, "--db", "taken3.sqlite"],
        ["log", it.reporting, "--db", "junk"],
    ],
    "rounds": lambda _: [*_on_logs("rounds"), *_on_logs("rounds", "--with-void")],
    "events": lambda _: _on_logs("events"),
    "incidents": lambda _: _on_logs("incidents"),
    "integrity": lambda _: [
        *_on_logs("integrity", "--limit", "0.5"),
        *(["integrity", "--db", db, "-o", f"out/{db}.html"] for db in _LOGS),
        ["integrity", "--db", "hostile.sqlite", "--rounds", "junk"],
        ["integrity", "--db", "hostile.sqlite", "--wagers", "junk"],
        ["integrity", "--db", "hostile.sqlite", "--known", "junk"],
    ],
    "tables": lambda _: _on_logs("tables"),
    "watch": lambda _: [["watch", "--db", "named.sqlite"]],  # test_tile_text.py has its screen
    "units": lambda _: _on_logs("units"),
    "verify": lambda _: [
        *_on_logs("verify"),
        *_on_logs("verify", "--checkpoints", "kept"),
        ["verify", "junk"],
        ["verify", "hostile.sabot"],
        ["verify", "--db", "hostile.sqlite", "--checkpoints", "junk"],
    ],
    # At an address of no machine: it would go on until Ctrl-C. test_hostile_pages.py has its pages.
    "serve": lambda _: [
        *(["serve", "--db", db, *_NOWHERE] for db in _LOGS),
        ["serve", "--db", "hostile.sqlite", "--listen", f"{NAME}:1", "--plain-http"],
        ["serve", "--db", "hostile.sqlite", "--certificate", NAME, "--private-key", "junk"],
    ],
    # What a database has in it is in test_database_cli.py.
    "database make": lambda _: _at_databases("make"),
    "database migrate": lambda _: _at_databases("migrate"),
    "database grant": lambda _: _at_databases("grant", ARGUMENT, "--may", "read"),
    "database site": lambda _: _at_databases("site", ARGUMENT, "--unit", ARGUMENT),
    "database status": lambda _: _at_databases("status"),
    "database alarms": lambda _: _at_databases("alarms"),
    "database acknowledge": lambda _: _at_databases(
        "acknowledge", "1", "--why", ARGUMENT, "--by", ARGUMENT
    ),
    "database roles": lambda _: _at_databases("roles"),
    "forward": lambda _: (
        [
            ["forward", "--once", "--db", db, "--to", to, "--notary", key]
            for db in _LOGS
            for to, key in (
                (_NO_SERVER, "house.pub.pem"),
                (f"{_NO_SERVER}/{NAME}", "house.pub.pem"),
            )
        ]
        + [
            [
                "forward",
                "--once",
                "--db",
                "hostile.sqlite",
                "--to",
                ARGUMENT,
                "--notary",
                "house.pub.pem",
            ],
            ["forward", "--once", "--db", "hostile.sqlite", "--to", _NO_SERVER, "--notary", NAME],
        ]
    ),
    "notary": lambda _: (
        [
            ["notary", "--once", "--db", db, *_KEY]
            for db in (*_LOGS, _NO_SERVER, f"{_NO_SERVER}/{NAME}")
        ]
        + [["notary", "--once", "--db", _NO_SERVER, "--key", NAME]]
    ),
    "receipts": lambda _: [
        *_on_logs("receipts"),
        ["receipts", "--db", "named.sqlite", "-o", f"{NAME}/receipts"],
        ["receipts", "--db", "named.sqlite", "-o", "junk"],
    ],
    "feed": lambda _: [
        *(["feed", "--once", "--config", "feeds.toml", "--db", db] for db in _LOGS),
        *(["feed", "--config", each] for each in ("hostile-feeds.toml", "junk", NAME)),
    ],
    "users list": lambda _: _on_logs("users", "list"),
    "users add": lambda _: [
        ["users", "add", name, "--role", role, "--db", "named.sqlite"]
        for name in ("ada", ARGUMENT)
        for role in ("administrator", ARGUMENT)
    ],
    "users role": lambda _: [["users", "role", ARGUMENT, "floor", "--db", "hostile.sqlite"]],
    "users password": lambda _: [["users", "password", ARGUMENT, "--db", "hostile.sqlite"]],
    "users close": lambda _: [["users", "close", ARGUMENT, "--db", "hostile.sqlite"]],
    "desk": lambda _: _on_logs("desk"),
    "checkpoints": lambda _: [
        *_on_logs("checkpoints"),
        ["checkpoints", "--db", "named.sqlite", "-o", "out/kept"],
        ["checkpoints", "--db", "named.sqlite", "-o", f"{NAME}/kept"],
    ],
    "export": lambda _: [
        ["export", "--unit", unit, "--shoe", shoe, "--db", db, *_EXPORTED]
        for db, unit in (("hostile.sqlite", UNIT), ("named.sqlite", OVERLONG))
        for shoe in ("1", "9")
    ],
    "prune": lambda _: [
        ["prune", *_KEY, "--keep-days", "1", "--db", db, *more]
        for db in ("hostile.sqlite", "named.sqlite")
        for more in ((), ("--unit", ARGUMENT))
    ],
    "retention": lambda _: [*_on_logs("retention"), ["retention", "--db", "pruned.sqlite"]],
    "rebuild": lambda _: _on_logs("rebuild"),
    "copy": lambda _: [
        ["copy", "--db", "hostile.sqlite", "-o", "copied.sqlite"],
        ["copy", "--db", "named.sqlite", "-o", f"{NAME}/copy"],
    ],
    "replaced": lambda _: [
        ["replaced", unit, "--chain", chain, "--db", "hostile.sqlite", *_KEY]
        for unit in ("SHOE-7", ARGUMENT)
        for chain in ("00" * 16, ARGUMENT)
    ],
    "open-seats": lambda _: [
        [
            "open-seats",
            ARGUMENT,
            "--shoe",
            "1",
            "--seat",
            "1",
            "--order",
            ARGUMENT,
            *halves,
            "--db",
            "hostile.sqlite",
        ]
        for halves in (("--half", NAME, "--half", "junk"), ("--half", "house.pem"))
    ],
    "convert": lambda _: [
        ["convert", "--db", "hostile.sqlite", "--to", "5"],
        ["convert", "--db", "hostile.sqlite"],
        *_on_logs("convert", "--to", "2"),
        ["convert", "--db", _NO_SERVER],
    ],
    "capture": lambda it: [
        ["capture", port, "-o", out, *how]
        for port in (it.shoe, it.reporting, it.named)
        for out in ("out/captures", "spoilt")
        for how in ((), ("--json",))
    ],
    "health": lambda it: (
        [["health", port, "--json"] for port in (it.shoe, it.reporting)]
        + [["health", port] for port in (it.shoe, it.reporting, it.named)]
    ),
    "doctor": lambda it: [
        ["doctor", it.shoe],
        ["doctor", it.reporting],
        ["doctor", it.reporting, "--json"],
        ["doctor", it.named],
        ["doctor", it.reporting, "--db", "hostile.sqlite"],
        ["doctor", it.reporting, "--release", "release"],
    ],
    "read": lambda _: [["read", "junk"]],
    "waveform": lambda _: [["waveform", "7H", "-o", f"out/{NAME}.samples"]],
    "load": lambda it: [["load", it.shoe], ["load", it.reporting], ["load", it.named]],
    "score": lambda _: [
        ["score", "--player", ARGUMENT, "--banker", "KD,7S"],
        ["score", "--game", "blackjack", "--box", ARGUMENT, "--dealer", "6H TC 2D"],
        ["score", "--game", "blackjack", "--box", "TS 9D", "--dealer", ARGUMENT],
    ],
    "odds": lambda _: [["odds", "--game", ARGUMENT]],
    "settle": lambda _: [
        ["settle", "junk"],
        ["settle", "wagers.json"],
        ["settle", "hostile.json"],
        ["settle", "hostile.json", "--db", "named.sqlite", "--unit", OVERLONG],
        ["settle", "hostile.json", "--slip"],
        *(
            ["settle", "--game", "holdem", *words]
            for words in (
                ["junk"],
                [NAME],
                ["hostile-hand.json"],
                ["hostile-hand.json", "--json"],
                ["hostile-hand.json", "--slip"],
                ["hostile-hand.json", "--phh", f"out/{NAME}.phh"],
                ["wrong-hand.json"],
            )
        ),
        *(
            ["settle", "--game", "blackjack", *words]
            for words in (
                ["junk"],
                [NAME],
                ["hostile-table.json"],
                ["hostile-table.json", "--json"],
                ["hostile-table.json", "--slip"],
                ["wrong-table.json"],
                ["wrong-play.json"],
            )
        ),
        ["settle", "--wager", ARGUMENT],
        ["settle", "--wager", f"3 {ARGUMENT} banker 100", "--db", "named.sqlite"],
        ["settle", "--wager", "3 banker 100", "--db", "named.sqlite", "--table", ARGUMENT],
    ],
    "build": lambda _: [["build", "-o", "release", *_KEY], ["build", "-o", "out/x", "--key", NAME]],
    "flash": lambda it: [["flash", it.babbling, "--release", "release", *_PUB]],
    "provision": lambda it: [
        ["provision", port, "--table", table, *_PUB, "--keys", "k", "--commands", "c"]
        for port in (it.shoe, it.named)
        for table in ("12", ARGUMENT)
    ],
    "update": lambda it: [
        ["update", it.shoe, "--release", "release"],
        ["update", it.shoe, it.named, "--release", "release"],
        ["update", it.shoe, "--release", "spoilt"],
    ],
    "debug": lambda it: [["debug", it.shoe], ["debug", it.named]],
    "games": lambda _: [["games"]],
    "games show": lambda _: [["games", "show", ARGUMENT]],
    "keys release make": lambda _: [["keys", "release", "make", "-o", f"out/{NAME}"]],
    "keys release show": lambda _: [
        ["keys", "release", "show", key] for key in (NAME, "junk", "house.pem", "house.pub.pem")
    ],
    "keys operator make": lambda _: [["keys", "operator", "make", "-o", f"out/{NAME}"]],
    "keys operator show": lambda _: [["keys", "operator", "show", NAME]],
    "keys notary make": lambda _: [["keys", "notary", "make", "-o", f"out/{NAME}"]],
    "keys notary show": lambda _: [["keys", "notary", "show", NAME]],
    "keys escrow make": lambda _: [["keys", "escrow", "make", "-o", f"out/{NAME}"]],
    "release show": lambda _: [
        ["release", "show", folder, *how]
        for folder in ("release", "spoilt", NAME)
        for how in ((), ("--json",), _PUB)
    ],
    "release compare": lambda _: [
        ["release", "compare", "release", folder, *how]
        for folder in ("release", "spoilt", NAME)
        for how in ((), ("--json",))
    ],
    "hil": lambda _: [["hil", "-k", ARGUMENT], ["hil", "--report", "report"]],
    "hil compare": lambda _: [["hil", "compare", "report", "report2"]],
    "hil check-bench": lambda it: [["hil", "check-bench", ARGUMENT]],
}
"""The command lines that each command is driven with. A new command must have some."""


def test_every_command_is_driven() -> None:
    commands = {" ".join(words) for words in _commands()}
    missing, gone = sorted(commands - set(DRIVEN)), sorted(set(DRIVEN) - commands)
    assert not missing, f"add command lines of {missing} to DRIVEN in {__file__}"
    assert not gone, f"there is no command {gone}: take it out of DRIVEN in {__file__}"


@pytest.mark.parametrize("command", DRIVEN)
def test_a_command_prints_and_writes_only_printable_text(
    command: str, adversary: Adversary, capfd: pytest.CaptureFixture[str]
) -> None:
    escaped = False
    for arguments in [*DRIVEN[command](adversary), *_hostile_options(command)]:
        out, problems, code = _run(arguments)
        of_processes = capfd.readouterr()  # what a child process has printed, as `hil` has
        out, problems = out + of_processes.out, problems + of_processes.err
        assert "Traceback" not in problems and code != 15, (arguments, problems)
        assert seen_by(out) == [] and seen_by(problems) == [], (arguments, out, problems)
        escaped = escaped or "\\x1b" in out + problems
    for file in [path for path in Path("out").rglob("*") if path.is_file()]:
        if file.suffix not in _OURS:
            assert seen_by(file.read_text()) == [], file
    assert escaped, "no hostile text has come as far as the output: this shows nothing"


def _hostile_options(command: str) -> Iterator[list[str]]:
    """The command line with a hostile value for each option and argument, one at a time, and with
    a hostile word that it does not know."""
    words = command.split()
    found = imported(words[0])
    for word in words[1:]:
        found = found.commands[word]  # type: ignore[union-attr, assignment]
    # These would run for minutes with the value: the one before ends them at once.
    early = {"demo": ["--deck", "none"], "sim": ["--deck", "none"]}.get(command, [])
    if command == "hil":
        early = ["-k", "no such test"]
    for parameter in found.params:
        if not parameter.name or parameter.name == "help" or getattr(parameter, "is_flag", False):
            continue
        for value in (ARGUMENT, NAME):
            if parameter.opts and parameter.opts[0].startswith("-"):
                yield [*words, *early, f"{parameter.opts[-1]}={value}"]
            else:
                yield [*words, *early, value]
    yield [*words, *early, f"--{ARGUMENT}"]
    yield [*words, *early, ARGUMENT, ARGUMENT, ARGUMENT, ARGUMENT]


def _run(arguments: list[str]) -> tuple[str, str, object]:
    """Output, standard error and exit code of `sabot` with these arguments."""
    out, problems = io.StringIO(), io.StringIO()
    before = sys.excepthook
    with (
        redirect_stdout(out),
        redirect_stderr(problems),
        patch.object(sys, "argv", ["sabot", *arguments]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"four words of hers\n"))),
    ):
        try:
            run()
        except SystemExit as end:
            return out.getvalue(), problems.getvalue(), end.code
        finally:
            sys.excepthook = before
    return out.getvalue(), problems.getvalue(), 0


@pytest.fixture(scope="module")
def hostile_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hostile files."""
    folder = tmp_path_factory.mktemp("hostile")
    with chdir(folder):
        Path("out").mkdir()
        Path("junk").write_text(OVERLONG + "\n" + TEXT)
        _make_logs()
        _make_keys_and_release()
        _make_documents()
    return folder


@pytest.fixture(scope="module")
def passes() -> dict[int, KeptPass]:
    random = np.random.default_rng(3)
    return {
        1: made_of(noisy_pass(random, NOISE["clean"], 32, 0, "steady"), 0),
        2: made_of(faulty_pass(random, NOISE["clean"], "no_code", 0, "steady"), 0),
    }


@pytest.fixture
def adversary(
    hostile_files: Path,
    passes: dict[int, KeptPass],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Adversary]:
    """A copy of the folder, which is the current one, and hostile shoes."""
    monkeypatch.chdir(copytree(hostile_files, tmp_path / "here"))
    monkeypatch.setenv("SABOT_PASSPHRASE", "a passphrase of a test")
    monkeypatch.setenv("COLUMNS", "100")
    board = SimpleNamespace(vid=0x2E8A, serial_number=OVERLONG, device="/dev/gone", product=TEXT)
    monkeypatch.setattr(list_ports, "comports", lambda: [board])
    dealt = [bytes(record) for record in hostile_log().records]
    made = [
        HostileShoe(passes, dealt),
        HostileShoe(passes, dealt, refuses=False),
        HostileShoe(passes, dealt, OVERLONG),
    ]
    shoes = [answering_shoe(each) for each in made]
    shoes.append(Answering(lambda data: TEXT.encode() if data else b""))
    published = runtime.publish(UNIT, shoes[0].path)
    yield Adversary(*(each.path for each in shoes))
    runtime.withdraw(published)
    for each in shoes:
        each.close()


def _make_logs() -> None:
    """Logs of a shoe with hostile texts, of units with hostile names, and damaged ones."""
    hostile = stored(hostile_log().records)
    good = stored(FirmwareLog().deal_shoe(shuffled_names(5)[:60]).records)
    contents = {
        "hostile.sqlite": {UNIT: hostile},
        "named.sqlite": {TEXT: good, OVERLONG: hostile, UNIT: good},
        "damaged.sqlite": {TEXT: good},
        "pruned.sqlite": {UNIT: good},
    }
    for name, units in contents.items():
        with new_log(Path(name)) as store:
            for unit, records in units.items():
                store.append(unit, records)
    with closing(sqlite3.connect("damaged.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE records SET record = ?", (TEXT.encode(),))
        connection.execute("UPDATE events SET kind = ?", (TEXT,))
        connection.execute("INSERT INTO about VALUES ('retention', ?)", (TEXT,))
        connection.execute("INSERT INTO tombstones VALUES (1, 1, 1, ?)", (TEXT.encode(),))
    with closing(sqlite3.connect("hostile.sqlite", isolation_level=None)) as connection:
        connection.execute("INSERT INTO desk_key VALUES (4, x'00')")
        connection.execute("INSERT INTO users VALUES (?, ?, ?, 0, 1 << 62)", (TEXT, TEXT, TEXT))
        for number, (by, kind) in enumerate(((TEXT, "signed_out"), ("ada", TEXT), (TEXT, TEXT)), 1):
            note = cbor2.dumps([number, 1 << 62, by, kind, {TEXT: TEXT}], canonical=True)
            connection.execute("INSERT INTO desk VALUES (?, ?, zeroblob(16))", (number, note))
        detail = "".join(each for each in TEXT if each.isprintable())
        fields = {"id": detail[:100], "remark": detail[:200]}
        note = cbor2.dumps([4, 1, detail[:40], "acknowledged", fields], canonical=True)
        connection.execute("INSERT INTO desk VALUES (4, ?, zeroblob(16))", (note,))


def _make_keys_and_release() -> None:
    signing.make_key_pair(Path("house"))
    built = releases.build("sim", HOUSE)
    releases.save(built, Path("release"))
    Path("spoilt").mkdir()
    Path("spoilt/manifest.cbor").write_text(TEXT)
    Path("spoilt/captures.json").write_text(json.dumps([{"recording": TEXT, "picture": TEXT}]))


def _make_documents() -> None:
    wager = {"area": 1, "player": TEXT, "wager": TEXT, "amount_cents": 100}
    document = {"positions": [wager], "round": {"player": [TEXT], "banker": []}, TEXT: TEXT}
    Path("hostile.json").write_text(json.dumps(document))
    Path("wagers.json").write_text(TEXT)
    quoted = json.dumps(ARGUMENT)
    # One feed of no unit: nothing is sent.
    fields = {"name": "a", "kind": "webhook", "address": "http://localhost:1", "secret": "secret"}
    feed = "".join(f'{key} = "{value}"\n' for key, value in fields.items())
    Path("feeds.toml").write_text(f"[[feed]]\n{feed}units = ['-']\n")
    Path("secret").write_text(f"whsec_{'A' * 32}")
    Path("secret").chmod(0o600)
    hostile = "".join(f"{key} = {quoted}\n" for key in [*fields, "ca", "token", "units", quoted])
    Path("hostile-feeds.toml").write_text(f"[[feed]]\n{hostile}[{quoted}]\n")
    name = "".join(each for each in TEXT if each.isprintable())[:40]
    seats = [
        {"seat": at, "player": name, "stakes_cents": 1000, "cards": hole}
        for at, hole in ((1, ["AS", "KD"]), (2, ["AC", "KH"]))
    ]
    hand = {"name": name, "button": 1, "seats": seats}
    hand["betting"] = {"preflop": [{"seat": 1, "says": "all_in"}, {"seat": 2, "says": "call"}]}
    hand["board"] = ["2C", "7D", "9H", "JC", "3S"]
    Path("hostile-hand.json").write_text(json.dumps(hand))
    Path("wrong-hand.json").write_text(json.dumps(hand | {"house": {TEXT[:40]: 1}}))
    box = {"box": 1, "player": name, "wager_cents": 1000, "cards": ["AS", "KD"]}
    table = {"name": name, "dealer": ["6H", "TC"], "boxes": [box]}
    Path("hostile-table.json").write_text(json.dumps(table))
    Path("wrong-table.json").write_text(json.dumps(table | {"house": {TEXT[:40]: 1}}))
    Path("wrong-play.json").write_text(json.dumps(table | {"boxes": [box | {"play": [TEXT]}]}))
    checkpoint = {"unit": TEXT, "shoe": 1, "records": 1, "mac": "00" * 16, "time": TEXT}
    Path("kept").write_text(json.dumps(checkpoint) + "\n")
    measured = [Measurement(TEXT, 1.0, TEXT, 2.0, None)]
    for name, outcome in (("report", "passed"), ("report2", "failed")):
        Path(name).mkdir()
        result = Result(TEXT, outcome, 1.0, TEXT, TEXT, measured, [(TEXT, TEXT)])
        write_results(SuiteRun({TEXT: TEXT}, [result], TEXT), Path(name))
