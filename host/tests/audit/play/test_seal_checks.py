"""Sealed cards: a good log has no finding, and an adversary who changes what was sealed is found.

The adversary has the first key of the chain, so each changed log has right MACs. It is checked with
that key and without. The cards are sealed by the tests' own sealer.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import cbor2
import pytest

from firmware.tests.support.recovering import random_input
from firmware.tests.support.table import note_of
from host.tests.support.helpers import TEST_KEY, FirmwareLog, NaiveChain, shuffled_names
from host.tests.support.sealing import Sealer, commitment_to, sealed_card
from sabot.audit.chain import Ratchet
from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.play.known_games import KnownGames
from sabot.games.baccarat import catalogue
from sabot.link.wire import parse_event
from sabot.text import counted
from sabot_firmware.table import input_log
from sabot_protocol import cards, enums, events, games

_OWN = 7
Values = list[Any]
_NAMES = {shape.number: shape.name for shape in events.KINDS}
_NUMBERS = {name: number for number, name in _NAMES.items()}
_SEALS_SINCE, _OLD = "0.2.0", "0.1.9"


def _document(voided: str | None = None) -> bytes:
    fields = cbor2.loads(catalogue.document("ez-midi"))
    if voided is not None:
        fields["house"]["voided_cards"] = voided
    return games.encode(fields)


@cache
def _log(firmware: str = _SEALS_SINCE) -> tuple[RawRecord, ...]:
    """A whole shoe of cards of some rounds, and the first rounds of the next."""
    log = FirmwareLog(game=_document(), firmware=firmware)
    log.deal_shoe(shuffled_names(3, cut_from_end=380))
    log.load().draw("AS", "2C", "next", "next", "9D", "5S")
    return tuple((at, bytes(data), data.mac) for at, data in enumerate(log.records, 1))


def _values(firmware: str = _SEALS_SINCE) -> list[Values]:
    return [cbor2.loads(record) for _, record, _ in _log(firmware)]


def _chained(values: list[Values]) -> list[RawRecord]:
    """These events with numbers and MACs, as one makes them who has the first key."""
    chain, before, made = NaiveChain(), NaiveChain().id, list[RawRecord]()
    for number, each in enumerate(values, 1):
        if _NAMES[each[0]] == "checkpoint":
            each = [*each[:_OWN], number - 1, before]
        record = cbor2.dumps([each[0], number, *each[2:]], canonical=True)
        before = chain.mac(number, before, record)
        made.append((number, record, before))
    return made


def _found(
    records: list[RawRecord], *, key: bool = True, document: bytes | None = None
) -> list[Finding]:
    document = document or _document()
    known = KnownGames({hashlib.sha256(document).digest(): document}.get)
    macs = Ratchet(TEST_KEY) if key else None
    found = UnitChecks("U1", macs=macs, games=known).verify(records, Summary())
    return [each for each in found if each.kind != "no_key"]


def _kind(values: Values) -> str:
    return _NAMES[values[0]]


def _of_round(values: list[Values], round_: int = 2) -> dict[str, list[int]]:
    """The indexes of the events of a round of the first shoe of cards, by kind."""
    found: dict[str, list[int]] = {name: [] for name in _NUMBERS}
    for at, each in enumerate(values):
        if (each[5], each[6]) == (1, round_):
            found[_kind(each)].append(at)
    return found


def test_a_good_log_has_no_finding_and_its_cards_count() -> None:
    summary = Summary()
    document = _document()
    known = KnownGames({hashlib.sha256(document).digest(): document}.get)
    checks = UnitChecks("U1", macs=Ratchet(TEST_KEY), games=known)
    assert checks.verify(_log(), summary) == []
    kinds = [_kind(each) for each in _values()]
    assert summary.rounds == kinds.count("result") >= 5
    assert kinds.count("sealed_card") > 20 and "composition" in kinds


Attack = Callable[[list[Values], random.Random], list[Values]]


def _another_card(values: list[Values], rng: random.Random) -> list[Values]:
    """The first byte of a sealed card: it opens to another card of the deck."""
    at = rng.choice(_of_round(values, rng.randint(1, 4))["sealed_card"])
    sealed = values[at][_OWN + 1]
    key = next(each[_OWN] for each in values[at:] if _kind(each) == "unsealed")
    card = next(c for c in range(52) if sealed_card(key, values[at][_OWN], c) == sealed)
    other = (card + rng.randrange(1, 52)) % 52
    values[at][_OWN + 1] = sealed_card(key, values[at][_OWN], other)
    return values


def _another_byte(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    sealed = bytearray(values[at][_OWN + 1])
    sealed[rng.randrange(1, 16)] ^= 1 << rng.randrange(8)
    values[at][_OWN + 1] = bytes(sealed)
    return values


def _shorter(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    values[at][_OWN + 1] = values[at][_OWN + 1][: rng.randrange(16)]
    return values


def _swapped_in_a_round(values: list[Values], rng: random.Random) -> list[Values]:
    one, other = rng.sample(_of_round(values)["sealed_card"], 2)
    sealed = _OWN + 1
    values[one][sealed], values[other][sealed] = values[other][sealed], values[one][sealed]
    return values


def _swapped_with_their_places(values: list[Values], rng: random.Random) -> list[Values]:
    one, other = rng.sample(_of_round(values)["sealed_card"], 2)
    own = slice(_OWN, _OWN + 2)
    values[one][own], values[other][own] = values[other][own], values[one][own]
    return values


def _from_another_round(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values, 2)["sealed_card"])
    there = rng.choice(_of_round(values, 3)["sealed_card"])
    values[at][_OWN + 1] = values[there][_OWN + 1]
    return values


def _key_of_another_round(values: list[Values], _: random.Random) -> list[Values]:
    (at,), (there,) = (_of_round(values, n)["unsealed"] for n in (2, 3))
    values[at][_OWN] = values[there][_OWN]
    return values


def _commitment_of_another_round(values: list[Values], _: random.Random) -> list[Values]:
    (at,), (there,) = (_of_round(values, n)["seal"] for n in (2, 3))
    values[at][_OWN] = values[there][_OWN]
    return values


def _key_of_another_length(values: list[Values], rng: random.Random) -> list[Values]:
    (at,), (seal,) = (_of_round(values)[kind] for kind in ("unsealed", "seal"))
    values[at][_OWN] = (values[at][_OWN] + bytes(9))[: rng.choice([1, 16, 31, 33, 40])]
    values[seal][_OWN] = commitment_to(values[at][_OWN])
    return values


def _commitment_of_another_length(values: list[Values], _: random.Random) -> list[Values]:
    (at,) = _of_round(values)["seal"]
    values[at][_OWN] = values[at][_OWN][:16]
    return values


def _given_up(values: list[Values], _: random.Random) -> list[Values]:
    (at,) = _of_round(values)["unsealed"]
    values[at][_OWN] = b""
    return values


def _unsealed_twice(values: list[Values], _: random.Random) -> list[Values]:
    (at,) = _of_round(values)["unsealed"]
    return [*values[: at + 1], values[at], *values[at + 1 :]]


def _never_unsealed(values: list[Values], _: random.Random) -> list[Values]:
    (at,) = _of_round(values)["unsealed"]
    return [*values[:at], *values[at + 1 :]]


def _cut_off(values: list[Values], _: random.Random) -> list[Values]:
    """The round from its key on."""
    (at,) = _of_round(values)["unsealed"]
    (end,) = _of_round(values)["result"]
    return [*values[:at], *values[end + 1 :]]


def _unsealed_early(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    (key,) = _of_round(values)["unsealed"]
    return [*values[:at], values[key], *values[at:key], *values[key + 1 :]]


def _sealed_late(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    (seal,) = _of_round(values)["seal"]
    return [*values[:seal], *values[seal + 1 : at + 1], values[seal], *values[at + 1 :]]


def _not_committed_to(values: list[Values], _: random.Random) -> list[Values]:
    (at,) = _of_round(values)["seal"]
    return [*values[:at], *values[at + 1 :]]


def _sealed_before_no_more_bets(values: list[Values], _: random.Random) -> list[Values]:
    (seal,), (closed,) = (_of_round(values)[kind] for kind in ("seal", "betting_closed"))
    return [*values[:closed], values[seal], *values[closed:seal], *values[seal + 1 :]]


def _sealed_twice(values: list[Values], _: random.Random) -> list[Values]:
    (at,) = _of_round(values)["seal"]
    return [*values[: at + 1], values[at], *values[at + 1 :]]


def _one_card_left_out(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"][:-1])
    return [*values[:at], *values[at + 1 :]]


def _one_card_twice(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    return [*values[:at], values[at], *values[at:]]


def _one_card_in_plain(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    values[at] = _plain(values, at)
    return values


def _result_before_the_key(values: list[Values], _: random.Random) -> list[Values]:
    (key,), (result,) = (_of_round(values)[kind] for kind in ("unsealed", "result"))
    return [*values[:key], *values[key + 1 : result + 1], values[key], *values[result + 1 :]]


def _decision_before_the_key(values: list[Values], _: random.Random) -> list[Values]:
    (key,), at = _of_round(values)["unsealed"], _of_round(values)["decision"][0]
    return [*values[:key], values[at], *values[key:at], *values[at + 1 :]]


def _an_error_names_the_card(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    surplus = enums.ERRORS.index("surplus_copy")
    error = [_NUMBERS["error"], *values[at][1:_OWN], surplus, 5, 0]
    return [*values[: at + 1], error, *values[at + 1 :]]


def _a_long_pass_names_the_card(values: list[Values], rng: random.Random) -> list[Values]:
    at = rng.choice(_of_round(values)["sealed_card"])
    long_pass = [_NUMBERS["long_pass"], *values[at][1:_OWN], 5, 5000]
    return [*values[: at + 1], long_pass, *values[at + 1 :]]


def _plain(values: list[Values], at: int) -> Values:
    """The event `card` in place of a sealed card."""
    key = next(each[_OWN] for each in values[at:] if _kind(each) == "unsealed")
    place, sealed = values[at][_OWN : _OWN + 2]
    card = next(c for c in range(53) if sealed_card(key, place, c) == sealed)
    return [_NUMBERS["card"], *values[at][1:_OWN], card, *values[at][_OWN + 2 :]]


def _all_in_plain(values: list[Values], rounds: range = range(1, 99)) -> list[Values]:
    """Rounds as firmware before 0.2 recorded them, with decisions and result at the end."""
    found = []
    for at, each in enumerate(values):
        if each[6] not in rounds or _kind(each) not in ("seal", "sealed_card", "unsealed"):
            found.append(each)
        elif _kind(each) == "sealed_card" and "unsealed" in map(_kind, values[at:]):
            found.append(_plain(values, at))
    return found


def _a_round_in_plain(values: list[Values], rng: random.Random) -> list[Values]:
    round_ = rng.randint(1, 4)
    return _all_in_plain(values, range(round_, round_ + 1))


_ATTACKS: dict[Attack, set[str]] = {
    _another_card: {"rules", "cards"},
    _swapped_with_their_places: {"seal"},
} | {
    attack: {"seal"}
    for attack in (
        _another_byte, _shorter, _swapped_in_a_round, _from_another_round, _key_of_another_round,
        _commitment_of_another_round, _key_of_another_length, _commitment_of_another_length,
        _given_up, _unsealed_twice, _never_unsealed, _cut_off, _unsealed_early, _sealed_late,
        _not_committed_to, _sealed_before_no_more_bets, _sealed_twice, _one_card_left_out,
        _one_card_twice, _one_card_in_plain, _result_before_the_key, _decision_before_the_key,
        _an_error_names_the_card, _a_long_pass_names_the_card, _a_round_in_plain,
    )
}  # fmt: skip
"""Each with the kinds of findings of which there must be one."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("attack", _ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_every_change_of_what_was_sealed_is_found_with_the_first_key_and_without(
    attack: Attack, seed: int
) -> None:
    print(f"SABOT_SEED={seed}")
    records = _chained(attack(_values(), random.Random(seed)))
    for key in (True, False):
        kinds = {each.kind for each in _found(records, key=key)}
        assert kinds & _ATTACKS[attack], kinds


