"""Helpers for the tests of protocol/, on CPython and on MicroPython."""

import gc
import json
import os
import random
import sys
import time

try:
    import micropython
except ImportError:
    micropython = None  # type: ignore[assignment]

_VECTORS = __file__.rsplit("/", 2)[0] + "/vectors/"


def vectors(name):
    """Return the document `name`.json of protocol/vectors/."""
    with open(_VECTORS + name + ".json", encoding="utf-8") as file:
        return json.load(file)


def each_case(name, part):
    """Yield the cases of that document's `part`, "good" or "bad", one at a time: the heap of the
    board has no room for all of them."""
    with open(_VECTORS + name + ".json", encoding="utf-8") as file:
        begun = False
        for line in file:
            line = line.strip()
            if begun and line[0] == "]":
                return
            if begun:
                yield json.loads(line[:-1] if line[-1] == "," else line)
            elif line == '"' + part + '": [':
                begun = True


def value_of(noted):
    """Return the value of a vector: JSON has neither byte strings nor integers of 64 bits."""
    if isinstance(noted, list):
        return [value_of(item) for item in noted]
    if isinstance(noted, dict):
        if "$bytes" in noted:
            return bytes.fromhex(noted["$bytes"])
        if "$int" in noted:
            return int(noted["$int"])
        return {key: value_of(noted[key]) for key in noted}
    return noted


def same(one, other):
    """Whether two values are equal and of the same types at every level: 1 is not true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all([same(one[i], other[i]) for i in range(len(one))])
    if isinstance(one, dict):
        return sorted(one) == sorted(other) and all([same(one[key], other[key]) for key in one])
    return one == other


def raised(error, function, *arguments):
    """Whether `function(*arguments)` raises `error`; other errors are passed on."""
    try:
        function(*arguments)
    except error:
        return True
    return False


def seed_random():
    """Seed `random` and print the seed; SABOT_SEED=... in the environment repeats a run."""
    given = os.getenv("SABOT_SEED")
    seed = int(given) if given else int(time.time() * 1000) & 0x3FFFFFFF
    print("SABOT_SEED=%d" % seed)
    random.seed(seed)


_BOARD = sys.implementation.name == "micropython"


def some(cases, every):
    """Return all `cases` on CPython; under MicroPython, where a case takes ten times as long, each
    `every`th from a random one on. What both have in common need not be tried twice."""
    if not _BOARD:
        return cases
    return [cases[at] for at in range(random.randrange(every), len(cases), every)]


def times(on_cpython, under_micropython):
    """Return how often to try something random: seldom under MicroPython, as in `some`."""
    return under_micropython if _BOARD else on_cpython


def random_bytes(size):
    return bytes([random.getrandbits(8) for _ in range(size)])


def allocates(call):
    """Whether `call()` allocates. Only MicroPython can measure it; CPython always says no."""
    if micropython is None:
        call()
        return False
    micropython.heap_lock()
    try:
        call()
    except MemoryError:
        return True
    finally:
        micropython.heap_unlock()
    return False


def memory_in_use():
    """Return the bytes allocated after a garbage collection; 0 on CPython, which has no figure."""
    gc.collect()
    return gc.mem_alloc() if hasattr(gc, "mem_alloc") else 0
