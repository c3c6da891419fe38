"""Work in a copy of the process that holds an emulated chip: the chip itself stays as it was."""

import json
import os
from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")
"""What JSON can carry; tuples arrive as lists."""


def in_a_copy(work: Callable[[], T]) -> T:
    """Return what `work` returns in a copy of this process (`os.fork`), in which nothing else goes
    on.

    Raises RuntimeError with what it said if it failed there.
    """
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(here)
        try:
            said = json.dumps({"is": work()})
        except BaseException as error:
            said = json.dumps({"error": f"{type(error).__name__}: {error}"})
        with os.fdopen(there, "w") as pipe:
            pipe.write(said)
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError("the copy of the process ended without a word")
    answer = json.loads(text)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return cast("T", answer["is"])
