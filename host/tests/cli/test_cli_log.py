"""`sabot sim`, `log`, `demo` and `ports` as processes: from the cards to a log that verifies."""

import json
import re
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import (
    KNOWN_ROUNDS,
    SABOT,
    TIMEOUT_S,
    dealt,
    done_here,
    environment,
    running,
    short_deck,
    simulating,
)
from host.tests.support.helpers import framed, new_log
from host.tests.support.naive_shoe import KEY, Answering, NaiveShoe, Relay, answering_shoe
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import verify
from sabot.cli import app
from sabot.link import runtime, wire
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.log.logger import Logger, LogWatcher
from sabot.log.readers import Readers
from sabot.log.rounds import Round, rounds_of
from sabot.log.store import Filter, open_store
from sabot.sim.process import SimulatedShoe
from sabot_protocol import VERSION, messages
from sabot_protocol.frame import FrameReader

pytestmark = pytest.mark.slow

ISO = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ")
ENDED_S = 60.0  # at once: on a busy machine a process takes seconds to end


def rounds_in(folder: Path, db: str = "log.sqlite") -> list[Round]:
    """The rounds in a log, in the order of units and numbers."""
    with open_store(folder / db) as store:
        return [
            each
            for unit in store.units()
            for each in rounds_of(unit, (row.event() for row in store.rows(Filter(unit=unit))))
        ]


def outcomes_in(folder: Path, db: str = "log.sqlite") -> list[tuple[object, ...]]:
    """The rounds in a log, in the form of KNOWN_ROUNDS."""
    return [
        (
            " ".join(each.player), " ".join(each.banker), each.player_total, each.banker_total,
            each.winner, each.natural,
        )
        for each in rounds_in(folder, db)
    ]  # fmt: skip


def findings_in(folder: Path, db: str = "log.sqlite") -> list[str]:
    """The kinds of findings in a log, except the missing keys: no one kept the shoes' keys."""
    with open_store(folder / db) as store:
        kinds = [finding.kind for finding in verify(store, Summary())]
    return [kind for kind in kinds if kind != "no_key"]


def log_once(folder: Path, shoe: SimulatedShoe, db: str = "log.sqlite") -> None:
    """Do what `sabot log --once` does, within this process."""
    with new_log(folder / db) as store:
        logger = Logger(store, [shoe.port], LogWatcher(), once=True)
        logger.start()
        assert logger.wait(TIMEOUT_S) and not logger.failures


def test_known_cards_become_known_rounds(tmp_path: Path) -> None:
    with simulating(tmp_path, "U7"):
        done = done_here(tmp_path, "log", "U7", "--once", "--db", "log.sqlite")
    events = [-1]
    listed = done_here(tmp_path, "rounds", "--db", "log.sqlite", "--json").stdout
    for number, line in enumerate(listed.splitlines(), 1):
        each = json.loads(line)
        player, banker, player_total, banker_total, winner, natural = KNOWN_ROUNDS[number - 1]
        started, ended = each.pop("started"), each.pop("ended")
        assert ISO.fullmatch(started) and ISO.fullmatch(ended) and started <= ended
        events += [each.pop("first_event"), each.pop("last_event")]
        assert each == {
            "unit": "U7", "table": "", "shoe": 1, "round": number, "void": None, "ghost_hand": None,
            "not_understood": None,
            "player": player.split(), "banker": banker.split(), "player_total": player_total,
            "banker_total": banker_total, "winner": winner, "natural": natural, "by_hand": [],
            "sealed": 0, "hits": [], "board_number": 1,
        }  # fmt: skip
    assert events == sorted(set(events)) and len(events) == 13
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert all(line.startswith(f"U7 shoe 1 round  {n}  P ") for n, line in enumerate(lines, 1))
    assert "U7 attached" in done.stderr
    verified = json.loads(done_here(tmp_path, "verify", "--db", "log.sqlite", "--json").stdout)
    assert verified["ok"] and verified["findings"] == []


