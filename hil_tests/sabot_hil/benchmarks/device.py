"""Benchmarks that run on MicroPython; prints one figure a line, `name value`.

    micropython -m sabot_hil.benchmarks.device codec|frames|reader

`codec` measures sabot_protocol/cbor.py on the event `card`; if the CBOR library of micropython-lib
is on the path, also that library, in turns, on the same event as a map with its field names.
`frames` writes frames of that event to standard output until the reader closes it.
`reader` lets the card reader read rest, and a recording of nominal passes, in pieces of the same
size as in a shoe.
"""

import gc
import sys

from sabot_hil.benchmarks.on_chip import allocated_bytes, ticks_diff, ticks_us
from sabot_protocol import cbor, events, frame, messages

try:
    from collections.abc import Callable
except ImportError:  # MicroPython has none, and does not look at annotations
    pass

_TURNS = 40
_REPEATS = 50
_ALLOCATION_REPEATS = 10
_FRAME_BATCH = 32
_RECORDING = "../firmware/tests/samples/nominal.samples"
_RECORDING_SET = 0
_RECORDING_BYTES = 60000
_PIECE = 512
_READER_TURNS = 20

CARD_EVENT = [10, 12345, 17, 1234567, 1790000000000, 3, 45, 32, 4, 1000, 985, 120, 1500, False]
"""An event `card` as it is on the wire."""

_NAMES = [name for name, _ in events.HEADER + events.CARD.fields]


def _time_in_turns(functions: "list[tuple[str, Callable[[], object]]]") -> None:
    """Time the functions in turns, so that a busy machine slows all of them alike."""
    best_us: dict[str, float] = {}
    for _ in range(_TURNS):
        for name, function in functions:
            gc.collect()
            begin_us = ticks_us()
            for _ in range(_REPEATS):
                function()
            us = ticks_diff(ticks_us(), begin_us) / _REPEATS
            best_us[name] = min(us, best_us.get(name, us))
    for name, function in functions:
        print(name + "_us", best_us[name])
        print(name + "_bytes", _allocated(function))


def _allocated(function: "Callable[[], object]") -> float:
    gc.collect()
    gc.disable()
    before = allocated_bytes()
    for _ in range(_ALLOCATION_REPEATS):
        function()
    allocated = allocated_bytes() - before
    gc.enable()
    return allocated / _ALLOCATION_REPEATS


def codec() -> None:
    buf = bytearray(events.MAX_SIZE)
    size = cbor.encode_array(buf, 0, CARD_EVENT, len(CARD_EVENT))
    functions: list[tuple[str, Callable[[], object]]] = [
        ("encode", lambda: cbor.encode_array(buf, 0, CARD_EVENT, len(CARD_EVENT))),
        ("decode", lambda: cbor.decode(buf, 0, size)),
    ]
    try:
        import cbor2
    except ImportError:
        pass
    else:
        event = dict(zip(_NAMES, CARD_EVENT))
        data = cbor2.dumps(event)
        functions.append(("library_encode", lambda: cbor2.dumps(event)))
        functions.append(("library_decode", lambda: cbor2.loads(data)))
    _time_in_turns(functions)


def frames() -> None:
    payload = bytearray(frame.MAX_PAYLOAD + frame.CRC_SIZE)
    record = bytearray(events.MAX_SIZE)
    out = bytearray(_FRAME_BATCH * 96)
    view = memoryview(out)
    size = cbor.encode_array(record, 0, CARD_EVENT, len(CARD_EVENT))
    message = [messages.EVENT.number, bytes(record[:size]), bytes(events.MAC_SIZE)]
    port = open(1, "wb")
    while True:
        at = 0
        for _ in range(_FRAME_BATCH):
            size = cbor.encode_array(payload, 0, message, len(message))
            at = frame.write_frame(payload, size, out, at)
        port.write(view[:at])


def reader() -> None:
    gc.collect()
    before = allocated_bytes()
    from sabot_firmware.cards.reader import Reader

    gc.collect()
    code = allocated_bytes() - before
    reader = Reader(_RECORDING_SET)
    gc.collect()
    print("code_bytes", code)
    print("state_bytes", allocated_bytes() - before - code)
    with open(_RECORDING, "rb") as file:  # noqa: PTH123 - MicroPython has no pathlib
        passes = file.read(_RECORDING_BYTES)
    for name, data in (("rest", bytes(_RECORDING_BYTES)), ("passes", passes)):
        best_us = 0
        for _ in range(_READER_TURNS):
            gc.collect()
            begin_us = ticks_us()
            at = 0
            while at < len(data):
                at = reader.read(data, at, min(at + _PIECE, len(data)))
            us = ticks_diff(ticks_us(), begin_us)
            best_us = min(us, best_us or us)
        print(name + "_samples_per_s", 2 * len(data) * 1000000 // best_us)


if __name__ == "__main__":
    {"codec": codec, "frames": frames, "reader": reader}[sys.argv[1]]()
