"""Reads the vectors of released versions of the protocol: old shoes and logs stay readable.

They are never edited. A new version may add fields after a `|` and words at the end, so that its
shapes still take all of these.
"""

import hashlib

from protocol.tests.helpers import each_case, same, value_of
from sabot_protocol import cbor, events, messages, schema

_SHA256 = {
    "core-10": "af8365a10418114de4392796e6fc329e39eff4d9abece3ceda09bd5a67986b43",
    "events-10": "2af24b8c435e6ac3c2067efd1b68b7d4dbdc93897a56ec48c96b447c51b573b0",
}
_FOLDER = __file__.rsplit("/", 2)[0] + "/vectors/"
_CORE = {
    "hello", "welcome", "firmware", "game", "challenge", "wrong_version", "ack", "event",
    "heartbeat", "problem", "reply", "signed", "status", "status_report", "read_events", "update",
    "update_part", "update_status", "update_report", "restart", "confirm",
}  # fmt: skip
"""What attaching, reading events and updating need: README.md, "Versions"."""
_KINDS_OF_10 = tuple(range(1, 44)) + tuple(range(46, 50))


def test_the_vectors_of_a_released_version_are_as_they_were_released():
    for name in _SHA256:
        with open(_FOLDER + name + ".json", "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
        where = "protocol/vectors/" + name + ".json is never edited: old shoes send what it has"
        assert digest == bytes.fromhex(_SHA256[name]), where


def test_the_core_of_version_10_is_read_and_written_by_this_one():
    seen = set()
    for case in each_case("core-10", "good"):
        shapes = messages.TO_DEVICE + messages.TO_HOST
        shape = next(shape for shape in shapes if shape.name == case["name"])
        _check(case, shape, ())
        assert shape.least is None or shape.name == "status_report", "the core gets no fields"
        seen.add(case["name"])
    assert seen == _CORE, seen


def test_the_core_is_listed_in_the_readme():
    with open(_FOLDER + "../README.md", encoding="utf-8") as file:
        text = file.read()
    listed = text.split("**The core.**")[1].split(";")[0]
    named = set(listed.split("`")[1::2])
    assert named | {"status_report"} == _CORE, named


def test_every_event_of_version_10_is_read_and_written_by_this_one():
    seen = set()
    for case in each_case("events-10", "good"):
        shape = next(shape for shape in events.KINDS if shape.name == case["name"])
        _check(case, shape, events.HEADER[1:])
        seen.add(shape.number)
    assert seen == set(_KINDS_OF_10), seen


def _check(case, shape, header):
    data = bytes.fromhex(case["hex"])
    number, *values = cbor.decode(data, 0, len(data))
    assert number == shape.number, shape.name
    known = len(shape.fields) if shape.least is None else shape.least
    fields = header + shape.fields[:known]
    assert len(values) == len(fields) == len(case["fields"]), case
    for i in range(len(fields)):
        name, kind = fields[i]
        assert same(values[i], value_of(case["fields"][name])), case
        assert schema.fits(kind, values[i]), case
    out = bytearray(len(data) + 1)
    assert bytes(out[: cbor.encode_into(out, 0, [number] + values)]) == data, case
