"""The randomness of a unit over starts, losses of power and damage.

The attacker of these tests knows every sample of every source, and the sources give the same ones
at each start: only the bytes of a host are not known.
"""

import random

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, FIRST_KEY, TORN, PowerCut, new_chip
from firmware.tests.support.noise import RANDOM, SOURCES, Sources
from firmware.tests.support.scripted import begin_chip
from protocol.tests.helpers import random_bytes, seed_random
from sabot_firmware.journal import keyring
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.pool_slot import opened
from sabot_firmware.journal.randomness import Randomness
from sabot_protocol.chain import are_random, command_key

_KEY = command_key(FIRST_KEY)
_HOUR_MS = 3600000
_OTHER = bytes(255 - octet for octet in RANDOM)


class _Store:
    """The documents of a unit; the power may be cut before or after one is kept or removed."""

    def __init__(self):
        self.kept = {}
        self.saves = 0
        self.cut = -1

    def load(self, name):
        return self.kept.get(name)

    def save(self, name, document):
        self._change(name, document)
        self.saves += 1

    def remove(self, name):
        self._change(name, None)

    def _change(self, name, document):
        cut, self.cut = self.cut, -1
        if cut == 0:
            raise PowerCut
        self.kept[name] = document
        if cut == 1:
            raise PowerCut


class _Board:
    def __init__(self, sources):
        self.noise = sources.fill


def chip(host_bytes=RANDOM):
    flash = new_chip()
    begin_chip(flash, random=host_bytes)
    return flash


def start_of(flash, sources=None, store=None, key=None):
    """Start a unit on the chip; return its randomness and its journal."""
    journal = Journal(flash, bytearray(4096))
    journal.mount()
    board = _Board(sources or Sources())
    store = store or _Store()
    return Randomness(board, journal, store, key or _KEY, bytearray(1024)), journal


def _some_of(unit):
    """Return what the unit gives for its first uses."""
    return [unit.take(b"challenge", 16), unit.take(b"sealing secret"), unit.take(b"challenge", 16)]


def test_starts_with_the_same_samples_never_give_the_same():
    flash, given = chip(), []
    for _ in range(70):
        unit, _ = start_of(flash)
        assert unit.has_host_bytes and not unit.stuck
        given += _some_of(unit)
    assert len(set(given)) == len(given)


def test_wherever_the_power_is_cut_in_a_start_nothing_is_ever_given_twice():
    """Also with 63 slots of a sector used, so that a start erases one."""
    seed_random()
    for used in (0, 61, 62):
        for cut in (BEFORE, TORN, AFTER):
            flash, given = chip(), set()
            for _ in range(used):
                start_of(flash)
            for operation in range(8):
                flash.cut_at, flash.cut = flash.operations + operation, cut
                try:
                    unit, _ = start_of(flash)
                except PowerCut:
                    flash.power_on()
                    continue
                flash.power_on()  # before the cut: the start was over
                for taken in _some_of(unit):
                    assert taken not in given, (used, cut, operation)
                    given.add(taken)
            unit, _ = start_of(flash)
            assert unit.has_host_bytes, "the pool is never lost"
            assert not given.intersection(_some_of(unit))


def test_wherever_the_power_is_cut_while_host_bytes_are_kept_nothing_is_given_twice():
    seed_random()
    for cut_save in (0, 1, -1):
        for cut_remove in (0, 1, -1):
            flash, store, given = chip(), _Store(), []
            unit, _ = start_of(flash, store=store)
            given += _some_of(unit)
            unit.add_host_bytes(_OTHER)
            given += _some_of(unit)
            store.cut = cut_save
            try:
                unit.keep(_HOUR_MS)
            except PowerCut:
                pass
            for _ in range(3):
                store.cut = cut_remove
                try:
                    unit, _ = start_of(flash, store=store)
                except PowerCut:
                    continue
                given += _some_of(unit)
            assert len(set(given)) == len(given), (cut_save, cut_remove)


def test_bytes_that_were_kept_are_not_lost_by_a_cut_in_the_next_start():
    seed_random()
    for cut in (BEFORE, TORN, AFTER):
        for operation in range(4):
            flash, store = chip(None), _Store()
            unit, _ = start_of(flash, store=store)
            unit.add_host_bytes(_OTHER)
            unit.keep(0)
            flash.cut_at, flash.cut = flash.operations + operation, cut
            try:
                start_of(flash, store=store)
            except PowerCut:
                pass
            flash.power_on()
            unit, _ = start_of(flash, store=store)
            assert unit.has_host_bytes and not store.load("pool_more")
            assert start_of(flash, store=store)[0].has_host_bytes


def test_units_with_the_same_hardware_and_keys_differ_by_the_bytes_of_their_hosts_alone():
    first, _ = start_of(chip(RANDOM))
    same, _ = start_of(chip(RANDOM))
    other, _ = start_of(chip(_OTHER))
    taken = _some_of(first)
    assert taken == _some_of(same), "else this test shows nothing"
    assert not set(taken).intersection(_some_of(other))