def test_without_the_first_key_a_change_is_found_by_the_macs() -> None:
    records = list(_log())
    at = _of_round(_values())["sealed_card"][0]
    number, record, mac = records[at]
    values = cbor2.loads(record)
    values[_OWN + 1] = bytes(16)
    records[at] = number, cbor2.dumps(values, canonical=True), mac
    assert (number, "changed") in {(each.event, each.kind) for each in _found(records)}


def test_firmware_before_0_2_recorded_face_down_cards_in_plain_and_no_newer_one_may() -> None:
    plain = _chained(_all_in_plain(_values(_OLD)))
    assert _found(plain) == []
    for firmware in (_SEALS_SINCE, "0.10.1", "1.0.0", "unreadable"):
        found = _found(_chained(_all_in_plain(_values(firmware))))
        rounds = sum(_kind(each) == "result" for each in _values())
        assert [each.kind for each in found] == ["seal"] * rounds, firmware
        assert "in plain" in found[0].detail


def test_a_unit_that_has_sealed_since_its_start_may_not_go_back_to_plain_cards() -> None:
    values = _all_in_plain(_values(_OLD), range(3, 5))
    found = _found(_chained(values))
    assert [each.kind for each in found] == ["seal"] * 2
    assert _found(_chained(_all_in_plain(_values(_OLD), range(1, 2)))) == []


