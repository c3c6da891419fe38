"""Compares sabot.cddl with the golden vectors, and with the shapes field by field.

pycddl 0.6.4 is more lenient than RFC 8610, and the values here avoid these cases: for a range and
for `.size` it does not distinguish a number, a text and a byte string of that length, and it does
not check arrays inside an array closely. It also takes a field for the rule of the same name.
"""

import re
from pathlib import Path
from typing import Any

import cbor2
import pycddl
import pytest

from firmware.tests.support import boxes
from protocol.tests.helpers import each_case, vectors
from sabot_protocol import (
    OLDEST,
    VERSION,
    baccarat,
    blackjack,
    cards,
    enums,
    events,
    frame,
    games,
    holdem,
    messages,
)
from sabot_protocol.schema import Shape
from sabot_protocol.sim import sim_channel

_CDDL = (Path(__file__).resolve().parents[1] / "sabot.cddl").read_text(encoding="utf-8")
_SHAPES = messages.TO_DEVICE + messages.TO_HOST + sim_channel.FROM_BENCH + sim_channel.TO_BENCH
_SCHEMAS: dict[str, pycddl.Schema] = {}

_WRONG_TYPES: dict[str, tuple[Any, ...]] = {
    "uint": (-1, None, True, "1", bytes(200), {}, 1.0),
    "int": (None, True, "1", bytes(200), {}, 1.0),
    "flag": (0, 1, None, "true"),
    "text": (0, None, True, b"", {}),
    "bytes": (None, True, "a" * 500, {}),
}


def _rules(choice: str) -> dict[int, str]:
    """Return the rules of `choice`, and of choices in it, by the number that they begin with."""
    found = {}
    body = re.search(rf"^{choice} = ([^\[;]*?)\n\n", _CDDL, re.M)
    assert body is not None, choice
    for rule in re.split(r"[\s/]+", body.group(1)):
        number = re.search(rf"^{rule} = \[\s*(\d+)\b", _CDDL, re.M)
        found.update({int(number.group(1)): rule} if number else _rules(rule))
    return found


_MESSAGE_RULES, _EVENT_RULES = _rules("message"), _rules("event")


def _rule(shape: Shape) -> str:
    event = shape in events.KINDS
    rules, choice = (_EVENT_RULES, "event") if event else (_MESSAGE_RULES, "message")
    assert shape.number in rules, (
        f"protocol/sabot.cddl has no rule for {shape.name}: add one, and its name to `{choice}`"
    )
    return rules[shape.number]


def _valid(rule: str, data: bytes) -> bool:
    if rule not in _SCHEMAS:
        _SCHEMAS[rule] = pycddl.Schema(f"root-of-test = {rule}\n{_CDDL}")
    try:
        _SCHEMAS[rule].validate_cbor(data)
    except pycddl.ValidationError:
        return False
    return True


def _good(document: str) -> list[tuple[str, bytes]]:
    return [(case["name"], bytes.fromhex(case["hex"])) for case in vectors(document)["good"]]


def _sample(shape: Shape) -> list[Any]:
    cases = _good("events" if shape in events.KINDS else "messages")
    sample = next((cbor2.loads(data) for name, data in cases if name == shape.name), None)
    assert sample is not None, f"{shape.name} has no good vector: add one to protocol/vectors/"
    return list(sample)


def test_every_shape_has_a_rule_and_every_rule_a_shape() -> None:
    for shape in (*_SHAPES, *events.KINDS):
        _rule(shape)
    for rules, shapes in ((_MESSAGE_RULES, _SHAPES), (_EVENT_RULES, events.KINDS)):
        known = {shape.number for shape in shapes}
        for number, rule in rules.items():
            assert number in known, f"protocol/sabot.cddl has {rule}, which is defined nowhere"


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "document"), [("message", "messages"), ("event", "events")])
def test_golden_vectors_are_valid(rule: str, document: str) -> None:
    wrong = [(name, data.hex()) for name, data in _good(document) if not _valid(rule, data)]
    assert not wrong


