"""docs/json.md and the commands' output have the same fields, with the same types."""

import json
import random
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from host.tests.support.chained import DAY_MS, FIRST_KEY, ChainedLog
from host.tests.support.commands import SHORT_DECK, dealt
from host.tests.support.escrowed import EscrowedLog
from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.keeping_shoe import KeepingShoe, made_of
from host.tests.support.logged_cards import LoggedCards
from host.tests.support.naive_shoe import answering_shoe
from host.tests.support.postgres import Database
from host.tests.support.table import BANKER_WINS, TIE, line, seat
from sabot.cli import app
from sabot.cli.commands import MODULES, imported
from sabot.desk.desk import Desk
from sabot.desk.notes import FIELDS
from sabot.keys import chain_keys as unit_keys
from sabot.keys import escrow, signing
from sabot.log.store import open_store
from sabot.receipts.receipt import NUMBERS, make
from sabot.receipts.statement import SiteCheckpoint
from sabot.release import build as releases
from sabot.release.compiling import modules
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import faulty_pass
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases as made
from sabot_hil.report import results
from sabot_protocol import cards, events

_DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "json.md"
_TYPES = {dict: "object", list: "list", str: "text", bool: "flag", int: "integer"}
_TYPES |= {float: "number", type(None): "null"}

_FLAG = "true or false"

_BY_NAME = {
    ("score", "wagers"),
    ("odds", "wagers"),
    ("odds BLACKJACK", "wagers"),
    ("settle", "handlers"),
    ("odds", "wagers.*.pays"),
    ("release show", "built_from"),
    ("games", "wagers[].pays"),
    ("games show", "wagers[].pays"),
}
"""Objects whose names are not fields, but names of wagers, prizes or hands."""

_OPAQUE = {("events", "fields"), ("settle", "round"), ("desk", "fields")}
"""Objects documented elsewhere: the fields of each kind of event in protocol/README.md, a round of
the log at `sabot rounds`, the fields of each kind of note below the table."""

_STEPS = ("returned", "collected", "vigorish", "paid", "pushed")
"""Lists of `sabot settle` that have the same fields, which are documented once."""

Fields = dict[str, set[str]]
"""Types by field; a field in a list is `list[].field`, one of any name `object.*`."""