def test_sim_prints_only_its_port_to_standard_output(tmp_path: Path) -> None:
    with simulating(tmp_path, "U7") as sim:
        sim.wait_for_line("Simulated shoe U7")
        port = Path(sim.first_line())
        assert stat.S_ISCHR(port.stat().st_mode)
        assert sim.lines == [str(port)]
        done_here(tmp_path, "log", str(port), "--once")
    assert len(rounds_in(tmp_path, "sabot.sqlite")) == 6


def test_a_shoe_is_logged_over_the_network(tmp_path: Path) -> None:
    with dealt(tmp_path, "U7") as shoe, Relay(shoe.port) as relay:
        done_here(tmp_path, "log", relay.url, "--once", "--db", "log.sqlite")
    assert outcomes_in(tmp_path) == KNOWN_ROUNDS


def test_logging_again_changes_nothing(tmp_path: Path) -> None:
    with dealt(tmp_path, "U7") as shoe:
        log_once(tmp_path, shoe)
        before = list(open_store(tmp_path / "log.sqlite").rows())
        with running(tmp_path, "log", "U7", "--db", "log.sqlite") as log:
            log.wait_for_line("U7 attached")
            assert log.end(ENDED_S) == 0
    after = list(open_store(tmp_path / "log.sqlite").rows())
    assert after[: len(before)] == before
    # A deck as short as this leaves cards missing: the supervisor's key ends that.
    assert {row.kind for row in after[len(before) :]} <= {"clock_set", "key", "error_cleared"}
    assert findings_in(tmp_path) == []


def test_the_same_unit_goes_on_with_its_memory(tmp_path: Path) -> None:
    with dealt(tmp_path, "U7", tmp_path / "memory") as shoe:
        log_once(tmp_path, shoe)
    with simulating(tmp_path, "U7", "--state", "memory"):
        done_here(tmp_path, "log", "U7", "--once", "--db", "log.sqlite")
    assert outcomes_in(tmp_path) == KNOWN_ROUNDS * 2
    assert [each.shoe for each in rounds_in(tmp_path)] == [1] * 6 + [2] * 6
    assert findings_in(tmp_path) == []


def test_a_shoe_whose_memory_was_replaced_is_refused(tmp_path: Path) -> None:
    with dealt(tmp_path, "U7") as shoe:
        log_once(tmp_path, shoe)
    with dealt(tmp_path, "U7") as shoe:
        done = done_here(tmp_path, "log", "U7", "--db", "log.sqlite", code=10)
        last = done.stderr.splitlines()[-1]
        assert last.startswith("sabot: U7: another board of U7: its chain is ")
        assert "if the house has replaced the board, `sabot replaced U7 --chain " in last
        assert "trying again" not in done.stderr
        log_once(tmp_path, shoe, "other.sqlite")
        # Now that it has as many events as the database, its chain is still another one.
        done = done_here(tmp_path, "log", "U7", "--db", "log.sqlite", code=10)
        assert "another board of U7" in done.stderr
    assert outcomes_in(tmp_path) == outcomes_in(tmp_path, "other.sqlite") == KNOWN_ROUNDS


def test_of_two_shoes_with_one_id_one_is_reported_and_the_other_logged(tmp_path: Path) -> None:
    with dealt(tmp_path, "TWIN") as first, dealt(tmp_path, "TWIN") as second:
        ports = [first.port, second.port]
        with running(tmp_path, "log", *ports, "--db", "log.sqlite") as log:
            line = log.wait_for_line("says that it is TWIN")
            assert all(port in line for port in ports)
            assert "trying again" not in line
            log.wait_for_line("TWIN shoe 1 round  6")
            assert log.end(ENDED_S) == 7
            errors = [each for each in log.problems if each.startswith("sabot: ")]
            assert len(errors) == 1 and all(port in errors[0] for port in ports)
    assert outcomes_in(tmp_path) == KNOWN_ROUNDS
    assert findings_in(tmp_path) == []