@pytest.mark.parametrize(("rule", "document"), [("message", "messages"), ("event", "events")])
def test_bad_golden_vectors_are_not_valid(rule: str, document: str) -> None:
    bad = [(case["why"], bytes.fromhex(case["hex"])) for case in vectors(document)["bad"]]
    tried = [(why, data) for why, data in bad if _can_judge(data)]
    assert len(tried) > len(bad) * 0.8
    taken = [(why, data.hex()) for why, data in tried if _valid(_only_rule(rule, data), data)]
    assert not taken


def _only_rule(choice: str, data: bytes) -> str:
    """Return the one rule of `choice` that begins with the number in `data`, or `choice` if none
    does. To try them all takes a hundred times as long."""
    value = cbor2.loads(data)
    number = value[0] if isinstance(value, list) and value else None
    rules = _EVENT_RULES if choice == "event" else _MESSAGE_RULES
    return rules.get(number, choice) if type(number) is int else choice


def _can_judge(data: bytes) -> bool:
    """Whether pycddl can judge `data`.

    CDDL describes values, not their encodings. pycddl ignores bytes after the first item, does not
    check arrays in arrays closely, and takes undefined for null.
    """
    try:
        value = cbor2.loads(data)
    except cbor2.CBORDecodeError:
        return False
    items = value if isinstance(value, list) else []
    if any(isinstance(item, list) or item is cbor2.undefined for item in items):
        return False
    return bool(cbor2.dumps(value, canonical=True) == data)


def test_golden_records_are_valid_events() -> None:
    records = [cbor2.loads(data)[1] for name, data in _good("messages") if name == "event"]
    assert records and all(_valid("event", record) for record in records)


@pytest.mark.slow
def test_the_golden_chain_is_of_valid_events_and_macs() -> None:
    for case in vectors("chain")["records"]:
        record, mac = bytes.fromhex(case["record"]), bytes.fromhex(case["mac"])
        assert _valid("event", record), case["number"]
        assert _valid("event-message", cbor2.dumps([messages.EVENT.number, record, mac]))


