"""The shoe's chain, against the golden one, the standards and a naive one."""

import random

from firmware.tests.support.naive_chain import NaiveChain, hmac, sha256
from protocol.tests.helpers import random_bytes, seed_random, vectors
from sabot_protocol.chain import EPOCH_RECORDS, Chain, chain_id


def _epoch(noted):
    return noted["epoch"], bytes.fromhex(noted["secret"]), bytes.fromhex(noted["mac_key"])


def _new_chain(first_key):
    return Chain(0, first_key, chain_id(first_key))


def _add(chain, number, record):
    """Return the MAC of event `number`, computed in the way the journal does it."""
    chain.move_on(number)
    chain.add(memoryview(record))
    return bytes(chain.mac)


def test_the_macs_are_those_of_the_golden_chain():
    golden = vectors("chain")
    chain = _new_chain(bytes.fromhex(golden["first_key"]))
    assert bytes(chain.mac).hex() == golden["chain"]
    assert golden["epoch_records"] == EPOCH_RECORDS
    for case in golden["records"]:
        mac = _add(chain, case["number"], bytes.fromhex(case["record"]))
        assert mac.hex() == case["mac"], case["number"]


def test_the_secrets_are_those_of_the_golden_chain():
    golden = vectors("chain")
    chain = _new_chain(bytes.fromhex(golden["first_key"]))
    for noted in golden["epochs"] + [golden["far_epoch"]]:
        epoch, secret, _ = _epoch(noted)
        assert chain.move_on(epoch * EPOCH_RECORDS) == (epoch > 0)
        assert (chain.epoch, bytes(chain.secret)) == (epoch, secret)


def test_a_mac_is_the_hmac_of_rfc_4231():
    # RFC 4231, test cases 1 to 4 and 6; 5 is truncated, 7 as 6.
    for key, message, expected in (
        (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b"),
        (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c7"),
        (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a7"),
        (bytes(range(1, 26)), b"\xcd" * 50, "82558a389a443c0ea4cc819899f2083a"),
    ):
        chain = Chain(0, bytes(32), message[:8])
        key = key + bytes(64 - len(key))
        chain._inner = bytes([octet ^ 0x36 for octet in key])
        chain._outer = bytes([octet ^ 0x5C for octet in key])
        chain.add(message[8:])
        assert bytes(chain.mac).hex() == expected
        assert hmac(key, message)[:16].hex() == expected, "the naive one too"


def test_random_events_have_the_macs_of_the_naive_chain():
    seed_random()
    for _ in range(5):
        first_key = random_bytes(32)
        chain, naive = _new_chain(first_key), NaiveChain(first_key)
        records = [random_bytes(random.randint(8, 192)) for _ in range(30)]
        macs = naive.macs(records)
        assert bytes(chain.mac) == macs[0]
        for number in range(1, len(records) + 1):
            assert _add(chain, number, records[number - 1]) == macs[number], number


def test_a_chain_can_be_continued_from_its_end():
    seed_random()
    first_key = random_bytes(32)
    records = [random_bytes(40) for _ in range(13)]
    macs = NaiveChain(first_key).macs(records)
    for end in range(len(records)):
        chain = _new_chain(first_key)
        for number in range(1, end + 1):
            _add(chain, number, records[number - 1])
        chain = Chain(chain.epoch, bytes(chain.secret), bytes(chain.mac))
        for number in range(end + 1, len(records) + 1):
            assert _add(chain, number, records[number - 1]) == macs[number], (end, number)


def test_the_key_moves_on_with_every_fourth_number_and_only_then():
    chain = _new_chain(bytes(range(32)))
    moved = [number for number in range(1, 30) if chain.move_on(number)]
    assert moved == list(range(4, 30, 4))
    assert not chain.move_on(3) and chain.epoch == 7, "never back"


def test_the_key_of_an_epoch_makes_no_mac_of_another_one():
    first_key = bytes(range(32))
    record = bytes(range(60))
    made = []
    for epoch in range(8):
        chain = _new_chain(first_key)
        made.append(_add(chain, epoch * EPOCH_RECORDS + 1, record))
    assert len(set(made)) == len(made)


def test_the_previous_secret_is_overwritten_in_its_place():
    first_key = bytes(range(32))
    chain = _new_chain(first_key)
    kept, pads = chain.secret, (chain._inner, chain._outer)
    chain.move_on(EPOCH_RECORDS)
    assert kept is chain.secret and bytes(kept) == sha256(b"sabot next" + first_key)
    assert chain._inner != pads[0] and chain._outer != pads[1]


def test_a_changed_bit_of_anything_is_another_mac():
    seed_random()
    first_key, before, record = random_bytes(32), random_bytes(16), random_bytes(50)
    right = Chain(0, first_key, before)
    right.add(record)
    for what in range(3):
        for _ in range(20):
            parts = [bytearray(first_key), bytearray(before), bytearray(record)]
            bit = random.randrange(8 * len(parts[what]))
            parts[what][bit >> 3] ^= 1 << (bit & 7)
            wrong = Chain(0, bytes(parts[0]), bytes(parts[1]))
            wrong.add(bytes(parts[2]))
            assert wrong.mac != right.mac, (what, bit)