def test_several_shoes_are_logged_at_once(tmp_path: Path) -> None:
    with dealt(tmp_path, "U1"), dealt(tmp_path, "U2"):
        done_here(tmp_path, "log", "U1", "U2", "U1", "--once", "--db", "log.sqlite")
    assert [each.unit for each in rounds_in(tmp_path)] == ["U1"] * 6 + ["U2"] * 6
    assert outcomes_in(tmp_path) == KNOWN_ROUNDS * 2
    assert findings_in(tmp_path) == []


def test_log_waits_for_a_shoe_that_is_attached_later(tmp_path: Path) -> None:
    with dealt(tmp_path, "U1"), running(tmp_path, "log", "U1", "U2", "--once") as log:
        log.wait_for_line("U2: no such unit is attached")
        log.wait_for_line("U1 shoe 1 round  6")
        with dealt(tmp_path, "U2"):
            assert log.end(by=None) == 0
    assert outcomes_in(tmp_path, "sabot.sqlite") == KNOWN_ROUNDS * 2


@pytest.mark.parametrize("sink", ["> /dev/full", "| true"])
def test_a_screen_that_fails_does_not_stop_the_log(tmp_path: Path, sink: str) -> None:
    with dealt(tmp_path, "U7"):
        done = subprocess.run(
            ["bash", "-c", f'"$0" log U7 --once --db log.sqlite {sink}', str(SABOT)],
            cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True, timeout=200,
            check=False,
        )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert outcomes_in(tmp_path) == KNOWN_ROUNDS
    assert findings_in(tmp_path) == []


@pytest.mark.parametrize(
    ("by", "options", "code"), [(signal.SIGINT, (), 0), (signal.SIGTERM, ("--once",), 130)]
)
def test_log_ends_at_once_and_leaves_a_complete_log(
    tmp_path: Path, by: int, options: tuple[str, ...], code: int
) -> None:
    arguments = ("--unit", "U7", "--pace", "0.002", "--seed", "3")
    with running(tmp_path, "sim", *arguments) as sim:
        port = sim.first_line()
        with running(tmp_path, "log", port, "--db", "log.sqlite", *options) as log:
            log.wait_for_line("U7 shoe 1 round  3")
            assert log.end(ENDED_S, by) == code
        assert sim.end(ENDED_S, by) == 0
    assert len(rounds_in(tmp_path)) >= 3
    assert findings_in(tmp_path) == []


def test_log_ends_at_once_though_no_shoe_answers(tmp_path: Path) -> None:
    with Answering(lambda data: b"") as one, Answering(lambda data: b"") as two:
        with running(tmp_path, "log", one.path, two.path, "/dev/ttyNONE") as log:
            log.wait_for_line("/dev/ttyNONE: no such port")
            time.sleep(0.3)
            assert log.end(ENDED_S) == 0


def test_demo_ends_at_once_and_verifies_what_it_has(tmp_path: Path) -> None:
    with running(tmp_path, "demo", "--seed", "3", "--db", "log.sqlite") as demo:
        demo.wait_for_line("shoe 1 round  2")
        assert demo.end(ENDED_S) == 130
        demo.wait_for_line("Stopped after")
        demo.wait_for_line("0 findings.")
    assert len(rounds_in(tmp_path)) >= 2
    assert findings_in(tmp_path) == []


def test_demo_deals_a_deck_and_prints_the_results(tmp_path: Path) -> None:
    deck = short_deck(tmp_path)
    options = ("--deck", deck, "--short", "--pace", "0", "--unit", "D1", "--set", "5")
    printed = done_here(tmp_path, "demo", *options).stdout
    assert "Dealt 6 rounds: Player 3, Banker 1, Tie 2; 31 of 31 cards drawn" in printed
    assert "0 findings" in printed and "sabot-demo.sqlite" in printed
    assert outcomes_in(tmp_path, "sabot-demo.sqlite") == KNOWN_ROUNDS