@pytest.mark.parametrize(("firmware", "kinds"), [(_OLD, set()), (_SEALS_SINCE, {"seal"})])
def test_the_start_may_be_in_the_context_of_a_bundle_or_a_tombstone_only(
    firmware: str, kinds: set[str]
) -> None:
    records = _chained(_all_in_plain(_values(firmware)))
    start, records = parse_event(records[0][1]), records[3:]
    document = _document()
    known = KnownGames({hashlib.sha256(document).digest(): document}.get)
    for context, wanted in (([], set()), ([start], kinds)):
        checks = UnitChecks("U1", first=records[0][0], games=known)
        checks.started(context)
        found = {each.kind for each in checks.verify(records, Summary())}
        assert found - {"no_key"} == wanted


def _voided(voided: str | None, *, give_up: bool) -> list[Values]:
    """A shoe of cards in which a round was voided, and ended by the supervisor after another."""
    house = _document("never" if give_up else "opened")
    log = FirmwareLog(game=house, firmware=_SEALS_SINCE)
    log.load().draw("AS", "2C", "next", "next", "9D", "5S", "blank", "!void")
    log.draw("next", "next", "9D", "5S", "TD", "3S", "reveal", "end")
    sha256 = hashlib.sha256(_document(voided)).digest()
    made = []
    for record in log.records:
        values = cbor2.loads(record)
        if _kind(values) == "result":
            values[-1] = sha256
        made.append(values)
    loaded = [_NUMBERS["game_loaded"], *made[0][1:_OWN], "ez-midi", sha256]
    return [made[0], loaded, *made[1:]]