@pytest.mark.parametrize(
    ("shape", "field"),
    [
        (messages.EVENT, "mac"),
        (events.BOOT, "chain"),
        (events.GAP, "mac"),
        (events.CHECKPOINT, "mac"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_mac_has_its_size_and_no_other(shape: Shape, field: str) -> None:
    sample = _sample(shape)
    fields = (events.HEADER[1:] if shape in events.KINDS else ()) + shape.fields
    place = 1 + [name for name, _ in fields].index(field)
    allowed = (0, events.MAC_SIZE) if shape is events.GAP else (events.MAC_SIZE,)
    for size in (0, 1, events.MAC_SIZE - 1, events.MAC_SIZE, events.MAC_SIZE + 1, 32):
        changed = [*sample[:place], bytes(size), *sample[place + 1 :]]
        assert _valid(_rule(shape), cbor2.dumps(changed)) == (size in allowed), size


def _spoiled(kind: str) -> tuple[Any, ...]:
    """Values that a field of type `kind` must not have."""
    name = kind.rstrip("?")
    if name == "card":
        values = (*_WRONG_TYPES["uint"], 54)
    elif name in enums.ENUMERATIONS:
        values = (*_WRONG_TYPES["uint"], len(enums.ENUMERATIONS[name]))
    else:
        values = _WRONG_TYPES[name]
    return tuple(value for value in values if value is not None or not kind.endswith("?"))


def _edges(kind: str) -> tuple[Any, ...]:
    """Values that a field of type `kind` must be able to have."""
    name = kind.rstrip("?")
    edges: tuple[Any, ...] = (None,) if kind.endswith("?") else ()
    if name == "card":
        return (*edges, 0, 53)
    if name in enums.ENUMERATIONS:
        return (*edges, 0, len(enums.ENUMERATIONS[name]) - 1)
    return (*edges, True, False) if name == "flag" else edges


def _check_fields(shape: Shape, fields: tuple[tuple[str, str], ...]) -> None:
    rule, sample = _rule(shape), _sample(shape)
    assert _valid(rule, cbor2.dumps(sample))
    for i, (name, kind) in enumerate(fields, 1):
        for value in _edges(kind):
            changed = [*sample[:i], value, *sample[i + 1 :]]
            assert _valid(rule, cbor2.dumps(changed)), (shape.name, name, value)
        for value in _spoiled(kind):
            changed = [*sample[:i], value, *sample[i + 1 :]]
            assert not _valid(rule, cbor2.dumps(changed)), (shape.name, name, value)
    assert not _valid(rule, cbor2.dumps(sample[:-1])), shape.name
    assert not _valid(rule, cbor2.dumps([*sample, 0])), shape.name
    assert not _valid(rule, cbor2.dumps([*sample, None])), shape.name
    assert not _valid(rule, cbor2.dumps([shape.number + 1, *sample[1:]])), shape.name


@pytest.mark.parametrize("shape", _SHAPES, ids=lambda shape: shape.name)
def test_every_field_of_a_message_has_its_type(shape: Shape) -> None:
    _check_fields(shape, shape.fields)


@pytest.mark.parametrize("shape", events.KINDS, ids=lambda shape: shape.name)
def test_every_field_of_an_event_has_its_type(shape: Shape) -> None:
    _check_fields(shape, events.HEADER[1:] + shape.fields)


def test_names_of_fields_are_those_of_the_shapes() -> None:
    for shape in (*_SHAPES, *events.KINDS):
        body = re.search(rf"^{_rule(shape)} = \[(.*?)\]", _CDDL, re.M | re.S)
        assert body is not None
        header = [name for name, _ in events.HEADER[1:]] if shape in events.KINDS else []
        expected = [*header, *(name for name, _ in shape.fields)]
        assert re.findall(r"(\w+): ", body.group(1)) == expected, shape.name


_CDDL_TYPES = {
    "uint": r"uint|counted|decks|point|protocol-version|\d+|\d+\.\.\d+",
    "int": r"int",
    "flag": r"bool",
    "text": r"tstr|game-name",
    "bytes": r"bstr|bstr \.size (\d+|\(\d+\.\.\d+\))|sha256|mac|mac-or-none|key-or-none|record",
    "card": r"card-number",
}
"""The rules that a field of each type may have. An enumeration has a rule of its own name."""
_OR_NULL = {"uint": "(uint|set)-or-null", "int": "int-or-null", "card": "card-or-null"}


@pytest.mark.parametrize("shape", (*_SHAPES, *events.KINDS), ids=lambda shape: shape.name)
def test_a_field_has_the_rule_of_its_type(shape: Shape) -> None:
    body = re.search(rf"^{_rule(shape)} = \[(.*?)\]", _CDDL, re.M | re.S)
    assert body is not None
    given = dict(re.findall(r"(\w+): ([^,;\n]+?)\s*(?:,|;|$)", body.group(1), re.M))
    for name, kind in shape.fields:
        plain = kind.rstrip("?")
        if plain in enums.ENUMERATIONS:
            expected = plain.replace("_", "-")
        else:
            expected = _CDDL_TYPES[plain]
            if kind.endswith("?"):
                expected = _OR_NULL.get(plain, rf"({expected}) / null")
        where = f"protocol/sabot.cddl: {shape.name}.{name} is {given.get(name)}, not {expected}"
        assert re.fullmatch(expected, given.get(name, "")), where


def test_enumerations_name_their_words() -> None:
    for kind, enumeration in enums.ENUMERATIONS.items():
        rule = f"{kind.replace('_', '-')} = 0..{len(enumeration) - 1} "
        line = next((line for line in _CDDL.splitlines() if line.startswith(rule)), None)
        assert line is not None, rule
        listed = getattr(enums, line.split(";")[1].strip())
        assert listed is enumeration


def test_the_version_is_that_of_the_protocol() -> None:
    where = f"protocol/sabot.cddl is not of version {VERSION}"
    assert f"; Version {VERSION}." in _CDDL.splitlines()[:4], where
    rule = f"protocol-version = uint .ge {OLDEST}"
    assert rule in _CDDL.splitlines(), f"protocol/sabot.cddl does not say {rule}"


def test_sizes_are_those_of_the_code() -> None:
    assert f"max_payload: {frame.MAX_PAYLOAD}\n" in _CDDL
    assert f"bstr .size (8..{events.MAX_SIZE})" in _CDDL
    assert f"mac = bstr .size {events.MAC_SIZE} " in _CDDL
    assert f"bstr .size (4..{sim_channel.MAX_SAMPLE_BYTES})" in _CDDL
    assert f"runs: bstr .size (1..{messages.MAX_RUN_BYTES})" in _CDDL
    assert f"counts: bstr .size {cards.DECK_SIZE}," in _CDDL
    assert f"at most {games.MAX_DOCUMENT} bytes" in _CDDL
    assert f"version: {games.DOCUMENT_VERSION},\n" in _CDDL
    assert f"house: {{ 0*{games.MAX_HOUSE} tstr" in _CDDL
    assert f"hits: uint,  ; a bit for each of HITS, {len(enums.HITS)}\n" in _CDDL
    assert f"wagers: [1*{len(baccarat.HITS_OF_WAGER)} wager]" in _CDDL
    assert f'"({"|".join(baccarat.HITS_OF_WAGER)})"' in _CDDL


def _game(**changed: object) -> bytes:
    return cbor2.dumps({**baccarat.MINI, **changed}, canonical=True)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        *({"burn": burn} for burn in games.BURNS),
        *({"turned_by": by} for by in baccarat.TURNED_BY),
        *({"shown": shown} for shown in games.SHOWN),
        *({"betting_closed_by": by} for by in games.BETTING_CLOSED_BY),
        *({"rules": rules} for rules in games.RULES),
        {"announced": False},
        {"burn_ace": 11},
        {"wagers": list(baccarat.HITS_OF_WAGER)},
        {"house": {}},
        {"house": {str(n): n for n in range(games.MAX_HOUSE)}},
        {"house": {"odds": "40", "gallery": False}},
    ],
    ids=str,
)
def test_good_games_are_valid(changed: dict[str, object]) -> None:
    assert _valid("baccarat-document", _game(**changed))
    baccarat.Game(_game(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 0},
        {"version": 1},
        {"version": 2},  # with the fields of version 3
        {"version": 4},
        {"version": True},
        {"name": ""},
        {"name": "x" * 65},
        {"name": 0},
        {"title": ""},
        {"title": "x" * 161},
        {"source": None},
        {"source": ""},
        {"decks": 0},
        {"decks": 9},
        {"decks": 11},
        {"decks": "8"},
        {"rounds_after_cut": 3},
        {"rounds_after_cut": -1},
        {"cut_from_end": 0},
        {"cut_from_end": 105},
        {"cut_from_end": None},
        {"player_draws": [10]},
        {"player_draws": [-1]},
        {"player_draws": [True]},
        {"player_draws": list(range(10)) + [9]},
        {"player_draws": None},
        {"banker_draws": None},
        {"banker_draws": [[10]] * 10},
        {"banker_draws_if_player_stood": ["1"]},
        {"order": "PPBB"},
        {"order": None},
        {"burn": "two"},
        {"burn": 1},
        {"burn_ace": 0},
        {"burn_ace": 12},
        {"turned_by": "player"},
        {"shown": "never"},
        {"betting_closed_by": "player"},
        {"rules": "nevada"},
        {"announced": 1},
        {"announced": None},
        {"wagers": []},
        {"wagers": ["chemin"]},
        {"wagers": [1]},
        {"wagers": "tie"},
        {"house": None},
        {"house": []},
        {"house": {"odds": -1}},
        {"house": {"odds": None}},
        {"house": {str(n): n for n in range(games.MAX_HOUSE + 1)}},
        {"tie_pays": 8},
    ],
    ids=str,
)
def test_spoiled_games_are_not_valid(changed: dict[str, object]) -> None:
    assert not _valid("baccarat-document", _game(**changed))
    with pytest.raises(games.GameError):
        baccarat.Game(_game(**changed))