def test_cards_that_run_out_void_the_round_and_end_the_shoe(tmp_path: Path) -> None:
    (tmp_path / "deck").write_text(
        "\n".join(["AS", "2C", "9S", "KC", "KD", "7D", "TS", "8H", "TD"])
    )
    done_here(tmp_path, "demo", "--deck", "deck", "--short", "--pace", "0", "--db", "log.sqlite")
    first, second = rounds_in(tmp_path)
    assert (first.winner, first.void) == ("player", None)
    assert (second.winner, second.void) == (None, "supervisor")
    assert (second.player, second.banker) == (("TS", "TD"), ("8H",))
    assert findings_in(tmp_path) == []
    listed = done_here(tmp_path, "rounds", "--db", "log.sqlite", "--json").stdout.splitlines()
    assert [json.loads(line)["winner"] for line in listed] == ["player"]
    listed = done_here(tmp_path, "rounds", "--db", "log.sqlite", "--json", "--with-void").stdout
    assert [json.loads(line)["void"] for line in listed.splitlines()] == [None, "supervisor"]


def test_cards_that_run_out_between_rounds_open_no_round(tmp_path: Path) -> None:
    (tmp_path / "deck").write_text("\n".join(["AS", "2C", "9S", "KC", "KD", "7D"]))
    done_here(tmp_path, "demo", "--deck", "deck", "--short", "--pace", "0", "--db", "log.sqlite")
    (only,) = rounds_in(tmp_path)
    assert (only.winner, only.void) == ("player", None)
    assert findings_in(tmp_path) == []


def test_ports_lists_the_attached_shoes_with_their_states(tmp_path: Path) -> None:
    def ports(*options: str) -> str:
        done = CliRunner().invoke(app(), ["ports", *options])
        assert done.exit_code == 0
        return done.output

    assert "No shoe is attached" in ports()
    with dealt(tmp_path, "U7") as shoe:
        (line,) = done_here(tmp_path, "ports", "--json").stdout.splitlines()
        shown = json.loads(line)
        assert shown.pop("firmware")
        assert shown == {
            "serial": "U7", "port": shoe.port, "what": "simulated", "unit": "U7",
            "game": "mini", "state": "ready",
        }  # fmt: skip
        assert f"U7 {shoe.port} simulated U7" in " ".join(ports().split())
        with Port("U7"):
            assert json.loads(ports("--json"))["state"] == "in use"
    shoe = NaiveShoe(1)
    with answering_shoe(shoe) as other:
        published = runtime.publish("U8", other.path)
        for shoe.game, shoe.key, state in (
            ("mini", KEY, "ready"),
            (messages.NO_GAME, KEY, "takes an update"),
            (messages.NO_GAME, b"", "to be provisioned"),
        ):
            assert json.loads(ports("--json"))["state"] == state
        runtime.withdraw(published)
    for answer, state in ((_silence, "no answer"), (_other_version, "other protocol version")):
        with Answering(answer) as other:
            published = runtime.publish("U8", other.path)
            assert json.loads(ports("--json"))["state"] == state
            runtime.withdraw(published)


def test_ports_lists_a_shoe_once_that_a_log_has_under_another_name_of_its_port(
    tmp_path: Path,
) -> None:
    with answering_shoe(NaiveShoe(1)) as other:
        by_id = tmp_path / "usb-Raspberry_Pi_Pico_e66-if00"
        by_id.symlink_to(other.path)
        published = runtime.publish("E66", other.path)  # as a board on USB: by its serial number
        readers = Readers([str(by_id)])
        readers.start()
        with Port(str(by_id)) as opened:
            client = Client(opened)
            readers.attached(str(by_id), opened.url, client.welcome)
            done = CliRunner().invoke(app(), ["ports", "--json"])
        readers.close()
        runtime.withdraw(published)
    (line,) = done.output.splitlines()
    shown = json.loads(line)
    assert (shown["serial"], shown["port"]) == ("E66", other.path)
    assert (shown["unit"], shown["state"]) == (client.unit, "logged")


def _silence(data: bytes) -> bytes:
    return b""


def _other_version(data: bytes) -> bytes:
    """The answers of a shoe that speaks another version of the protocol."""
    hellos = [wire.parse_message(payload) for payload in FrameReader().feed(data)]
    return b"".join(
        framed(messages.WRONG_VERSION, protocol=VERSION + 1, asked=hello.fields["protocol"])
        for hello in hellos
    )
