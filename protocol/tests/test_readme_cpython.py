"""Compares README.md with the code: its hex, its tables and its figures."""

import ast
import binascii
import hashlib
import hmac
import re
from pathlib import Path
from typing import Any

import cbor2
import pytest

from protocol.tests.helpers import vectors
from sabot_firmware.link import link
from sabot_protocol import (
    VERSION,
    baccarat,
    blackjack,
    cbor,
    chain,
    enums,
    events,
    frame,
    games,
    messages,
)
from sabot_protocol.schema import Shape
from sabot_protocol.sim import sim_channel

_FOLDER = Path(__file__).resolve().parents[1]
_README = (_FOLDER / "README.md").read_text(encoding="utf-8")
_MESSAGES = messages.TO_DEVICE + messages.TO_HOST + sim_channel.FROM_BENCH + sim_channel.TO_BENCH


def _section(title: str) -> str:
    """Return the text under the heading `title`, up to the next heading of its level or above."""
    level = re.search(rf"^(#+) {title}$", _README, re.M)
    assert level is not None, title
    rest = _README[level.end() :]
    end = re.search(rf"^#{{1,{len(level.group(1))}}} ", rest, re.M)
    return rest[: end.start()] if end else rest


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _README, re.M | re.S)


def _hex_block(block: str) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in block.splitlines())


def _value(text: str) -> Any:
    in_python = re.sub(r"h'([0-9a-f]*)'", lambda found: repr(bytes.fromhex(found.group(1))), text)
    in_python = re.sub(r"\b(false|true)\b", lambda found: found.group(1).title(), in_python)
    return ast.literal_eval(in_python)


@pytest.mark.parametrize("block", _blocks("hex"))
def test_hex_of_each_layer_is_right(block: str) -> None:
    lines = _hex_block(block)
    assert {"value", "cbor"} <= set(lines) <= {"value", "cbor", "crc", "frame"}
    payload = bytes.fromhex(lines["cbor"])
    assert cbor2.dumps(_value(lines["value"]), canonical=True) == payload
    assert cbor.decode(payload, 0, len(payload)) == _value(lines["value"])
    if "frame" in lines:
        crc = binascii.crc32(payload).to_bytes(4, "little")
        assert bytes.fromhex(lines["crc"]) == crc
        line = bytes.fromhex(lines["frame"])
        assert line.index(b"\0") == len(line) - 1
        assert frame.read_frame(line[:-1]) == payload
        out = bytearray(frame.MAX_FRAME)
        held = bytearray(payload) + bytes(frame.CRC_SIZE)
        assert out[: frame.write_frame(held, len(payload), out, 0)] == line


def test_there_is_hex_of_a_message_and_an_event() -> None:
    ack, card, event = [_value(_hex_block(block)["value"]) for block in _blocks("hex")]
    assert ack[0] == messages.ACK.number and card[0] == events.CARD.number
    number, record, mac = event
    assert number == messages.EVENT.number and record == cbor2.dumps(card, canonical=True)
    golden = {case["record"]: case["mac"] for case in vectors("chain")["records"]}
    assert golden[record.hex()] == mac.hex()


def test_the_example_of_the_audit_chain_is_right_and_of_the_event_above() -> None:
    (block,) = _blocks("chain")
    given = {name: bytes.fromhex(octets) for name, octets in _hex_block(block).items()}
    secrets = [given["S_0"]]
    while len(secrets) < 4:
        secrets.append(hashlib.sha256(b"sabot next" + secrets[-1]).digest())
    key = hashlib.sha256(b"sabot mac" + secrets[3]).digest()
    _, card, event = [_value(_hex_block(block)["value"]) for block in _blocks("hex")]
    assert card[1] == 15 and card[1] // 4 == 3
    records = {case["number"]: case for case in vectors("chain")["records"]}
    assert given == {
        "S_0": bytes.fromhex(vectors("chain")["first_key"]),
        "T_0": hashlib.sha256(b"sabot chain" + secrets[0]).digest()[: events.MAC_SIZE],
        "S_1": secrets[1],
        "S_2": secrets[2],
        "S_3": secrets[3],
        "M_3": key,
        "T_14": bytes.fromhex(records[14]["mac"]),
        "record_15": event[1],
        "T_15": event[2],
    }
    assert event[2] == hmac.digest(key, given["T_14"] + event[1], "sha256")[: events.MAC_SIZE]


