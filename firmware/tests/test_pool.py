"""The pool and the tests of its sources: every hash is compared with one that is made here, from
docs/randomness.md, and with golden vectors that Python's hashlib and hmac have made."""

import hashlib
import random

from firmware.tests.support.noise import SOURCES, Sources
from protocol.tests.helpers import random_bytes, seed_random, vectors
from sabot_firmware.journal import keyring, noise
from sabot_firmware.journal.pool_slot import filled, opened
from sabot_firmware.journal.randomness import Pool
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.stirring import shown
from sabot_protocol import enums


def _sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def test_every_hash_of_the_golden_vectors_is_made():
    golden = vectors("random")
    pool = Pool()
    for step in golden["steps"]:
        if step["do"] == "stir":
            pool.stir(step["source"], bytes.fromhex(step["data"]))
        else:
            taken = pool.take(step["label"].encode(), step["size"])
            assert taken.hex() == step["taken"], step
        assert bytes(pool._pool).hex() == step["pool"], step


def test_stirs_and_uses_in_any_order_are_the_hashes_of_the_specification():
    seed_random()
    pool, expected = Pool(), bytes(32)
    for _ in range(200):
        if random.getrandbits(1):
            source, data = random.getrandbits(8), random_bytes(random.getrandbits(6))
            pool.stir(source, data)
            expected = _sha256(b"sabot pool stir", bytes([source]), data, expected)
        else:
            label, size = random_bytes(random.getrandbits(4)), 1 + random.getrandbits(5)
            taken = _sha256(b"sabot pool use", bytes([len(label)]), label, expected)[:size]
            assert pool.take(label, size) == taken
            expected = _sha256(b"sabot pool next", expected)


def test_slots_of_the_golden_vectors_are_filled_and_opened_by_their_unit_only():
    golden = vectors("random")
    key = bytes.fromhex(golden["command_key"])
    for case in golden["slots"]:
        slot = filled(key, case["number"], bytes.fromhex(case["kept"]))
        keyring.fill_pool(slot, case["epoch"])
        assert bytes(slot).hex() == case["slot"]
        assert opened(key, slot) == (case["number"], bytes.fromhex(case["kept"]))
        assert opened(bytes(32), slot) == (0, bytes(32))
        assert bytes.fromhex(case["kept"]) not in bytes(slot)
        for at in range(4, 56):
            changed = bytearray(slot)
            changed[at] ^= 1
            assert opened(key, changed) == (0, bytes(32)), at


def test_hidden_bytes_of_the_golden_vectors_are_shown_in_their_session_only():
    golden = vectors("random")
    key = bytes.fromhex(golden["command_key"])
    for case in golden["hidden"]:
        given = {name: bytes.fromhex(case[name]) for name in case}
        guard = CommandGuard(key, lambda label, size, given=given: given["challenge"])
        guard.begin(int.from_bytes(given["session"], "big"))
        guard._last_id = int.from_bytes(given["id"], "big")
        assert shown(key, guard.place(), given["hidden"]) == given["data"]
        guard._last_id ^= 1
        assert shown(key, guard.place(), given["hidden"]) != given["data"]


# ---- tests of the sources


def _samples(at, count, of=1024):
    """Return samples that count up, but from `at` on `count` equal ones."""
    return bytes([255 if at <= n < at + count else n % 251 for n in range(of)])


def test_200_equal_samples_in_a_row_pass_and_201_do_not():
    for at in (0, 300, 1024 - 201):
        assert noise.repeated(_samples(at, 200), 1024) == 200
    assert not noise.is_stuck(_samples(508, 200), False)
    assert noise.is_stuck(_samples(508, 201), False)


def test_a_proportion_passes_up_to_its_cutoff():
    for binary, window, most in ((True, 1024, 990), (False, 512, 501)):
        for count, stuck in ((most, False), (most + 1, True)):
            samples = bytearray(1024)
            others = 1024 // window * (window - count)
            # Spread, so that no row is too long.
            for n in range(others):
                samples[1 + n * 1023 // others] = 1
            assert noise.repeated(samples, 1024) <= 200
            found = [noise.count(samples, at, at + window) for at in range(0, 1024, window)]
            assert noise.is_stuck(bytes(samples), binary) == stuck, (count, found)


class _Board:
    def __init__(self, sources):
        self.noise = sources.fill


def test_the_source_that_is_stuck_is_named_and_all_others_pass():
    for level in (0, 1, 255):
        for stuck in range(SOURCES):
            board = _Board(Sources(5, (stuck,), level))
            assert noise.stir_all(Pool(), board, bytearray(1024)) == 1 << stuck
    assert noise.stir_all(Pool(), _Board(Sources()), bytearray(1024)) == 0
    assert len(enums.RANDOM_SOURCES) == SOURCES


def test_the_work_buffer_keeps_nothing_and_every_source_changes_the_pool():
    work = bytearray(2000)
    noise.stir_all(Pool(), _Board(Sources()), work)
    assert work == bytearray(2000)
    same = set()
    for stuck in range(SOURCES):
        pool = Pool(bytes(range(32)))
        noise.stir_all(pool, _Board(Sources(9, (stuck,))), work)
        same.add(pool.take(b"x"))
    assert len(same) == SOURCES