def test_later_bytes_of_a_host_change_what_follows_at_once_and_after_a_start():
    at_once, after = set(), set()
    for data in (None, RANDOM, _OTHER):
        flash, store = chip(), _Store()
        unit, _ = start_of(flash, store=store)
        if data is not None:
            unit.add_host_bytes(data)
            unit.keep(_HOUR_MS)
        at_once.add(unit.take(b"challenge"))
        after.add(start_of(flash, store=store)[0].take(b"challenge"))
    assert len(at_once) == len(after) == 3


def test_with_any_source_stuck_or_all_of_them_everything_is_as_good_and_the_source_is_named():
    for stuck in [(n,) for n in range(SOURCES)] + [tuple(range(SOURCES))]:
        given = []
        for host_bytes in (RANDOM, _OTHER):
            flash = chip(host_bytes)
            for _ in range(5):
                unit, _ = start_of(flash, Sources(3, stuck))
                assert unit.stuck == sum([1 << n for n in stuck])
                assert unit.has_host_bytes
                given += _some_of(unit)
        assert len(set(given)) == len(given), stuck


def test_what_is_given_depends_on_every_source():
    given = [start_of(chip(), Sources(3, (n,)))[0].take(b"challenge") for n in range(SOURCES)]
    given.append(start_of(chip(), Sources(3))[0].take(b"challenge"))
    assert len(set(given)) == SOURCES + 1


def test_no_sample_leaves_the_unit_as_it_was_taken():
    class Marked:
        def fill(self, source, buf):
            for at in range(len(buf)):
                buf[at] = 0xA5 ^ at & 3

    unit, _ = start_of(chip(), Marked())
    for taken in _some_of(unit):
        assert b"\xa5\xa4\xa7" not in taken


def test_the_chip_has_one_kept_value_which_it_does_not_show_and_no_older_one():
    flash = chip()
    before = []
    for _ in range(5):
        _, journal = start_of(flash)
        slot = bytes(journal.pool_slot())
        sealed = slot[8:40]
        assert flash.holds(sealed) and not flash.holds(opened(_KEY, slot)[1])
        for old in before:
            assert not flash.holds(old), "an old value is programmed to zeros"
        before.append(sealed)


def test_a_unit_without_a_pool_or_with_that_of_another_unit_has_no_host_bytes_and_repeats_nothing():
    given = []
    damaged, other, none = chip(), new_chip(), chip(None)
    damaged.flip(keyring.SLOT_SIZE + 20)
    begin_chip(other)
    other_key = command_key(bytes(32))
    for flash, key in ((none, _KEY), (damaged, _KEY), (other, other_key)):
        for _ in range(3):
            store = _Store()
            unit, _ = start_of(flash, store=store, key=key)
            assert not unit.has_host_bytes
            given.append(unit.take(b"challenge", 16))
    assert len(set(given)) >= len(given) - 3, "only the first of equal units may be equal"
    assert unit.add_host_bytes(RANDOM) and not unit.add_host_bytes(_OTHER)
    unit.keep(0)
    assert start_of(flash, store=store, key=other_key)[0].has_host_bytes


def test_a_host_that_sends_again_and_again_wears_the_flash_once_an_hour():
    seed_random()
    flash, store = chip(None), _Store()
    unit, _ = start_of(flash, store=store)
    begun = flash.operations
    for now_ms in range(0, 24 * _HOUR_MS, 60000):
        unit.add_host_bytes(random_bytes(32))
        unit.keep(now_ms)
    assert store.saves == 24 and flash.operations == begun
    unit.keep(1000 * _HOUR_MS)
    assert store.saves == 25
    unit.keep(2000 * _HOUR_MS)
    assert store.saves == 25, "without new bytes nothing is kept"


def test_the_first_bytes_of_a_host_after_each_start_are_kept_at_once():
    flash, store = chip(RANDOM), _Store()
    for saves in (1, 2, 3):
        unit, _ = start_of(flash, store=store)
        assert not unit.add_host_bytes(_OTHER)
        for now_ms in (0, 1000, _HOUR_MS - 1):
            unit.keep(now_ms)
            unit.add_host_bytes(RANDOM)
        assert store.saves == saves


def test_hello_after_hello_costs_no_write():
    flash = chip()
    unit, journal = start_of(flash)
    begun = flash.operations
    assert len({unit.take(b"challenge", 16) for _ in range(500)}) == 500
    assert flash.operations == begun and not journal.unwritten()


def test_bytes_that_are_all_alike_a_short_pattern_or_of_another_size_are_not_random():
    seed_random()
    assert are_random(RANDOM) and are_random(_OTHER)
    for _ in range(1000):
        assert are_random(random_bytes(32))
    for data in (bytes(32), b"\xff" * 32, b"0123456789a" * 3, b"abcd" * 8, b"", RANDOM + b"\0"):
        assert not are_random(data[:32] if data[:2] == b"01" else data), data


def test_times_of_cards_and_samples_between_rounds_are_stirred_in():
    given = set()
    for marks, between in ((0, False), (0, True), (1, True), (40, True)):
        unit, _ = start_of(chip())
        for _ in range(marks):
            unit.mark_time()
        if between:
            unit.stir_between()
        given.add(unit.take(b"challenge"))
    assert len(given) == 4
    random.seed()