def test_only_a_house_that_chose_so_gives_the_cards_of_a_void_round_up() -> None:
    for voided, give_up, good in (
        ("never", True, True), ("opened", True, False), (None, True, False),
        ("opened", False, True), (None, False, True),
    ):  # fmt: skip
        records = _chained(_voided(voided, give_up=give_up))
        found = _found(records, document=_document(voided))
        assert [each.kind for each in found] == ([] if good else ["seal"]), (voided, give_up)


def test_cards_that_are_never_to_be_known_are_unread_in_the_composition() -> None:
    values = _voided("never", give_up=True)
    (at,) = (at for at, each in enumerate(values) if _kind(each) == "composition")
    counts = bytearray(values[at][_OWN])
    assert counts[cards.number_of("9D")] == 1 and values[at][_OWN + 1] == 3
    counts[cards.number_of("9D")] += 1
    values[at][_OWN : _OWN + 2] = bytes(counts), 2
    found = _found(_chained(values), document=_document("never"))
    assert [each.kind for each in found] == ["cards"]
    assert "9♦" in found[0].detail and "unread" in found[0].detail


def test_a_round_whose_state_is_lost_is_opened_after_the_start() -> None:
    log = FirmwareLog(game=_document(), firmware=_SEALS_SINCE)
    log.load().draw("AS", "2C", "next", "next", "9D", "5S")
    key = next(iter(_keys(log)))
    log.power_on(clock=False)
    values = [cbor2.loads(each) for each in log.records]
    restart = enums.END_REASONS.index("restart")
    for place in ([1, 1], [1, 0]):  # the state may be older than its last events
        ended = [
            [_NUMBERS["unsealed"], 0, 2, 20, None, *place, key],
            [_NUMBERS["shoe_ended"], 0, 2, 21, None, *place, restart, None, None],
        ]
        records = _chained([*values, *ended])
        assert _found(records) == []
        assert [each.kind for each in _found(_chained([*values, *ended[1:]]))] == ["seal"]


