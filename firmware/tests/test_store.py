"""Documents survive, damaged ones are refused, and a lost write leaves the old one."""

import errno
import gc
import os
import random

from protocol.tests.helpers import memory_in_use, raised, same, seed_random
from sabot_firmware import store as store_module
from sabot_firmware.heap import Heap
from sabot_firmware.store import SettingsStore, StoreError

allocated = getattr(gc, "mem_alloc", lambda: 0)  # CPython has no figure

_DOCUMENTS = (
    0,
    1 << 40,
    -7,
    True,
    None,
    "",
    "eight decks",
    b"",
    bytes(range(256)),
    [],
    [3, 100, 164, 12, True],
    {},
    {"set": 3, "unit": "SHOE-7", "list": [1, [2, {"a": None}]]},
)


class Folder:
    """A new folder for a test; it is removed with its files when the test ends."""

    def __enter__(self):
        base = (os.getenv("TMPDIR") or "/tmp") + "/sabot-test-"
        number = 0
        while True:
            self.path = base + str(number)
            try:
                os.mkdir(self.path)
                return self
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise
                number += 1

    def __exit__(self, kind, error, trace):
        _remove(self.path)

    def file(self, name):
        return self.path + "/" + name

    def read(self, name):
        with open(self.file(name), "rb") as file:
            return file.read()

    def write(self, name, data):
        with open(self.file(name), "wb") as file:
            file.write(data)


def _remove(path):
    for name in os.listdir(path):
        try:
            os.remove(path + "/" + name)
        except OSError:
            _remove(path + "/" + name)
    os.rmdir(path)


def _loaded(folder, name):
    return SettingsStore(folder.path).load(name)


def test_what_was_never_saved_is_none():
    with Folder() as folder:
        assert _loaded(folder, "counters") is None


def test_a_document_comes_back_as_it_was_from_a_new_store():
    with Folder() as folder:
        for document in _DOCUMENTS:
            SettingsStore(folder.path).save("settings", document)
            assert same(_loaded(folder, "settings"), document), document


def test_documents_of_several_names_do_not_touch_each_other():
    with Folder() as folder:
        store = SettingsStore(folder.path)
        for n in range(len(_DOCUMENTS)):
            store.save("name%d" % n, _DOCUMENTS[n])
        store.save("name3", "changed")
        for n in range(len(_DOCUMENTS)):
            expected = "changed" if n == 3 else _DOCUMENTS[n]
            assert same(store.load("name%d" % n), expected), n


def test_a_document_cut_off_anywhere_is_refused():
    with Folder() as folder:
        SettingsStore(folder.path).save("counters", [3, 100, 164, 12, True])
        data = folder.read("counters.cbor")
        for size in range(len(data)):
            folder.write("counters.cbor", data[:size])
            assert raised(StoreError, _loaded, folder, "counters"), size


def test_a_document_with_any_bit_flipped_is_refused():
    with Folder() as folder:
        SettingsStore(folder.path).save("settings", _DOCUMENTS[-1])
        data = folder.read("settings.cbor")
        for bit in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[bit >> 3] ^= 1 << (bit & 7)
            folder.write("settings.cbor", flipped)
            assert raised(StoreError, _loaded, folder, "settings"), bit


def test_a_document_with_bytes_torn_out_changed_or_added_is_refused():
    seed_random()
    with Folder() as folder:
        SettingsStore(folder.path).save("settings", _DOCUMENTS[-1])
        data = folder.read("settings.cbor")
        for _ in range(200):
            at = random.randrange(len(data))
            end = random.randint(at + 1, len(data))
            damages = (
                data[:at] + data[end:],
                data[:at] + bytes(end - at) + data[end:],
                data[:at] + b"\xff" * (end - at) + data[end:],
                data + data[at:end],
            )
            for damaged in damages:
                if damaged != data:
                    folder.write("settings.cbor", damaged)
                    assert raised(StoreError, _loaded, folder, "settings"), (at, end, damaged)


def test_an_empty_file_and_one_of_zeros_or_ones_are_refused():
    with Folder() as folder:
        for data in (b"", bytes(4), bytes(40), b"\xff" * 40):
            folder.write("counters.cbor", data)
            assert raised(StoreError, _loaded, folder, "counters"), data


def test_a_file_that_cannot_be_read_is_not_taken_for_one_never_saved():
    with Folder() as folder:
        os.mkdir(folder.file("counters.cbor"))  # opens or reads with an error, as bad flash does
        assert raised(StoreError, _loaded, folder, "counters")


def test_a_crash_before_the_new_document_is_complete_keeps_the_old():
    with Folder() as folder:
        SettingsStore(folder.path).save("counters", [1, 2])
        before = folder.read("counters.cbor")
        SettingsStore(folder.path).save("counters", [3, 4])
        after = folder.read("counters.cbor")
        folder.write("counters.cbor", before)
        for size in range(len(after) + 1):  # power lost while the new file was being written
            folder.write("counters.cbor.new", after[:size])
            assert _loaded(folder, "counters") == [1, 2], size
        SettingsStore(folder.path).save("counters", [5, 6])
        assert _loaded(folder, "counters") == [5, 6]


class _NoRename:
    """The `os` of a machine that loses power when a file is renamed."""

    def __init__(self):
        self.asked = []

    def rename(self, old, new):
        self.asked.append((old, new))
        raise OSError(5)


def test_a_crash_between_write_and_rename_keeps_the_old():
    with Folder() as folder:
        SettingsStore(folder.path).save("counters", [1, 2])
        off = _NoRename()
        store_module.os = off
        try:
            assert raised(OSError, SettingsStore(folder.path).save, "counters", [3, 4])
        finally:
            store_module.os = os
        ((old, new),) = off.asked
        assert new == folder.file("counters.cbor") != old
        assert _loaded(folder, "counters") == [1, 2]
        os.rename(old, new)  # power lost just after it instead: the new one is whole
        assert _loaded(folder, "counters") == [3, 4]


def test_a_first_document_that_never_got_its_name_was_never_saved():
    with Folder() as folder:
        store_module.os = _NoRename()
        try:
            assert raised(OSError, SettingsStore(folder.path).save, "counters", [3, 4])
        finally:
            store_module.os = os
        assert _loaded(folder, "counters") is None


def test_saving_a_large_document_needs_no_memory_of_its_size():
    # A Pico's heap in service has pieces of 2 KB, and an open file takes 1,148 bytes of one.
    with Folder() as folder:
        store = SettingsStore(folder.path)
        document = bytes(1000)
        store.save("game", document)
        memory_in_use()  # collects
        gc.disable()
        before = allocated()
        store.save("game", document)
        used = allocated() - before
        gc.enable()
        assert used < 2 * len(document), used  # 4,224 bytes before
        assert store.load("game") == document


def test_a_file_that_is_written_gets_the_spare_piece_of_the_heap():
    with Folder() as folder:
        store = SettingsStore(folder.path)
        store.heap = heap = Heap()
        heap.take_spare()
        given = []

        class _Watching:
            def __getattr__(self, name):
                return getattr(os, name)

            def rename(self, old, new):
                given.append(heap._spare is None)
                os.rename(old, new)

        store_module.os = _Watching()
        try:
            store.save("counters", [3, 4])
        finally:
            store_module.os = os
        assert given == [True] and heap._spare is not None