def test_the_signed_command_is_that_of_the_definition() -> None:
    (block,) = _blocks("signed")
    given = {name: bytes.fromhex(octets) for name, octets in _hex_block(block).items()}
    assert given["S_0"] == bytes.fromhex(vectors("chain")["first_key"])
    assert given["K"] == hashlib.sha256(b"sabot command" + given["S_0"]).digest()
    assert cbor2.loads(given["command"]) == [messages.SET_CLOCK.number, 17, 1764000067000]
    answers = given["welcome"] + given["firmware"] + given["game"]
    for name, label, content in (
        ("proof", b"sabot shoe to host", answers),
        ("mac", b"sabot host to shoe", given["command"]),
    ):
        sized = bytes([16]) + given["challenge"] + len(content).to_bytes(2, "big") + content
        made = hmac.digest(given["K"], label + given["session"] + sized, "sha256")
        assert given[name] == made[: events.MAC_SIZE], name


def test_the_example_of_a_session_is_the_first_golden_vector() -> None:
    (block,) = _blocks("signed")
    given = {name: octets.replace(" ", "") for name, octets in _hex_block(block).items()}
    document = vectors("sessions")
    assert (given.pop("S_0"), given.pop("K")) == (document["first_key"], document["command_key"])
    assert given == document["sessions"][0]


def test_the_labels_of_a_session_are_those_of_the_definition() -> None:
    text = _section("Who may ask")
    for label in (chain.COMMAND_LABEL, chain.PROOF_LABEL):
        assert f"`{label.decode()}`" in text and len(label) == 18


def test_the_audit_chain_is_defined_with_its_figures() -> None:
    text = _section("Audit chain")
    labels = re.findall(r'SHA-256\("([a-z ]+)" \+ ', text)
    assert labels == ["sabot next", "sabot mac", "sabot chain"]
    assert text.count(f"first {events.MAC_SIZE} bytes |") == 2
    records = vectors("chain")["epoch_records"]
    assert f"n // {records} " in text and f"every {records} events" in text
    assert f"at most the {records} recorded" in text


@pytest.mark.parametrize("listed", [enums.GAP_REASONS, enums.JOURNAL_FAULTS], ids=["gap", "fault"])
def test_every_reason_of_a_gap_and_every_fault_of_the_journal_is_explained(
    listed: tuple[str, ...],
) -> None:
    rows = [row[0].strip("`") for row in _rows(_section("Events")) if len(row) == 2]
    at = rows.index(listed[0])
    assert tuple(rows[at : at + len(listed)]) == listed


def test_fields_that_are_macs_say_their_size() -> None:
    rows = [row for row in _rows(_README) if len(row) == 5 and row[2] in ("`mac`", "`chain`")]
    assert len(rows) == 5
    for row in rows:
        assert row[4].startswith(f"{events.MAC_SIZE}: "), row


def test_bytes_taken_apart_are_those_of_the_hex() -> None:
    taken_apart = [
        "".join(re.findall(r"\b[0-9a-f]{2}\b", re.split(r"  +", line.strip())[0]))
        for block in _blocks("text")[1:]
        for line in block.splitlines()
    ]
    whole = "".join(taken_apart)
    for block in _blocks("hex")[:2]:
        lines = _hex_block(block)
        for name in ("cbor", "frame"):
            if name in lines:
                assert lines[name].replace(" ", "") in whole, lines[name]


def _table(title: str) -> list[tuple[int, str, list[tuple[str, str]]]]:
    """Return number, name and fields (name, type) of each entry of the tables under `title`."""
    listed: list[tuple[int, str, list[tuple[str, str]]]] = []
    for row in _rows(_section(title)):
        if len(row) != 5 or row[0] == "no." or row[0].startswith("-"):
            continue
        number, name, field, kind, _ = row
        if name:
            listed.append((int(number or 0), name.strip("`"), []))
        else:
            assert not number
        if field:
            listed[-1][2].append((field.strip("`"), kind))
    return listed


def _expected(shapes: tuple[Shape, ...]) -> list[tuple[int, str, list[tuple[str, str]]]]:
    found = [(shape.number, shape.name, list(shape.fields)) for shape in shapes]
    return sorted(found)