def _keys(log: FirmwareLog) -> Iterator[bytes]:
    sealer = Sealer()
    for record in log.records:
        values = cbor2.loads(record)
        if _kind(values) == "seal":
            sealer.values_of(events.SEAL, (), values[1])
            yield sealer.key


@pytest.mark.parametrize("lost", range(12))
def test_lost_events_make_no_finding_about_seals(lost: int) -> None:
    """The shoe itself lost some events and reports that, so there is no other finding than that,
    and of the round that is not whole."""
    values = _values()
    (seal,) = _of_round(values)["seal"]
    records = list(_log())
    for first, count in ((seal - 2 + lost, 1), (seal - 2, lost + 1), (seal + 2, 12 + lost)):
        kept = [*records[:first], *records[first + count :]]
        found = _found(kept)
        kinds = {each.kind for each in found}
        assert kinds <= {"missing", "incomplete"}, [each.detail for each in found]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("game", "choices"),
    [
        ("ez-midi", {}), ("ez-midi", {"voided_cards": "never"}),
        ("mini", {"shown": "after_reveal"}),
    ],
)  # fmt: skip
def test_random_inputs_at_a_table_dealt_face_down_make_no_finding(
    game: str, choices: dict[str, object], seed: int
) -> None:
    """Errors, put-aside and entered cards, restarts, voids, misdeals and ghost hands; and lost
    events make no other finding than that they are lost."""
    print(f"SABOT_SEED={seed}")
    random.seed(seed)
    document = catalogue.document(game, choices)
    log = FirmwareLog(game=document, firmware=_SEALS_SINCE).load()
    for _ in range(600):
        if random.random() < 0.004:
            log.power_on(passing=random.random() < 0.3)
        for text in random_input(log.dealing):
            log.act(input_log.carry_out(log.dealing, note_of(text)))
    records = [(at, bytes(data), data.mac) for at, data in enumerate(log.records, 1)]
    found = _found(records, document=document)
    assert [each for each in found if not each.detail.startswith("copy ")] == []
    for _ in range(4):
        first = random.randrange(2, len(records))
        kept = records[:first] + records[first + random.choice([1, 2, 5, 60]) :]
        found = _found(kept, document=document)
        kinds = {each.kind for each in found if not each.detail.startswith("copy ")}
        assert kinds <= {"missing", "incomplete", "time"}, first