def test_a_document_of_each_family_is_a_game_document() -> None:
    for document in (_game(), _blackjack(), cbor2.dumps(holdem.HOLDEM, canonical=True)):
        assert _valid("game-document", document)


def _blackjack(**changed: object) -> bytes:
    return cbor2.dumps({**boxes.HOUSE, **changed}, canonical=True)


_BLACKJACK_WORDS = {
    "hole_card": blackjack.HOLE_CARD, "soft_17": blackjack.SOFT_17, "looks": blackjack.LOOKS,
    "double_on": blackjack.DOUBLE_ON, "split_aces": blackjack.SPLIT_ACES,
    "split_by": blackjack.SPLIT_BY, "surrender": blackjack.SURRENDER,
}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        *({name: word} for name, words in _BLACKJACK_WORDS.items() for word in words),
        {"boxes": 1}, {"hands_of_box": 3}, {"resplit_aces": True}, {"double_after_split": False},
        {"house": {str(n): n for n in range(blackjack.BlackjackGame.MAX_HOUSE)}},
    ],
    ids=str,
)  # fmt: skip
def test_good_games_of_blackjack_are_valid(changed: dict[str, object]) -> None:
    if changed.get("hole_card") == "none":
        changed = {**changed, "looks": "never"}
    assert _valid("blackjack-document", _blackjack(**changed))
    assert isinstance(games.game_of(_blackjack(**changed)), blackjack.BlackjackGame)