@pytest.mark.parametrize(
    ("title", "shapes"),
    [
        ("Host to device", messages.TO_DEVICE),
        ("Device to host", messages.TO_HOST),
        ("Bench", sim_channel.FROM_BENCH + sim_channel.TO_BENCH),
        (
            "Events",
            (events.HEAD, *events.KINDS),
        ),
    ],
)
def test_tables_list_every_number_name_and_field(title: str, shapes: tuple[Shape, ...]) -> None:
    listed = {name: (number, fields) for number, name, fields in _table(title)}
    for number, name, fields in _expected(shapes):
        where = f'protocol/README.md, the table of "{title}"'
        assert name in listed, f"{name} is missing: add it to {where}"
        assert listed[name] == (number, fields), f"{name} differs from {where}"
    assert _table(title) == _expected(shapes)


def test_the_table_of_commands_says_who_may_ask_and_what_answers() -> None:
    who = {messages.OPEN: "open", messages.PROVEN: "proven", messages.IN_SIGNED: "signed"}
    rows = {row[0].strip("`"): row[1:] for row in _rows(_section("The link")) if len(row) == 3}
    commands = [shape for shape in messages.TO_DEVICE if shape.by is not None]
    for shape in commands:
        expected = [who[shape.by or 0], f"`{(shape.answer or messages.REPLY).name}`"]
        where = 'protocol/README.md, the table of "Commands"'
        assert rows.get(shape.name) == expected, f"{shape.name} is {expected}: put it into {where}"
    listed = list(rows)[2 : 2 + len(commands)]
    assert sorted(listed) == sorted(shape.name for shape in commands)
    named = [row[0] for row in _rows(_section("Who may ask")) if len(row) == 2]
    assert named[2:] == list(who.values())


def test_who_may_ask_leads_to_the_table_that_says_what_anyone_may_ask() -> None:
    said = 'ask what is "open" in the table of [commands](#the-link)'
    assert said in " ".join(_section("Who may ask").split())
    opened = [row[0].strip("`") for row in _rows(_section("The link")) if row[1:2] == ["open"]]
    assert opened == [shape.name for shape in messages.TO_DEVICE if shape.by == messages.OPEN]


def test_every_refusal_is_explained() -> None:
    rows = [row[0].strip("`") for row in _rows(_section("Refusals")) if len(row) == 3][2:]
    refusals = enums.REFUSALS
    for place in range(len(refusals)):
        assert refusals[place] in rows, f'{refusals[place]}: add it to README.md, "Refusals"'
    assert rows == [refusals[place] for place in range(len(refusals))]


def test_bench_messages_name_their_sender() -> None:
    rows = {row[1].strip("`"): row[4] for row in _rows(_section("Bench")) if len(row) == 5}
    for shape in sim_channel.FROM_BENCH:
        assert rows[shape.name].startswith("To the shoe: "), shape.name
    for shape in sim_channel.TO_BENCH:
        assert rows[shape.name].startswith("From the shoe: "), shape.name


def test_types_are_named() -> None:
    named = " ".join(row[0] for row in _rows(_section("Types")))
    for shape in (*_MESSAGES, *events.KINDS, events.HEAD):
        for _, kind in shape.fields:
            name = kind.rstrip("?")
            assert name in enums.ENUMERATIONS or re.search(rf"\b{name}\b", named), kind


def test_enumerations_are_named_as_in_enums_py() -> None:
    listed = re.findall(r"`(\w+)` in `([A-Z_]+)`", _section("Types"))
    assert listed
    for kind, name in listed:
        assert enums.ENUMERATIONS[kind] is getattr(enums, name)


def test_game_document_table_lists_every_key() -> None:
    rows = [row for row in _rows(_section("The game document")) if len(row) == 3]
    assert [row[0].strip("`") for row in rows[2:]] == list(baccarat.MINI)
    values = {row[0].strip("`"): row[2] for row in rows}
    assert values["version"] == str(games.DOCUMENT_VERSION)
    for field, allowed in (
        ("burn", games.BURNS),
        ("turned_by", baccarat.TURNED_BY),
        ("shown", games.SHOWN),
        ("betting_closed_by", games.BETTING_CLOSED_BY),
        ("rules", games.RULES),
        ("order", (baccarat.ORDER,)),
    ):
        assert re.findall(r"`(\w+)`", values[field])[: len(allowed)] == list(allowed), field
    assert f"at most {games.MAX_HOUSE} choices" in values["house"]