def test_a_ghost_hand_is_dealt_face_up_and_the_cut_card_is_no_secret() -> None:
    document = catalogue.document("mini", {"shown": "after_reveal"})
    log = FirmwareLog(game=document, firmware=_SEALS_SINCE).load()
    log.draw("AS", "2C", "ghost", "9D", "5S", "TD", "3S")
    log.draw("next", "9D", "5S", "CUT", "CUT", "key", "TD", "3S", "reveal")
    kinds = [_kind(cbor2.loads(record)) for record in log.records]
    assert kinds.count("seal") == 1 and kinds.count("sealed_card") == 4 and "error" in kinds
    records = [(at, bytes(data), data.mac) for at, data in enumerate(log.records, 1)]
    assert _found(records, document=document) == []


# Rounds that were never opened.


def _notes(
    values: list[Values], document: bytes | None = None, kind: str = "sealed"
) -> list[tuple[int, str]]:
    document = document or _document()
    known = KnownGames({hashlib.sha256(document).digest(): document}.get)
    summary = Summary()
    UnitChecks("U1", macs=Ratchet(TEST_KEY), games=known).verify(_chained(values), summary)
    return [(each.event, each.detail) for each in summary.notes if each.kind == kind]


def test_a_round_that_is_sealed_at_the_end_of_the_log_is_noted() -> None:
    """The log of these tests ends within a round of its second shoe of cards."""
    values = _values()
    seal = max(at for at, each in enumerate(values, 1) if _kind(each) == "seal")
    detail = "2 sealed cards of shoe 2 round 1 never opened: the log ends before its key"
    assert _notes(values) == [(seal, detail)]


NEVER: dict[str, tuple[Callable[[list[Values], dict[str, list[int]]], None], str]] = {
    "the sealing secret was lost": (
        lambda values, of: values[of["unsealed"][0]].__setitem__(_OWN, bytes(32)),
        "its key does not fit: the unit had lost its sealing secret, or the key was changed",
    ),
    "the key never came": (
        lambda values, of: values.pop(of["unsealed"][0]) and None,
        "its key never came: what follows a key came without it",
    ),
    "a card was changed": (
        lambda values, of: values[of["sealed_card"][0]].__setitem__(_OWN + 1, bytes(16)),
        "the key opens them to no card",
    ),
}


@pytest.mark.parametrize("what", NEVER)
def test_each_sealed_round_that_was_never_opened_is_noted_with_why(what: str) -> None:
    change, why = NEVER[what]
    values = _values()
    of_round = _of_round(values)
    cards = 1 if "card" in what else len(of_round["sealed_card"])
    change(values, of_round)
    (event, detail), _ = _notes(values)
    assert event == of_round["seal"][0] + 1
    assert detail == f"{counted(cards, 'sealed card')} of shoe 1 round 2 never opened: {why}"


def test_a_round_whose_key_is_among_missing_events_is_noted() -> None:
    values = _values()
    of_round = _of_round(values)
    first, last = of_round["sealed_card"][-1] + 1, of_round["result"][0] + 1
    records = [each for each in _chained(values) if not first < each[0] <= last]
    summary = Summary()
    UnitChecks("U1", macs=Ratchet(TEST_KEY)).verify(records, summary)
    (note, _) = (each for each in summary.notes if each.kind == "sealed")
    assert note.event == of_round["seal"][0] + 1
    assert note.detail.endswith("events are missing in which its key may be")


def test_rounds_that_stay_closed_by_the_choice_of_the_house_are_counted_in_one_line() -> None:
    document = _document("never")
    log = FirmwareLog(game=document, firmware=_SEALS_SINCE)
    log.load().draw("AS", "2C")
    for _ in range(2):
        log.draw("next", "next", "9D", "5S", "blank", "!void")
    values = [cbor2.loads(record) for record in log.records]
    opened = [at for at, each in enumerate(values, 1) if _kind(each) == "unsealed"]
    assert [values[at - 1][_OWN] for at in opened] == [b"", b""]
    closed = "4 cards of 2 rounds stay closed by the house's choice: no key opens them"
    assert _notes(values, document, kind="closed") == [(0, closed)]
    assert _notes(values, document) == []