@pytest.mark.parametrize(
    "changed",
    [
        *({name: "other"} for name in _BLACKJACK_WORDS),
        {"family": "rummy"}, {"boxes": 0}, {"boxes": 8}, {"hands_of_box": 1}, {"hands_of_box": 5},
        {"resplit_aces": 1}, {"double_after_split": "yes"}, {"shown": "after_reveal"},
        {"rules": "pairs"}, {"order": "PBPB"}, {"version": 2},
        {"house": {str(n): n for n in range(blackjack.BlackjackGame.MAX_HOUSE + 1)}},
    ],
    ids=str,
)  # fmt: skip
def test_spoiled_games_of_blackjack_are_not_valid(changed: dict[str, object]) -> None:
    assert not _valid("blackjack-document", _blackjack(**changed))
    with pytest.raises(games.GameError):
        games.game_of(_blackjack(**changed))


@pytest.mark.parametrize("field", boxes.HOUSE)
def test_games_of_blackjack_without_a_field_are_refused(field: str) -> None:
    value = {name: boxes.HOUSE[name] for name in boxes.HOUSE if name != field}
    document = cbor2.dumps(value, canonical=True)
    assert not _valid("blackjack-document", document)
    with pytest.raises(games.GameError):
        games.game_of(document)


@pytest.mark.parametrize("field", baccarat.MINI)
def test_games_without_a_field_are_not_valid(field: str) -> None:
    value = {name: baccarat.MINI[name] for name in baccarat.MINI if name != field}
    assert not _valid("baccarat-document", cbor2.dumps(value, canonical=True))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"seats": 2},
        {"run_it_twice": False},
        {"betting_closed_by": "dealer"},
        {"house": {"voided_cards": "never", "rake_permille": 50}},
    ],
    ids=str,
)
def test_good_games_of_hold_em_are_valid(changed: dict[str, object]) -> None:
    document = cbor2.dumps({**holdem.HOLDEM, **changed}, canonical=True)
    assert _valid("holdem-document", document) and not _valid("blackjack-document", document)
    assert games.game_of(document).family == "holdem"


@pytest.mark.parametrize(
    "changed",
    [{"seats": 1}, {"seats": 11}, {"run_it_twice": 1}, {"decks": 2}, {"family": "baccarat"}]
    + [{"shown": "after_reveal"}, {"burn": "one"}, {"betting_closed_by": "player"}]
    + [{"rules": "pairs"}, {"house": []}, {"announced": True}, {"cut_from_end": 16}],
    ids=str,
)
def test_spoiled_games_of_hold_em_are_not_valid(changed: dict[str, object]) -> None:
    document = cbor2.dumps({**holdem.HOLDEM, **changed}, canonical=True)
    assert not _valid("holdem-document", document)
    with pytest.raises(games.GameError):
        games.game_of(document)


def test_cases_that_are_read_one_at_a_time_are_those_of_the_document() -> None:
    for name in ("messages", "events"):
        for part in ("good", "bad"):
            assert list(each_case(name, part)) == vectors(name)[part]
