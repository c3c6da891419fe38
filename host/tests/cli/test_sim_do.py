"""`sabot sim-do`, `sabot sim --bare` and `sabot sim --shoes`, as users run them."""

import json
import socket
import stat
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

import sabot_firmware
from host.tests.support.commands import (
    RunningCommand,
    error_line_here,
    run_here,
    running,
    short_deck,
)
from sabot.cli.sim import decks_of
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.link.runtime_folder import base
from sabot.release import build as releases
from sabot.sim import hands
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases as made
from sabot_protocol import cards, enums

pytestmark = pytest.mark.slow


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[RunningCommand]:
    """A simulated shoe that waits for a host, which does not come."""
    with running(tmp_path, "sim", "--unit", "SHOE-7", "--seed", "7", "--pace", "0") as command:
        command.first_line()
        yield command
        assert command.end() == 0


def _do(folder: Path, *words: str, code: int = 0) -> list[str]:
    out, problems, ended = run_here(folder, "sim-do", *words)
    assert ended == code, problems
    return out.splitlines()


def test_a_round_dealt_by_hand(sim: RunningCommand, tmp_path: Path) -> None:
    assert _do(tmp_path, "SHOE-7")[0] == "  LOAD CARDS"
    _do(tmp_path, "SHOE-7", "lid", "open")
    assert _do(tmp_path, "SHOE-7", "lid", "shut")[:2] == ["SHOE-7: lid shut", "  BURN: FIRST CARD"]
    for card in ("AC", "2C"):
        _do(tmp_path, "SHOE-7", "card", card)
    assert _do(tmp_path, sim.lines[0], "press", "next")[1] == "  NO MORE BETS"
    for card in ("9D", "10s", "K♥", "7S"):
        shown = _do(tmp_path, "SHOE-7", "card", card)
    assert shown[-1] == "lamps: player; lock: shut"
    assert "error" in _do(tmp_path, "SHOE-7", "fault", "double_feed")[-1]
    assert _do(tmp_path, "SHOE-7", "key", "on")[0] == "SHOE-7: key on"


@pytest.mark.parametrize(
    ("words", "lists"),
    [
        (["jump"], ["card, fault, press, lid, key, service"]),
        (["press", "stop"], ["next, reveal, void, burn"]),
        (["fault", "power_lost"], ["double_feed", "sensor_fault"]),
        (["key"], ["on or off"]),
        (["key", "open"], ["on or off"]),
        (["key", "on", "off"], ["on or off"]),
        (["card", "11H"], ["7H"]),
        (["card", "7H 8H"], ["7H"]),
    ],
)
def test_an_unknown_word_is_wrong_usage_that_lists_those_that_are(
    tmp_path: Path, words: list[str], lists: list[str]
) -> None:
    _, problems, code = run_here(tmp_path, "sim-do", "SHOE-7", *words)
    assert code == 2
    said = problems.replace("\u2502", " ")
    for each in lists:
        assert each in " ".join(said.split())


def test_every_switch_button_and_fault_is_an_action() -> None:
    switches = {switch for switch, _ in hands.SWITCHES.values()}
    assert switches == set(enums.SWITCHES) and len(hands.SWITCHES) == 2 * len(enums.SWITCHES)
    for button in enums.BUTTONS:
        hands.check_action(["press", button])
    for fault in set(enums.FAULTS) - {"none", "power_lost"}:
        hands.check_action(["fault", fault])
    for on in (("lid", "open"), ("key", "on"), ("service", "on")):
        assert hands.SWITCHES[on][1]


def test_a_shoe_that_does_not_run_is_an_error_that_names_those_that_do(
    sim: RunningCommand, tmp_path: Path
) -> None:
    line = error_line_here(tmp_path, "sim-do", "NONE-8", "key", "on", code=3)
    assert line.startswith("NONE-8: no simulated shoe of this name runs here; there are: ")
    assert "SHOE-7" in line
    with SimulatedShoe("SHOE-9") as other:
        other.power_on()
        line = error_line_here(tmp_path, "sim-do", "SHOE-9", "key", "on", code=12)
        assert line.startswith("SHOE-9: the program that runs it takes no actions")


