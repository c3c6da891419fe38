"""The golden audit chain, compared with its definition in README.md and nothing else.

No code of the shoe or the host is used: the MACs are made here, out of SHA-256 alone.
"""

import hashlib
import random

from protocol.tests.helpers import seed_random, vectors
from sabot_protocol import cbor, events

_BLOCK = 64
_KINDS = {shape.number: shape for shape in events.KINDS}


def _sha256(data):
    return hashlib.sha256(data).digest()


def _hmac(key, message):
    """HMAC-SHA-256 as in RFC 2104, for keys of one block at most."""
    key = key + bytes(_BLOCK - len(key))
    inner = _sha256(bytes([octet ^ 0x36 for octet in key]) + message)
    return _sha256(bytes([octet ^ 0x5C for octet in key]) + inner)


class _Golden:
    """vectors/chain.json: `kept` has (number, record, mac) of the host's events, `whole` of all."""

    def __init__(self):
        document = vectors("chain")
        self.first_key = bytes.fromhex(document["first_key"])
        self.chain = bytes.fromhex(document["chain"])
        self.epoch_records = document["epoch_records"]
        self.epochs = [_epoch(noted) for noted in document["epochs"]]
        self.far_epoch = _epoch(document["far_epoch"])
        self.keys = [key for _, _, key in self.epochs]
        self.whole, self.kept = [], []
        for case in document["records"]:
            record = bytes.fromhex(case["record"]), bytes.fromhex(case["mac"])
            self.whole.append((case["number"],) + record)
            if not case.get("lost"):
                self.kept.append((case["number"],) + record)

    def mac(self, number, before, record):
        """Return the MAC that event `number` must have; `before` is that of the previous event."""
        return _hmac(self.keys[number // self.epoch_records], before + record)[:16]


def _epoch(noted):
    return noted["epoch"], bytes.fromhex(noted["secret"]), bytes.fromhex(noted["mac_key"])


def _fields(record):
    """Return the name of an event's kind, and its fields."""
    values = cbor.decode(record, 0, len(record))
    shape = _KINDS[values[0]]
    shape.check(values[len(events.HEADER) :])
    names = [name for name, _ in events.HEADER + shape.fields]
    return shape.name, {names[i]: values[i] for i in range(len(names))}


def _of_kind(records, name):
    found = []
    for number, record, _ in records:
        kind, fields = _fields(record)
        if kind == name:
            found.append((number, fields))
    return found


def _gaps(records):
    return {fields["last"]: fields for _, fields in _of_kind(records, "gap")}


def _first_wrong(golden, records, gaps):
    """Return the number of the first event that breaks the chain; None if all of it is good."""
    before, due = golden.chain, 1
    for number, record, mac in records:
        if number != due:
            if number - 1 not in gaps or gaps[number - 1]["first"] != due:
                return number
            before = gaps[number - 1]["mac"]
        if mac != golden.mac(number, before, record):
            return number
        before, due = mac, number + 1
    return None


def test_the_hmac_of_these_tests_is_that_of_rfc_4231():
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert _hmac(b"Jefe", b"what do ya want for nothing?").hex() == expected


def test_secrets_and_keys_follow_from_the_first_key():
    golden = _Golden()
    assert len(golden.first_key) == 32
    assert golden.chain == _sha256(b"sabot chain" + golden.first_key)[: events.MAC_SIZE]
    secret, at = golden.first_key, 0
    for epoch, noted, key in golden.epochs + [golden.far_epoch]:
        while at < epoch:
            secret = _sha256(b"sabot next" + secret)
            at += 1
        assert noted == secret and key == _sha256(b"sabot mac" + secret), epoch
    assert [epoch for epoch, _, _ in golden.epochs] == list(range(len(golden.epochs)))
    assert golden.far_epoch[0] > 255


def test_every_mac_follows_from_the_previous_one():
    golden = _Golden()
    before = golden.chain
    for number, record, mac in golden.whole:
        assert mac == golden.mac(number, before, record), number
        before = mac
    assert [number for number, _, _ in golden.whole] == list(range(1, len(golden.whole) + 1))


def test_the_records_are_events_with_those_numbers():
    golden = _Golden()
    for number, record, mac in golden.whole:
        name, fields = _fields(record)
        assert fields["number"] == number and len(mac) == events.MAC_SIZE, name
    assert max([len(record) for _, record, _ in golden.whole]) == events.MAX_SIZE


def test_boots_name_the_chain_and_checkpoints_and_gaps_hold_macs_of_it():
    golden = _Golden()
    macs = {number: mac for number, _, mac in golden.whole}
    boots = _of_kind(golden.kept, "boot")
    assert len(boots) == 2 and boots[0][0] == 1
    for _, fields in boots:
        assert fields["chain"] == golden.chain
    checkpoints = _of_kind(golden.kept, "checkpoint")
    assert checkpoints
    for number, fields in checkpoints:
        assert fields["records"] == number - 1 and fields["mac"] == macs[number - 1]
    gaps = _of_kind(golden.kept, "gap")
    for _, fields in gaps:
        assert fields["mac"] == macs[fields["last"]]


def test_the_gaps_are_the_hard_ones():
    golden = _Golden()
    gaps = _of_kind(golden.kept, "gap")
    lost = {number for number, _, _ in golden.whole} - {number for number, _, _ in golden.kept}
    named = [n for _, fields in gaps for n in range(fields["first"], fields["last"] + 1)]
    assert sorted(named) == sorted(lost)
    epochs = {number // golden.epoch_records for number, _, _ in golden.whole}
    assert len(epochs) >= 5
    assert epochs - {number // golden.epoch_records for number, _, _ in golden.kept}
    for number, fields in gaps:
        assert number > fields["last"] + 1  # the gap is reported only later


def test_the_kept_records_verify_without_the_lost_ones():
    golden = _Golden()
    assert _first_wrong(golden, golden.kept, _gaps(golden.kept)) is None


def test_a_changed_bit_is_found_at_the_event_that_has_it():
    seed_random()
    golden = _Golden()
    kept = golden.kept
    gaps = _gaps(kept)
    for i in range(len(kept)):
        number, record, mac = kept[i]
        for changed in ((number, _flipped(record), mac), (number, record, _flipped(mac))):
            found = _first_wrong(golden, kept[:i] + [changed] + kept[i + 1 :], gaps)
            assert found == number, (found, changed)


def _flipped(data):
    bit = random.getrandbits(30) % (8 * len(data))
    flipped = bytearray(data)
    flipped[bit >> 3] ^= 1 << (bit & 7)
    return bytes(flipped)


def test_events_left_out_put_in_or_moved_are_found():
    golden = _Golden()
    kept = golden.kept
    for i in range(len(kept) - 1):
        number, record, mac = kept[i]
        swapped = [(number,) + kept[i + 1][1:], (kept[i + 1][0], record, mac)]
        for changed in (
            kept[:i] + kept[i + 1 :],
            kept[: i + 1] + kept[i:],
            kept[:i] + swapped + kept[i + 2 :],
        ):
            assert _first_wrong(golden, changed, _gaps(changed)) is not None, number


def test_events_cut_off_at_the_end_are_found_only_by_a_checkpoint_kept_elsewhere():
    golden = _Golden()
    gaps = _gaps(golden.kept)
    number, noted = _of_kind(golden.kept, "checkpoint")[-1]
    for size in range(len(golden.kept)):
        left = golden.kept[:size]
        assert _first_wrong(golden, left, gaps) is None
        macs = {at: mac for at, _, mac in left}
        reaches = bool(left) and left[-1][0] >= noted["records"]
        assert (macs.get(noted["records"]) == noted["mac"]) == reaches, (size, number)
