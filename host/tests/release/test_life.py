"""A board's whole life, by the commands that people use: bare, flashed, provisioned, dealt from,
updated, and given a release that does not run.
"""

import json
from pathlib import Path

import pytest

import sabot_firmware
from host.tests.support.commands import (
    KNOWN_ROUNDS,
    done_here,
    short_deck,
)
from sabot.keys import signing
from sabot.release import build as releases
from sabot.sim import deck
from sabot.sim.dealer import Dealer
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases as made

pytestmark = pytest.mark.slow

_OLD, _NEWER, _BROKEN = sabot_firmware.VERSION, "0.8.0", "0.9.0"
_PASSPHRASE = {"SABOT_PASSPHRASE": "correct horse battery"}


def _deal(folder: Path, board: SimulatedShoe) -> None:
    """Deal and log a shoe of cards."""
    cards = deck.read(folder / short_deck(folder), short=True)
    dealer = Dealer(board.bench, cards, card_set=0, pace=0)
    dealer.start()
    done_here(folder, "log", "SHOE-9", "--once", "--db", "life.sqlite")
    dealer.stop()
    assert dealer.failure is None


def _listed(folder: Path, *arguments: str) -> list[dict[str, object]]:
    """The objects that a command prints of the log."""
    done = done_here(folder, *arguments, "--db", "life.sqlite", "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_from_a_bare_board_to_a_shoe_in_service_and_never_a_brick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "modules_of", made.compiled)  # compiled already
    done_here(tmp_path, "keys", "release", "make", "-o", "releases", **_PASSPHRASE)
    sabot = f"sabot-{_OLD}"
    done_here(
        tmp_path, "build", "--board", "sim", "-o", sabot, "--key", "releases.pem", **_PASSPHRASE
    )
    house = signing.load_private(
        tmp_path / "releases.pem", lambda: _PASSPHRASE["SABOT_PASSPHRASE"].encode()
    )
    for version, changes in ((_NEWER, None), (_BROKEN, made.DOES_NOT_START)):
        releases.save(made.changed("sim", house, version, changes), tmp_path / f"sabot-{version}")

    with SimulatedShoe("BARE-1", state=tmp_path / "board", files={}) as board:
        board.power_on()
        done = done_here(tmp_path, "flash", "BARE-1")
        assert done.stdout.startswith(f"BARE-1: Sabot {_OLD}, flashed; provision it: ")
        ports = done_here(tmp_path, "ports", "--json").stdout
        assert json.loads(ports)["state"] == "to be provisioned"
        assert board.bench.outputs.title == "NOT PROVISIONED"
        done = done_here(
            tmp_path, "provision", "BARE-1", "--unit", "SHOE-9", "--table", "12", "--json"
        )
        unit = json.loads(done.stdout)
        text = unit.pop("text")
        assert text.startswith("SHOE-9: table 12, game mini, card set 0; a unit now, chain ")
        assert unit == {
            "board": "BARE-1", "unit": "SHOE-9", "result": "provisioned", "line": None,
            "exit_code": 0,
        }  # fmt: skip
        ports = done_here(tmp_path, "ports", "--json").stdout
        assert json.loads(ports)["unit"] == "SHOE-9"
        _deal(tmp_path, board)

        done = done_here(tmp_path, "update", "SHOE-9", "--release", f"sabot-{_NEWER}")
        assert done.stdout == f"SHOE-9: Sabot {_NEWER}, updated\n"
        _deal(tmp_path, board)

        done = done_here(tmp_path, "update", "SHOE-9", "--release", sabot, code=30)
        assert f"{_OLD} is older than {_NEWER}" in done.stderr
        _deal(tmp_path, board)  # the log waits until the shoe is back in service

        done = done_here(tmp_path, "update", "SHOE-9", "--release", f"sabot-{_BROKEN}", code=30)
        assert f"{_BROKEN} was tried and given up, it runs {_NEWER} again" in done.stderr
        _deal(tmp_path, board)

    assert [each["winner"] for each in _listed(tmp_path, "rounds")] == [
        winner for _, _, _, _, winner, _ in KNOWN_ROUNDS * 4
    ]
    kinds = [each["kind"] for each in _listed(tmp_path, "events")]
    for kind in ("provisioned", "updated", "update_undone"):
        assert kinds.count(kind) == 1, kind
    assert kinds.count("boot") == 5, "provisioned, updated, refused, on trial, gone back"
    (unit,) = _listed(tmp_path, "units")
    assert (unit["table"], unit["firmware"], unit["updates"]) == ("12", _NEWER, 1)
    done_here(tmp_path, "verify", "--db", "life.sqlite", "--keys", "sabot.keys")
