"""Random bytes of a host on their way to a shoe: what the line tells, and what a session does."""

import hashlib
import hmac
import json
from collections import Counter
from pathlib import Path

import pytest

from host.tests.support.naive_shoe import KEYS, NaiveShoe, answering_shoe
from sabot.link import command_keys
from sabot.link.client import Client
from sabot.link.messages import SelfTestCommand
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe

_VECTORS = Path(__file__).parents[3] / "protocol" / "vectors" / "random.json"


def test_the_hidden_bytes_of_the_golden_vectors_are_made() -> None:
    golden = json.loads(_VECTORS.read_text())
    for case in golden["hidden"]:
        given = {name: bytes.fromhex(value) for name, value in case.items()}
        session, number = (int.from_bytes(given[name], "big") for name in ("session", "id"))
        key, challenge = bytes.fromhex(golden["command_key"]), given["challenge"]
        hidden = command_keys.hidden(key, session, challenge, number, given["data"])
        assert hidden == given["hidden"]


def test_the_same_bytes_never_look_the_same_on_the_line_and_no_bit_of_them_shows() -> None:
    data, seen, ones = bytes(32), set(), Counter[int]()
    for number in range(400):
        hidden = command_keys.hidden(b"k" * 32, number, bytes(16), 5, data)
        seen.add(hidden)
        value = int.from_bytes(hidden, "big")
        ones.update(bit for bit in range(256) if value >> bit & 1)
    assert len(seen) == 400
    assert all(120 < ones[bit] < 280 for bit in range(256)), "eight standard deviations"


def test_who_has_another_key_or_only_what_is_on_the_line_learns_nothing() -> None:
    data, challenge = bytes(range(32)), bytes(16)
    hidden = command_keys.hidden(b"k" * 32, 7, challenge, 5, data)
    for key in (b"l" * 32, bytes(32), hashlib.sha256(b"k" * 32).digest()):
        assert command_keys.hidden(key, 7, challenge, 5, hidden) != data
    # The key of the commands' MACs itself, without its own label, opens nothing.
    message = b"sabot host bytes" + (7).to_bytes(8, "big") + b"\x10" + challenge
    pad = hmac.digest(b"k" * 32, message + (5).to_bytes(8, "big"), "sha256")
    assert bytes(a ^ b for a, b in zip(hidden, pad, strict=True)) != data


def test_a_board_without_a_key_gets_no_bytes_because_nothing_could_hide_them() -> None:
    board = NaiveShoe(1)
    for key, gets in ((b"", False), (board.key, True)):
        board.key = key
        with answering_shoe(board) as line, Port(line.path) as port:
            client = Client(port, keys=KEYS)
            assert (client.stir() is not None) == gets


@pytest.mark.slow
def test_a_shoe_takes_the_bytes_of_each_session_and_has_those_of_its_provisioning(
    tmp_path: Path,
) -> None:
    challenges = []
    with SimulatedShoe("SHOE-7", state=tmp_path) as shoe:
        shoe.power_on()
        for _ in range(2):
            with Port(shoe.port) as port:
                client = Client(port)
                report, tested = client.stir(), client.ask(SelfTestCommand())
                challenges.append(client.welcome.challenge)
            assert report is not None and not report.first and report.stuck == 0
            assert tested.host_bytes and tested.stuck == 0
    assert len(set(challenges)) == 2
