"""The provisioning of a unit: kept as a whole or not at all, whenever the power fails."""

import hashlib
import os

from firmware.tests.fakes.fake_flash import new_chip
from firmware.tests.support.ledger import Ledger
from firmware.tests.support.noise import Sources
from firmware.tests.test_store import Folder
from sabot_firmware.journal.contents import Contents, JournalError
from sabot_firmware.link.answers import Refusal
from sabot_firmware.release import provision as provision_module
from sabot_firmware.release.provision import PENDING, UNIT, Provision, finish
from sabot_firmware.store import SettingsStore
from sabot_protocol import baccarat, cbor, messages, provisioning

_FIRST_KEY, _RELEASE_KEY, _OTHER = bytes(range(32)), b"r" * 32, b"o" * 32
_COMMAND_KEY = hashlib.sha256(b"sabot command" + _FIRST_KEY).digest()
_CHAIN = hashlib.sha256(b"sabot chain" + _FIRST_KEY).digest()[:16]
_DOCUMENTS = ("provisioned", "settings", "release_key", "game", "chain", "command_key", UNIT)

# It fills a file system, and the computer's is large. test_wipe.py tests it.
wiped = []
provision_module.wipe = wiped.append


class _Board:
    """The parts of a board that provisioning uses."""

    NAME = "none"

    def __init__(self, folder, flash=None):
        self.flash = flash or new_chip()
        self.storage = folder.path
        self.noise = Sources().fill

    def secret(self):
        """The secret on the journal's chip; None if there is none."""
        journal = Contents(self.flash)
        try:
            journal.mount()
        except JournalError:
            return None
        return bytes(journal.chain.secret)


class _Gone(Exception):
    """A loss of power."""


class _Cut(SettingsStore):
    """A store that loses its power before a given change of its documents."""

    def __init__(self, path, changes=1000):
        super().__init__(path)
        self.left = changes

    def _change(self):
        if not self.left:
            raise _Gone
        self.left -= 1

    def save(self, name, document):
        self._change()
        super().save(name, document)

    def remove(self, name):
        self._change()
        super().remove(name)


def _document(**changed):
    value = {
        "version": 1,
        "unit": "SHOE-7",
        "table": "12",
        "set": 3,
        "when_full": "stop",
        "game": baccarat.document_of("mini"),
        "release_key": _RELEASE_KEY,
        "first_key": _FIRST_KEY,
    }
    value.update(changed)
    value = {name: value[name] for name in value if value[name] is not None}
    buf = bytearray(2000)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _again(**changed):
    return _document(table="13", set=7, when_full="go_on", first_key=None, **changed)


def _take(taking, *part):
    """Return whether the whole document is kept, and why the part is refused, or ""."""
    try:
        return taking.take(*part), ""
    except Refusal as refused:
        return False, refused.reason


def _give(store, board, document, size=messages.MAX_PROVISION_PART):
    taking = Provision(store, board)
    for offset in range(0, len(document), size):
        done, problem = _take(taking, offset, len(document), document[offset : offset + size])
        if problem or done:
            break
    if done:
        taking.complete()
    return done, problem


def _all(store):
    return [store.load(name) for name in _DOCUMENTS]


def _kept(store):
    return store.load("settings"), store.load("release_key"), store.load("provisioned")


def test_a_board_keeps_all_that_it_is_given():
    for size in (400, 100, 7):
        with Folder() as folder:
            store, board = SettingsStore(folder.path), _Board(folder)
            assert _give(store, board, _document(), size) == (True, "")
            assert _all(store) == [
                ["12", 3],
                {"set": 3, "when_full": "stop"},
                _RELEASE_KEY,
                baccarat.document_of("mini"),
                _CHAIN,
                _COMMAND_KEY,
                "SHOE-7",
            ]
            assert store.load(PENDING) is None
            assert board.secret() == _FIRST_KEY and wiped.pop() == folder.path
            for name in os.listdir(folder.path):
                assert folder.read(name).find(_FIRST_KEY) < 0, name


def test_a_board_is_not_a_unit_before_what_earlier_files_left_is_overwritten():
    with Folder() as folder:
        store = SettingsStore(folder.path)
        taking, document = Provision(store, _Board(folder)), _document()
        for offset in range(0, len(document), 400):
            done, _ = _take(taking, offset, len(document), document[offset : offset + 400])
        assert done and store.load(UNIT) is None
        wiped.clear()
        taking.complete()
        assert wiped == [folder.path] and store.load(UNIT) == "SHOE-7"