def test_wagers_table_lists_every_wager_with_its_hits() -> None:
    rows = [row for row in _rows(_section("The game document")) if len(row) == 2]
    listed = {}
    for names, hits in rows[2:]:
        for wager in re.findall(r"`(\w+)`", names):
            listed[wager] = [] if hits == "none" else re.findall(r"`(\w+)`", hits) or [wager]
    own = {wager: list(hits) for wager, hits in baccarat.HITS_OF_WAGER.items()}
    named = listed.pop("cover_all")
    assert named == ["fortune_7", "golden_8", "heavenly_9", "blazing_7s"]
    assert own.pop("cover_all") == [hit for wager in named for hit in listed[wager]]
    assert listed == own


def test_sizes_are_those_of_the_code() -> None:
    rows = dict(_rows(_section("Sizes"))[2:])
    assert list(rows.values()) == [
        str(size)
        for size in (
            frame.MAX_PAYLOAD,
            frame.MAX_FRAME,
            events.MAX_SIZE,
            events.MAC_SIZE,
            games.MAX_DOCUMENT,
        )
    ]
    for words in (
        f"Version {VERSION}.",
        f"1 to {frame.MAX_PAYLOAD} bytes",
        f"at most {sim_channel.MAX_SAMPLE_BYTES} bytes",
        f"1 to {messages.MAX_RUN_BYTES} bytes; a run may go on",
        f"1 to {messages.MAX_GAME_PART} bytes of it",
        f"more than {cbor.MAX_DEPTH} deep",
        f"{games.MAX_DOCUMENT} bytes at most",
        f"bytes: {frame.MAX_PAYLOAD}",
    ):
        assert words in _README, f"protocol/README.md does not say: {words}"
    assert binascii.crc32(b"123456789") == 0xCBF43926 and "cbf43926" in _README


def test_times_and_the_window_are_those_of_the_code() -> None:
    text = " ".join(_section("The link").split())
    commands = [shape.number for shape in messages.TO_DEVICE if shape.fields[0][0] == "id"]
    for words in (
        f"at most {link.WINDOW} beyond the last acknowledged one (`WINDOW`)",
        f"{link.RESEND_MS} ms passed without progress (`RESEND_MS`) since the line took the last",
        f"at most once in {link.REWIND_PAUSE_MS} ms (`REWIND_PAUSE_MS`)",
        f"`heartbeat` every {messages.HEARTBEAT_MS} ms",
        f"nothing good for {messages.SILENCE_MS} ms",
        f"Numbers from {min(commands)} on",
    ):
        assert words in text, f'protocol/README.md, section "The link", does not say: {words}'


def test_every_problem_is_explained() -> None:
    for problem in enums.PROBLEMS:
        assert f"`{problem}` (" in _section("The link")


def test_every_vector_file_is_named_and_every_named_file_is_there() -> None:
    named = set(re.findall(r"`vectors/([\w-]+\.json)`", _section("Golden vectors")))
    assert named == {path.name for path in (_FOLDER / "vectors").glob("*.json")}
    for target in re.findall(r"\]\(([\w./-]+)\)", _README):
        assert (_FOLDER / target).exists(), target


def test_game_document_of_blackjack_lists_its_keys_and_words() -> None:
    rows = [row for row in _rows(_section("The game document of blackjack")) if len(row) == 3]
    own = blackjack.BlackjackGame.FIELDS.split()[len(games.FamilyGame.FIELDS.split()) :]
    values = {row[0].strip("`"): row[2] for row in rows[2:]}
    assert list(values) == ["family", *own]
    for field, allowed in (
        ("hole_card", blackjack.HOLE_CARD),
        ("soft_17", blackjack.SOFT_17),
        ("looks", blackjack.LOOKS),
        ("double_on", blackjack.DOUBLE_ON),
        ("split_aces", blackjack.SPLIT_ACES),
        ("split_by", blackjack.SPLIT_BY),
        ("surrender", blackjack.SURRENDER),
    ):
        assert re.findall(r"`(\w+)`", values[field])[: len(allowed)] == list(allowed), field