def _documented() -> dict[str, Fields]:
    """The fields of each section of the document."""
    found: dict[str, Fields] = {}
    for section in re.split(r"^## ", _DOCUMENT.read_text(), flags=re.MULTILINE)[1:]:
        title = re.match(r"`sabot (.+)`", section)
        if title is not None:
            rows = re.findall(r"^\| `(\S+)` \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
            assert section.count("\n| `") == len(rows) == len(dict(row[:2] for row in rows))
            assert title[1] not in found, f"{title[1]} has two sections"
            found[title[1]] = {field: _types(types) for field, types, _ in rows}
    return found


def _types(cell: str) -> set[str]:
    """The types in a cell such as "text or null, time"."""
    return set(cell.partition(",")[0].replace(_FLAG, "flag").split(" or "))


def _add(fields: Fields, command: str, path: str, value: Any) -> None:
    """Add the type of a value, and of all values in it. An empty list adds no type."""
    types = fields[path]
    if not isinstance(value, list):
        types.add(_TYPES[type(value)])
        if isinstance(value, dict) and (command, path) not in _OPAQUE:
            _add_object(fields, command, path, value)
        return
    for each in value:
        if isinstance(each, dict):
            types.add("list of objects")
            list_ = "steps" if command == "settle" and path in _STEPS else path
            _add_object(fields, command, f"{list_}[]", each)
        else:
            types.add(f"list of {_TYPES[type(each)]}")


def _add_object(fields: Fields, command: str, path: str, value: dict[str, Any]) -> None:
    for name, inner in value.items():
        here = "*" if (command, path) in _BY_NAME else name
        _add(fields, command, f"{path}.{here}" if path else here, inner)


def _run(*arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    done = CliRunner().invoke(app(), [*arguments])
    assert done.exit_code in codes, (done.output, done.exception)
    return done.stdout


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with logs: `chained` has its keys, `timeless` no clock, `log` errors and
    voided rounds."""
    monkeypatch.chdir(tmp_path)
    now = time.time_ns() // 1_000_000
    log = ChainedLog(unix_ms=now - 90 * DAY_MS).power_on().load_game()
    log.deal().wait(30 * DAY_MS).deal().wait(30 * DAY_MS).deal()
    log.record(events.LONG_PASS, cards.number_of(SHORT_DECK.split()[-1]), 5000, round_=6)
    timeless = ChainedLog(unix_ms=None).power_on().load_game().deal()
    timeless.record(events.LONG_PASS, cards.number_of(SHORT_DECK.split()[-1]), 5000, round_=6)
    for name, each in (("chained", log), ("timeless", timeless)):
        with new_log(tmp_path / name) as store:
            store.append("U1", each.stored())
    unit_keys.add(tmp_path / "keys", "U1", FIRST_KEY)
    signing.make_key_pair(tmp_path / "operator")
    bad = FirmwareLog().load().draw("AS", "2C", "9S", "KC", "KD", "7D", "next")
    bad.draw("KS", "7H", "blank", "!void", "next", "?jam", "!9S").power_on()
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(bad.records))
    return tmp_path


def _keep_receipts(path: Path) -> None:
    """Put a receipt into a log, and one that cannot be read."""
    key = signing.load_private(path.parent / "operator.pem")
    with open_store(path) as store:
        ((_, _, mac),) = store.raw("U1", 9, 9)
        values = {"records": 9, "unix_ms": 1_795_000_000_000, "checked": NUMBERS}
        receipt = make(key, unit="U1", number=9, mac=mac, **values)  # type: ignore[arg-type]
        store.keep_receipts("U1", [(9, receipt), (10, b"none")])


def _of_a_log(house: Path) -> Iterator[tuple[str, str]]:
    yield "rounds", _run("rounds", "--db", "log", "--with-void", "--json")
    for db in ("log", "chained"):
        yield "events", _run("events", "--db", db, "--json")
        yield "units", _run("units", "--db", db, "--json")
        yield "tables", _run("tables", "--db", db, "--json")
    for db in ("log", "chained", "timeless"):
        yield "incidents", _run("incidents", "--db", db, "--json")
    yield "integrity", _of_planted_cards(house / "planted")
    with open_store(Path("log")) as store:
        last = store.last_number("U1")
    for to in ("5", "6", "6"):
        yield "convert", _run("convert", "--db", "log", "--to", to, "--json")
    another = FirmwareLog(bytes(32))
    replaced = ("replaced", "U1", "--db", "log", "--json")
    for _ in range(2):
        given = ("--chain", another.chain.id.hex(), "--key", "operator.pem", "--by", "ada")
        yield "replaced", _run(*replaced, *given)
        yield "replaced", _run(*replaced, "--undo")
    _run(*replaced, *given)
    with new_log(house / "log") as store:
        assert store.last_number("U1") == last
        store.append("U1~2", stored(another.load().draw("AS", "2C", "9S", "KC").records))
    yield "units", _run("units", "--db", "log", "--json")
    yield "incidents", _run("incidents", "--db", "log", "--json")
    yield "checkpoints", _run("checkpoints", "--db", "chained", "--json")
    _keep_receipts(house / "chained")
    yield "receipts", _run("receipts", "--db", "chained", "--json")
    of_site = SiteCheckpoint("U1", 9, bytes(16), 9, "lisboa", 1_795_000_000_000)
    yield "receipts", json.dumps(of_site.as_json())
    with open_store(house / "chained") as store:
        Desk.make(store, house / "keys", "ada", "four words of hers")
    yield "users list", _run("users", "list", "--db", "chained", "--json")
    yield "desk", _run("desk", "--db", "chained", "--json")
    yield "verify", _run("verify", "--db", "log", "--json", codes=(1,))
    # One of its receipts is not a receipt.
    yield "verify", _run("verify", "--db", "chained", "--keys", "keys", "--json", codes=(1,))
    key = ("--key", "operator.pem")
    for db in ("chained", "timeless"):
        bundle = f"{db}.sabot"
        of_shoe = ("--db", db, "--unit", "U1", "--shoe", "1", *key, "--json")
        yield "export", _run("export", *of_shoe, "-o", bundle)
        yield "export", _run("export", *of_shoe, "-o", bundle, "--html", f"{db}.html")
        yield "verify BUNDLE", _run("verify", bundle, "--json", codes=(1,))
    _run("retention", "--db", "chained", "--minimum-days", "30")
    with closing(sqlite3.connect(house / "chained", isolation_level=None)) as connection:
        connection.execute(
            "UPDATE records SET received_unix_ms = received_unix_ms - ?", (90 * DAY_MS,)
        )
    for days in ("4500", "45"):
        yield "prune", _run("prune", "--db", "chained", "--keep-days", days, *key, "--json")
    yield "retention", _run("retention", "--db", "chained", "--json")
    yield "verify", _run("verify", "--db", "chained", "--json", codes=(1,))


def _of_planted_cards(log: Path) -> str:
    """What is found in a log in which one shoe was hardly shuffled, and had a ninth ace."""
    cards = random.Random(38).sample([*range(52)] * 8, 416)
    with open_store(log, create=True) as store:
        shoes = LoggedCards(store, "U1")
        shoes.deal(cards)
        shoes.deal([0 if card == 1 else card for card in cards])
        shoes.save()
    return _run("integrity", "--db", "planted", "--json", codes=(1,))


def _of_an_escrow(house: Path) -> Iterator[tuple[str, str]]:
    made = [escrow.make_half(house / name, b"") for name in ("ann", "bob")]
    public = b"".join(escrow.load_public_half(each) for _, each, _ in made)
    log = EscrowedLog(public, hole_cards="never").seat(2).play("AS KS 2C 3C next reveal")
    with new_log(house / "hands") as store:
        store.append("U1", stored(log.records))
        store.keep_game(log.game.document)
        Desk.make(store, house / "hand keys", "ada", "four words of hers")
    both = ("--half", "ann.pem", "--half", "bob.pem", "--order", "order 7", "--db", "hands")
    yield "open-seats", _run("open-seats", "U1", "--shoe", "1", "--seat", "2", *both, "--json")
    yield "desk", _run("desk", "--db", "hands", "--json")
    yield "verify", _run("verify", "--db", "hands", "--json", codes=(1,))


def _of_games(house: Path) -> Iterator[tuple[str, str]]:
    hands = ("--player", "2S,KD,4H", "--banker", "4C,KH,3D")
    yield "games", _run("games", "--json")
    for game in ("mini", "mini-pairs", "pa-midi", "ez-mini", "holdem", "blackjack"):
        yield "games show", _run("games", "show", game, "--json")
    yield "score", _run("score", "--game", "ez-mini", *hands, "--json")
    yield "odds", _run("odds", "--game", "mini-pairs", "--decks", "1", "--json")
    yield "odds", _run("odds", "--game", "md-midi", "--decks", "1", "--json")
    whole_table = [
        seat(9, "Ida", player=600_000),
        seat(3, "Ann", banker=10_000, tie=1000),
        *(seat(number, f"P{number}", player=1000) for number in (1, 2, 4, 5, 6, 7, 8)),
        line(2, "Eve", banker=2000),
    ]
    for game, positions, hands, when in (
        ("mini", whole_table, BANKER_WINS, "marked"),
        ("mini", whole_table, TIE, "at_once"),
        ("mini-pairs", [seat(3, banker=500)], BANKER_WINS, "marked"),
        ("pa-midi", [seat(3, banker=5000)], BANKER_WINS, "at_once"),
        ("mini", [seat(3, tie=500), line(2, "Eve", banker=2000)], BANKER_WINS, "at_once"),
    ):
        given = {
            "positions": positions,
            "round": {"player": hands[0].split(), "banker": hands[1].split()},
            "house": {"vigorish_when": when},
        }
        if when == "marked":
            owed = {"seat": 1, "player": "P1", "owed_cents": 25, "shoe": 4}
            given["markers"] = [owed]
        (house / "wagers.json").write_text(json.dumps(given))
        yield "settle", _run("settle", "wagers.json", "--game", game, "--json", codes=(0, 1))
    logged = ("--db", "log", "--round", "1", "--game", "mini")
    yield "settle", _run("settle", "--wager", "1 player 100", *logged, "--json")
    examples = _DOCUMENT.parent / "example"
    for name in ("hand.json", "hand-twice.json"):
        hand = ("--game", "holdem", str(examples / name))
        yield "settle HAND", _run("settle", *hand, "--json")
    folded = json.loads((examples / "hand-twice.json").read_text())
    for key in ("board", "run_twice", "pots_cents"):
        del folded[key]
    folded["betting"] = {"preflop": [{"seat": 4, "says": "fold"}]}
    (house / "hand.json").write_text(json.dumps(folded))
    yield "settle HAND", _run("settle", "--game", "holdem", "hand.json", "--json")
    yield from _of_blackjack(house, examples)


def _of_blackjack(house: Path, examples: Path) -> Iterator[tuple[str, str]]:
    at = ("--game", "blackjack", "--json")
    yield "settle TABLE", _run("settle", *at, str(examples / "table.json"))
    without_name = json.loads((examples / "table.json").read_text())
    del without_name["name"]
    (house / "table.json").write_text(json.dumps(without_name))
    yield "settle TABLE", _run("settle", *at, "table.json")
    given = ("--box", "8S TD / 8H 3C 9D", "--box", "AS KD", "--dealer", "6H TC 2D")
    yield "score BLACKJACK", _run("score", *at, *given)
    yield "odds BLACKJACK", _run("odds", *at, "--decks", "1")


def _of_releases(house: Path) -> Iterator[tuple[str, str]]:
    signing.make_key_pair(house / "builder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "modules_of", made.compiled)
        releases.save(releases.build("sim", made.HOUSE), house / "one")
        how = ("--key", str(house / "builder.pem"), "--board", "sim", "--json")
        yield "build", _run("build", "-o", str(house / "built"), *how)
    public = house / "house.pub.pem"
    public.write_bytes(signing.pem_of(signing.public_of(made.HOUSE)))
    yield "release show", _run("release", "show", "one", "--json")
    yield "release show", _run("release", "show", "one", "--house", str(public), "--json")
    (house / "list.csv").write_text("board,unit,table\nNONE-1,SHOE-1,1\n")
    listed = ("--list", "list.csv", "--house", str(public))
    yield "provision", _run("provision", *listed, "--json", codes=(1,))  # an exception here
    changed = dict(releases.load(house / "one").files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            releases, "modules_of", lambda board: {**changed, "sabot_firmware/z.mpy": b"z"}
        )
        sources = {**modules.sources_of("sim"), "sabot_firmware/z.py": b"z"}
        patch.setattr(releases, "sources_of", lambda board: sources)
        releases.save(releases.build("sim", made.HOUSE), house / "two")
    for pair in (("one", "two"), ("two", "one")):
        yield "release compare", _run("release", "compare", *pair, "--json", codes=(1,))


def _of_reports(house: Path) -> Iterator[tuple[str, str]]:
    for name, outcome in (("before", "passed"), ("after", "failed")):
        (house / name).mkdir()
        run = results.SuiteRun({"Target": "sim"}, [results.Result("a test", outcome, 1.0)])
        results.write_results(run, house / name)
    yield "hil compare", _run("hil", "compare", "before", "after", "--json", codes=(1,))


def _of_shoes(house: Path) -> Iterator[tuple[str, str]]:
    generator = np.random.default_rng(3)
    passes = {
        1: noisy_pass(generator, NOISE["clean"], 32, 0, "steady"),
        2: faulty_pass(generator, NOISE["clean"], "no_code", 0, "steady"),
    }
    kept = {number: made_of(levels, 0) for number, levels in passes.items()}
    with answering_shoe(KeepingShoe(kept)) as port:
        yield "capture", _run("capture", port.path, "-o", "captures", "--json")
    for recording in house.glob("captures/*.samples"):
        yield "read", _run("read", str(recording), "--json")
    with dealt(house, "SHOE-7"):
        yield "ports", _run("ports", "--json")
        yield "health", _run("health", "SHOE-7", "--json")
        yield "doctor", _run("doctor", "SHOE-7", "--json", codes=(0, 1))
        yield "log", _run("log", "SHOE-7", "--db", "logged", "--once", "--json")
    with SimulatedShoe("SHOE-8") as shoe:
        shoe.power_on()
        yield "load", _run("load", "SHOE-8", "--game", "ez-mini", "--json")
        release = ("--release", "one", "--json")
        yield "flash", _run("flash", "SHOE-8", "--house", "house.pub.pem", *release, codes=(1,))
        yield "update", _run("update", "SHOE-8", *release, codes=(1,))


def _of_a_database(database: Database) -> Iterator[tuple[str, str]]:
    place = str(database.place())
    database.allow("site_1", "U1", "U2")
    yield "database status", _run("database", "status", place, "--json")
    with new_log(database.place()) as store:
        store.append("U1", stored(FirmwareLog().records))
        with database.connect() as session:
            for record in (None, b"record"):
                session.execute("SELECT sabot.alarm('U1', 1, 'a', 'b', %s, %s)", (record, record))
        with open_store(Path("chained")) as receipted:
            store.keep_receipts("U1", list(receipted.receipts("U1")))
    yield "database status", _run("database", "status", place, "--json")
    with database.connect() as session:
        session.execute("DELETE FROM sabot.receipts WHERE number = 10")
    yield "database status", _run("database", "status", place, "--json")
    yield "database alarms", _run("database", "alarms", place, "--json", codes=(1,))
    _run("database", "acknowledge", place, "1", "--why", "looked at", "--by", "Anna")
    yield "database alarms", _run("database", "alarms", place, "--all", "--json", codes=(1,))
    yield "database roles", _run("database", "roles", place, "--json")
    with database.connect("postgres") as session:
        session.execute("SET session_replication_role = replica")
        session.execute("INSERT INTO sabot.missing VALUES (1, 1, 1, 1)")
    yield "database status", _run("database", "status", place, "--json", codes=(1,))


def _printed(house: Path, database: Database) -> Iterator[tuple[str, str]]:
    for each in (_of_a_log, _of_an_escrow, _of_games, _of_releases, _of_reports, _of_shoes):
        yield from each(house)
    yield from _of_a_database(database)


def _known(type_: str, documented: set[str]) -> bool:
    return type_ in documented or (type_.startswith("list of") and "list" in documented)


@pytest.mark.slow
def test_the_documented_fields_are_the_printed_fields(house: Path, database: Database) -> None:
    documented = _documented()
    printed: dict[str, Fields] = defaultdict(lambda: defaultdict(set))
    for command, lines in _printed(house, database):
        for each_line in lines.splitlines():
            value = json.loads(each_line)
            for each in value if isinstance(value, list) else [value]:
                _add_object(printed[command], command, "", each)
    not_run = sorted(set(documented) - set(printed))
    assert not not_run, f"docs/json.md has {not_run}: add a line to {__file__} that runs it"
    assert set(printed) <= set(documented), f"docs/json.md lacks {set(printed) - set(documented)}"
    for command, fields in printed.items():
        assert set(fields) == set(documented[command]), command
        for field, types in fields.items():
            wrong = {each for each in types if not _known(each, documented[command][field])}
            assert not wrong, f"{command}: {field}"


def test_every_command_that_prints_json_is_documented() -> None:
    found = set()
    commands: dict[str, Any] = {name: imported(name) for name in MODULES}
    while commands:
        name, command = commands.popitem()
        if any("--json" in parameter.opts for parameter in command.params):
            found.add(name)
        commands |= {
            f"{name} {own}": each for own, each in getattr(command, "commands", {}).items()
        }
    documented = {re.sub(" [A-Z]+$", "", name) for name in _documented()}
    missing = sorted(found - documented)
    assert not missing, f"docs/json.md: add a section with the fields of {missing} --json"
    assert documented <= found, f"docs/json.md: {documented - found} prints no JSON"


def test_the_fields_of_every_kind_of_note_are_documented() -> None:
    (section,) = re.findall(
        r"^Kinds and their fields: (.+?)\n\n", _DOCUMENT.read_text(), re.M | re.S
    )
    kinds = dict(re.findall(r"`(\w+)`\s\((.+?)\)", section.partition("`password` is")[0], re.S))
    assert kinds.keys() == FIELDS.keys()
    for kind, words in kinds.items():
        named = set(re.findall(r"`(\w+)`", words)) - {"bundle", "page"}
        assert named == FIELDS[kind].keys(), kind


def test_a_new_field_is_found() -> None:
    """The comparison sees a field that is new, in a list, in a map and in a list of the steps."""
    fields: Fields = defaultdict(set)
    _add_object(fields, "settle", "", {"paid": [{"new": 1}], "a": {"b": [None]}, "c": []})
    assert fields == {
        "paid": {"list of objects"},
        "steps[].new": {"integer"},
        "a": {"object"},
        "a.b": {"list of null"},
        "c": set(),
    }
