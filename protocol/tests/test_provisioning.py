"""The document that makes a board a unit: what is accepted, and every way to make it wrong."""

from protocol.tests.helpers import raised
from sabot_protocol import baccarat, cbor, games, provisioning

_GOOD = {
    "version": 1,
    "unit": "SHOE-7",
    "table": "12",
    "set": 3,
    "when_full": "stop",
    "game": baccarat.document_of("mini"),
    "release_key": b"r" * 32,
    "first_key": b"f" * 32,
}


def _document(**changed):
    value = dict(_GOOD)
    value.update(changed)
    buf = bytearray(3000)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _without(field):
    value = dict(_GOOD)
    del value[field]
    buf = bytearray(3000)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _refused(document):
    return raised(provisioning.ProvisioningError, provisioning.Provisioning, document)


def test_a_good_document_is_accepted_with_its_values():
    read = provisioning.Provisioning(_document())
    assert (read.unit, read.table, read.card_set, read.when_full) == ("SHOE-7", "12", 3, "stop")
    assert (read.game, read.release_key) == (_GOOD["game"], b"r" * 32)
    assert read.first_key == b"f" * 32
    assert provisioning.Provisioning(_without("first_key")).first_key is None
    for changed in (
        {"unit": "a"},
        {"unit": "A-z_0.9" + "x" * 25},
        {"table": "x" * 64},
        {"table": "é" * 32},
        {"set": 0},
        {"set": 12},
        {"when_full": "go_on"},
    ):
        provisioning.Provisioning(_document(**changed))


def test_a_missing_or_an_extra_field_is_refused():
    for field in _GOOD:
        assert field == "first_key" or _refused(_without(field)), field
    assert _refused(_document(more=1))


def test_a_field_of_another_type_or_out_of_range_is_refused():
    spoiled = {
        "version": (0, 2, None, "1", True),
        "unit": ("", "x" * 33, "a b", "a/b", "é", 7, b"a", None, "\x1b[2J"),
        "table": ("", "x" * 65, "é" * 33, 7, b"a", None),
        "set": (-1, 13, "3", None, True, 1 << 40),
        "when_full": ("", "wait", 0, None, True),
        "game": (b"", b"\xff", bytes(901), "mini", None, baccarat.document_of("mini")[:-1]),
        "release_key": (b"", b"r" * 31, b"r" * 33, "r" * 32, None),
        "first_key": (b"", b"f" * 31, b"f" * 33, "f" * 32, None),
    }
    assert set(spoiled) == set(_GOOD)
    for field in spoiled:
        for value in spoiled[field]:
            assert _refused(_document(**{field: value})), (field, value)


def test_bytes_that_are_not_a_document_are_refused():
    for data in (b"", b"\xff", b"\xa0", b"\x80", b"\x01", _document()[:-1], _document() + b"\0"):
        assert _refused(data), data
    assert _refused(bytes(provisioning.MAX_DOCUMENT + 1))


def test_the_largest_document_fits():
    game = dict(baccarat.MINI)
    game["title"], game["source"] = "t" * 40, "s" * 120
    game["house"] = {"note": "x" * 300}
    assert len(games.encode(game)) > games.MAX_DOCUMENT - 200
    largest = _document(unit="x" * 32, table="x" * 64, when_full="go_on", set=12)
    rest = len(largest) - len(_GOOD["game"])
    assert rest + games.MAX_DOCUMENT <= provisioning.MAX_DOCUMENT