def test_the_socket_is_private_and_survives_nonsense(sim: RunningCommand, tmp_path: Path) -> None:
    name = sim.lines[0].strip("/").replace("/", "-")
    (path,) = base().glob(f"**/sabot-hands/{name}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for question in (b"\xff", b"{}", b"[1]", b"[" * 10_000, json.dumps(["key", "x"]).encode()):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            _connect(client, path)
            client.send(question)
            assert "error" in json.loads(client.recv(20_000))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        _connect(silent, path)
        assert _do(tmp_path, "SHOE-7")[0] == "  LOAD CARDS"
    assert sim.end() == 0
    assert not path.exists()


def _connect(client: socket.socket, path: Path) -> None:
    with chdir(path.parent):  # the path of a socket is short
        client.connect(path.name)


def test_faults_come_with_the_cards_that_are_dealt(tmp_path: Path) -> None:
    options = ("--seed", "7", "--pace", "0.01")
    with running(tmp_path, "sim", "--unit", "SHOE-7", *options) as sim:
        sim.first_line()
        with running(tmp_path, "log", "SHOE-7", "--db", "log.sqlite") as log:
            for number, fault in enumerate(("reversed", "no_code"), 1):
                log.wait_for_line(f"round {3 * number:>2}")
                said = _do(tmp_path, "SHOE-7", "fault", fault)
                assert said[0] == f"SHOE-7: the next card comes with {fault}"
            log.wait_for_line("round 12")
            log.end()
        assert sim.end() == 0
    incidents, _, _ = run_here(tmp_path, "incidents", "--db", "log.sqlite")
    assert "unreadable (reversed)" in incidents and "unreadable (no code)" in incidents
    assert run_here(tmp_path, "verify", "--db", "log.sqlite", "--keys", "sabot.keys")[2] == 0


def test_a_shoe_goes_on_with_the_next_shoe_of_cards(tmp_path: Path) -> None:
    deck = ("--deck", short_deck(tmp_path), "--short", "--pace", "0", "--shoes", "3")
    with running(tmp_path, "sim", "--unit", "SHOE-7", *deck) as sim:
        sim.first_line()
        with running(tmp_path, "log", "SHOE-7", "--db", "log.sqlite") as log:
            log.wait_for_line("shoe 3 round  6")
            log.end()
        assert sim.end() == 0
    done, _, _ = run_here(tmp_path, "rounds", "--db", "log.sqlite", "--json")
    assert [json.loads(line)["shoe"] for line in done.splitlines()] == [1] * 6 + [2] * 6 + [3] * 6


def test_the_same_seed_gives_the_same_shoes_and_each_has_other_cards() -> None:
    first, second = decks_of(None, None, False, 7, 2)
    assert decks_of(None, None, False, 7, 2) == [first, second] and first != second
    assert decks_of(None, None, False, 7) == [first]
    assert sorted(first) == sorted(second)


@pytest.mark.parametrize("cut", [17, 30])
def test_two_more_rounds_have_the_cards_that_they_can_take(cut: int) -> None:
    game = catalogue.document("mini", {"rounds_after_cut": 2, "cut_from_end": cut})
    (deck,) = decks_of(game, None, False, 7)
    assert len(deck) - deck.index(cards.CUT_CARD) - 1 == cut


def test_a_bare_board_becomes_a_shoe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "modules_of", made.compiled)
    name = f"sabot-{sabot_firmware.VERSION}"
    releases.save(releases.build("sim", made.HOUSE), tmp_path / name)
    public = signing.pem_of(signing.public_of(made.HOUSE))
    (tmp_path / "releases.pub.pem").write_bytes(public)
    with running(tmp_path, "sim", "--bare", "--unit", "BARE-1", "--set", "3") as board:
        board.first_line()
        assert "flashed" in run_here(tmp_path, "flash", "BARE-1")[0]
        settings = ("--unit", "SHOE-9", "--table", "12", "--set", "3")
        assert run_here(tmp_path, "provision", "BARE-1", *settings)[2] == 0
        assert _do(tmp_path, "BARE-1", "card", "TEST")[1] == "  LOAD CARDS"
        assert "0 days ago" in run_here(tmp_path, "doctor", "SHOE-9")[0]
        assert _do(tmp_path, "SHOE-9", "lid", "open")[0] == "SHOE-9: lid open"
        with running(tmp_path, "log", "SHOE-9", "--db", "log.sqlite") as log:
            assert log.wait_for_line("attached").startswith("SHOE-9 attached, firmware")
            assert _do(tmp_path, "SHOE-9", "lid", "shut")[0] == "SHOE-9: lid shut"
            assert log.end() == 0
        assert board.end() == 0


@pytest.mark.parametrize("options", [("--seed", "1"), ("--shoes", "2"), ("--game", "mini")])
def test_no_one_deals_from_a_bare_board(tmp_path: Path, options: tuple[str, ...]) -> None:
    _, problems, code = run_here(tmp_path, "sim", "--bare", *options)
    assert code == 2 and "no one deals from" in problems
