"""The passes that are kept: which ones, with all their samples and figures."""

import random

from protocol.tests.helpers import random_bytes, seed_random, times
from sabot_firmware import buffers
from sabot_firmware.cards import passes
from sabot_firmware.cards.reader import Pass
from sabot_firmware.cards.scan import RUN_BYTES
from sabot_protocol import enums

_BAD_CODE = enums.FAULTS.index("bad_code")


def new_passes():
    return passes.Passes(bytearray(buffers.RECENT_BYTES), bytearray(buffers.FAULT_BYTES))


def _passed(fault=0, card=7, samples=1500):
    passed = Pass()
    passed.fault = fault
    passed.card = -1 if fault else card
    passed.card_set = -1 if fault else 12
    passed.speed_mm_s, passed.margin_permille, passed.skew_um = 850, 930, 120
    passed.samples = samples
    return passed


def _keep(kept, runs, **of):
    kept.keep(_passed(**of), memoryview(runs), False, 5000)


def _numbers(kept):
    found = []
    each = kept.first_after(0)
    while each is not None:
        found.append(each.number)
        each = kept.first_after(each.number)
    return found


def test_nothing_is_kept_at_first():
    kept = new_passes()
    assert kept.first_after(0) is None and kept.get(0) is None and kept.get(1) is None


def test_a_pass_is_kept_with_all_its_figures():
    kept = new_passes()
    kept.keep(_passed(card=51), memoryview(b"abc"), True, 123456)
    one = kept.get(1)
    assert (one.number, one.t_ms, one.fault, one.card, one.card_set) == (1, 123456, 0, 51, 12)
    assert (one.speed_mm_s, one.margin_permille, one.skew_um) == (850, 930, 120)
    assert (one.samples, one.size, bytes(one.runs), one.cut) == (1500, 3, b"abc", True)
    kept.keep(_passed(_BAD_CODE), memoryview(b""), False, 123457)
    two = kept.get(2)
    assert (two.fault, two.card, two.card_set, two.size, two.cut) == (
        _BAD_CODE,
        None,
        None,
        0,
        False,
    )


def test_the_last_two_are_kept_however_long_they_are():
    kept = new_passes()
    for n in range(30):
        _keep(kept, bytes([n]) * RUN_BYTES)
        assert _numbers(kept) == list(range(max(1, n), n + 2))
    for number in _numbers(kept):
        assert bytes(kept.get(number).runs) == bytes([number - 1]) * RUN_BYTES


def test_a_fault_is_kept_while_many_good_cards_follow():
    kept = new_passes()
    _keep(kept, b"f" * 300, fault=_BAD_CODE)
    for _ in range(1000):
        _keep(kept, bytes(200))
    numbers = _numbers(kept)
    assert numbers[0] == 1 and len(numbers) > 15
    assert bytes(kept.get(1).runs) == b"f" * 300
    assert numbers[1:] == list(range(numbers[1], 1002))


def test_each_pass_is_found_once_in_the_order_of_the_numbers():
    seed_random()
    kept = new_passes()
    runs_of = {}
    for number in range(1, times(400, 120)):
        runs = random_bytes(8) * random.choice((0, 1, 11, 25, 180, RUN_BYTES // 8))
        runs_of[number] = runs
        runs_of.pop(number - 100, None)
        _keep(kept, runs, fault=_BAD_CODE if random.random() < 0.2 else 0)
        numbers = _numbers(kept)
        assert numbers == sorted(set(numbers)) and numbers[-1] == number
        for each in numbers[-8:]:
            assert bytes(kept.get(each).runs) == runs_of[each], each
        assert kept.get(number + 1) is None
        assert number == 1 or number - 1 in numbers  # the two last have room however long they are


def test_figures_that_are_too_large_for_their_place_are_kept_as_the_largest():
    kept = new_passes()
    passed = _passed()
    passed.speed_mm_s = passed.skew_um = 1 << 20
    kept.keep(passed, memoryview(b""), False, (1 << 32) + 5)
    one = kept.get(1)
    assert (one.speed_mm_s, one.skew_um, one.t_ms) == (65535, 65535, 5)
