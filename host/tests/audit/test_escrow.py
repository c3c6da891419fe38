"""Cards that stay closed are opened with both halves of the escrow, once the desk has noted it, and
in no other way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import pytest
from typer.testing import CliRunner

from host.tests.support.escrowed import EscrowedLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import new_log, stored
from sabot.audit.escrow import OpenedSeat, open_seats
from sabot.audit.play.play_checks import PlayChecks
from sabot.cli import app
from sabot.desk.desk import Desk
from sabot.errors import DeskMissing, DeskRefused, KeysUnusable, SealsClosed
from sabot.keys import escrow, signing
from sabot.log.store import Store
from sabot_protocol import events

_PASSPHRASE = b"correct horse"
_ORDER = "order 7 of the Gaming Agency"
_PLACE = ("U1", 1, 1)
_HAND = "AS KS 2C 3C next 9D KC QC JC reveal burn next reveal"


@pytest.fixture
def halves(tmp_path: Path) -> list[escrow.Half]:
    made = []
    for name in ("ann", "bob", "eve"):
        private, public, fingerprint = escrow.make_half(tmp_path / name, _PASSPHRASE)
        half = escrow.load_half(private, lambda: _PASSPHRASE)
        assert escrow.load_public_half(public) == escrow.public_of(half)
        assert signing.fingerprint(escrow.public_of(half)) == fingerprint
        assert private.stat().st_mode & 0o077 == 0 and b"ENCRYPTED" in private.read_bytes()
        made.append(half)
    return made


def _public(halves: list[escrow.Half]) -> bytes:
    return b"".join(escrow.public_of(each) for each in halves[:2])


def _log(halves: list[escrow.Half], text: str = _HAND, hole_cards: str = "shown") -> HandLog:
    return EscrowedLog(_public(halves), hole_cards=hole_cards).seat(2).play(text)


def _store(tmp_path: Path, log: HandLog, *, desk: bool = True) -> Store:
    store = new_log(tmp_path / "log.sqlite")
    store.append("U1", stored(log.records))
    if desk:
        Desk.make(store, tmp_path / "sabot.keys", "boss", "a long password")
    return store


def test_both_halves_open_the_seats_that_are_named_and_the_desk_notes_it(
    tmp_path: Path, halves: list[escrow.Half]
) -> None:
    with _store(tmp_path, _log(halves)) as store:
        for pair in ((halves[0], halves[1]), (halves[1], halves[0])):
            opened = open_seats(store, _PLACE, [1], pair, order=_ORDER)
            assert opened == [OpenedSeat(1, ("AS", "2C"))]
        assert open_seats(store, _PLACE, [0, 2], pair, order=_ORDER) == [
            OpenedSeat(0, ("9D",)), OpenedSeat(2, ("KS", "3C")),
        ]  # fmt: skip
        notes = [each for each in Desk(store).notes() if each.kind == "seats_opened"]
        assert [each.fields["seats"] for each in notes] == ["1", "1", "0 2"]
        assert {each.fields["order"] for each in notes} == {_ORDER}
        both = {signing.fingerprint(escrow.public_of(each)) for each in halves[:2]}
        assert all(set(each.fields["halves"].split()) == both for each in notes)


def test_one_half_alone_or_with_a_strangers_opens_nothing(
    tmp_path: Path, halves: list[escrow.Half]
) -> None:
    ann, bob, eve = halves
    with _store(tmp_path, _log(halves)) as store:
        for pair in ((ann, ann), (bob, bob), (ann, eve), (eve, bob), (eve, eve)):
            with pytest.raises(SealsClosed, match="not both halves"):
                open_seats(store, _PLACE, [1], pair, order=_ORDER)
        assert not any(each.kind == "seats_opened" for each in Desk(store).notes())


def test_nothing_is_opened_that_the_desk_cannot_note(
    tmp_path: Path, halves: list[escrow.Half]
) -> None:
    with _store(tmp_path, _log(halves), desk=False) as store:
        with pytest.raises(DeskMissing):
            open_seats(store, _PLACE, [1], (halves[0], halves[1]), order=_ORDER)
        Desk.make(store, tmp_path / "sabot.keys", "boss", "a long password")
        for order in ("", " ", "two\nlines", "x" * 201):
            with pytest.raises(DeskRefused, match="an order is one line"):
                open_seats(store, _PLACE, [1], (halves[0], halves[1]), order=order)


@pytest.mark.parametrize(
    ("make", "seat", "message"),
    [
        (lambda halves: _log(halves, "AS KS 2C 3C"), 1, "the hand is not over"),
        (lambda halves: _log(halves, "AS KS 2C 3C next reveal next"), 1, "the hand is not over"),
        (lambda _: HandLog(hole_cards="shown").seat(2).play(_HAND), 1, "the unit had no escrow"),
        (_log, 3, "seat 3 got no cards"),
        (lambda _: HandLog(), 1, "no sealed cards are in the log"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_says_why(
    make: Callable[[list[escrow.Half]], HandLog],
    seat: int,
    message: str,
    tmp_path: Path,
    halves: list[escrow.Half],
) -> None:
    with _store(tmp_path, make(halves)) as store, pytest.raises(SealsClosed, match=message):
        open_seats(store, _PLACE, [seat], (halves[0], halves[1]), order=_ORDER)


def test_a_key_that_has_not_left_although_others_have_is_found(halves: list[escrow.Half]) -> None:
    log = _log(halves)
    log.seat(2).play(_HAND)
    values: list[Any] = [cbor2.loads(record) for record in log.records]
    of_escrow = [at for at, each in enumerate(values) if each[0] == events.SEAL_ESCROW.number]

    def found(some: list[Any]) -> list[str]:
        wrong: list[str] = []
        checks = PlayChecks(lambda _, kind, detail: wrong.append(f"{kind}: {detail}"))
        for each in some:
            handler = checks.handlers[each[0]]
            if handler is not None:
                handler(each)
        return wrong

    assert found(values) == [] and len(of_escrow) == 2
    first, second = of_escrow
    missing = found([*values[:second], *values[second + 1 :]])
    assert missing == ["seal: its key has not left for the escrow, as those of earlier rounds have"]
    assert found([*values[:first], values[first], *values[first:]])
    assert found([*values, values[first]])
    short = [*values[first][:-1], bytes(16)]
    assert found([*values[:first], short, *values[first + 1 :]])


def test_a_signing_key_is_no_half_and_a_half_signs_nothing(
    tmp_path: Path, halves: list[escrow.Half]
) -> None:
    signing.make_key_pair(tmp_path / "operator", _PASSPHRASE)
    with pytest.raises(KeysUnusable, match="not a half of an escrow"):
        escrow.load_half(tmp_path / "operator.pem", lambda: _PASSPHRASE)
    with pytest.raises(KeysUnusable, match="not a public half"):
        escrow.load_public_half(tmp_path / "operator.pub.pem")
    with pytest.raises(KeysUnusable, match="not a private Ed25519 key"):
        signing.load_private(tmp_path / "ann.pem", lambda: _PASSPHRASE)
    with pytest.raises(KeysUnusable, match="not a public Ed25519 key"):
        signing.load_public(tmp_path / "ann.pub.pem")
    with pytest.raises(KeysUnusable, match="wrong passphrase"):
        escrow.load_half(tmp_path / "ann.pem", lambda: b"another one")


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, halves: list[escrow.Half]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SABOT_PASSPHRASE", _PASSPHRASE.decode())
    _store(tmp_path, _log(halves)).close()
    given = ["open-seats", "U1", "--shoe", "1", "--seat", "1", "--order", _ORDER]
    files = ["--half", "ann.pem", "--half", "bob.pem", "--db", "log.sqlite"]
    done = CliRunner().invoke(app(), [*given, *files])
    assert (done.exit_code, done.stdout) == (0, "seat 1  A♠ 2♣ \n"), done.output
    done = CliRunner().invoke(app(), [*given, *files, "--seat", "0", "--json"])
    assert json.loads(done.stdout) == {
        "unit": "U1", "shoe": 1, "round": 1,
        "seats": [{"seat": 0, "cards": ["9D"]}, {"seat": 1, "cards": ["AS", "2C"]}],
    }  # fmt: skip
    assert CliRunner().invoke(app(), [*given, *files[:2], *files[4:]]).exit_code == 2
    listed = CliRunner().invoke(app(), ["desk", "--db", "log.sqlite"]).stdout
    assert f"U1 shoe 1 round 1, seats 1, by the order: {_ORDER}" in listed
    made = CliRunner().invoke(app(), ["keys", "escrow", "make", "-o", "dan"])
    assert made.exit_code == 0 and "fingerprint" in made.stdout, made.output