def test_a_chip_with_the_events_of_a_unit_is_refused_and_nothing_is_kept():
    with Folder() as folder:
        ledger = Ledger()
        ledger.event()
        ledger.drain()
        store, board = SettingsStore(folder.path), _Board(folder, ledger.flash)
        assert _give(store, board, _document()) == (False, "used_chip")
        assert _all(store) == [None] * len(_DOCUMENTS)


def test_what_firmware_0_1_0_left_of_a_try_is_removed():
    with Folder() as folder:
        store = SettingsStore(folder.path)
        store.save("first_key", _OTHER)
        assert _give(store, _Board(folder), _document()) == (True, "")
        assert store.load("first_key") is None


def test_until_all_is_there_a_board_is_not_a_unit_whenever_the_power_fails():
    for changes in range(20):
        with Folder() as folder:
            board = _Board(folder)
            try:
                assert _give(_Cut(folder.path, changes), board, _document()) == (True, "")
                assert changes == len(_DOCUMENTS) + 1
                return
            except _Gone:
                store = SettingsStore(folder.path)
                assert store.load(UNIT) is None
                assert _give(store, board, _document(first_key=_OTHER)) == (True, "")
                assert board.secret() == _OTHER and not board.flash.holds(_FIRST_KEY)
                assert (
                    store.load("command_key") == hashlib.sha256(b"sabot command" + _OTHER).digest()
                )
    raise AssertionError("it never ends")


def test_a_unit_has_all_or_nothing_of_a_new_document_whenever_the_power_fails():
    old = ({"set": 3, "when_full": "stop"}, _RELEASE_KEY, ["12", 3])
    new = ({"set": 7, "when_full": "go_on"}, _OTHER, ["13", 7])
    seen = []
    for changes in range(20):
        with Folder() as folder:
            board = _Board(folder)
            assert _give(SettingsStore(folder.path), board, _document()) == (True, "")
            cut = _Cut(folder.path, changes)
            try:
                assert _give(cut, board, _again(release_key=_OTHER)) == (True, "")
                assert _kept(SettingsStore(folder.path)) == new
                assert seen[0] == old and seen[1:] == [new] * (changes - 1)
                return
            except _Gone:
                # The next start loses its power too, the one after that does not.
                for more in (changes % 3, 1000):
                    try:
                        finish(_Cut(folder.path, more))
                    except _Gone:
                        pass
                store = SettingsStore(folder.path)
                assert store.load(PENDING) is None and store.load(UNIT) == "SHOE-7"
                seen.append(_kept(store))
    raise AssertionError("it never ends")


def test_a_unit_keeps_its_id_and_its_keys():
    with Folder() as folder:
        store, board = SettingsStore(folder.path), _Board(folder)
        assert _give(store, board, _document()) == (True, "")
        before = _all(store)
        for document, reason in (
            (_document(first_key=_OTHER), "has_keys"),
            (_document(unit="SHOE-8", first_key=None), "other_unit"),
        ):
            done, problem = _give(store, board, document)
            assert not done and problem == reason
            assert _all(store) == before


def test_a_board_that_is_not_a_unit_needs_a_first_key():
    with Folder() as folder:
        store = SettingsStore(folder.path)
        done, problem = _give(store, _Board(folder), _document(first_key=None))
        assert not done and problem == "needs_key"
        assert _all(store) == [None] * len(_DOCUMENTS)


def test_parts_out_of_order_too_long_or_of_another_size_are_refused_with_all_before():
    document = _document()
    size, part = len(document), document[:400]
    for second in (
        (0, size, b""),
        (400, size + 1, document[400:]),
        (399, size, document[399:799]),
        (800, size, document[800:]),
        (400, size, document[400:] + b"x"),
        (size - 1, size, b"ab"),
        (400, 0, b"a"),
        (400, provisioning.MAX_DOCUMENT + 1, document[400:]),
    ):
        with Folder() as folder:
            taking = Provision(SettingsStore(folder.path), _Board(folder))
            assert _take(taking, 0, size, part) == (False, "")
            done, problem = _take(taking, *second)
            assert not done and problem, second
            # The earlier parts are dropped.
            done, problem = _take(taking, 400, size, document[400:800])
            assert not done and problem == "bad_order"


def test_a_part_at_offset_0_begins_again():
    document = _document()
    with Folder() as folder:
        taking = Provision(SettingsStore(folder.path), _Board(folder))
        assert _take(taking, 0, len(document), document[:400]) == (False, "")
        for offset in range(0, len(document), 400):
            done, problem = _take(taking, offset, len(document), document[offset : offset + 400])
            assert not problem
        assert done
