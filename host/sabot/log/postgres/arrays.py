"""Arrays as PostgreSQL takes them on the line, made in one piece: a batch has thousands of records.

The bytes are those that `array_send` of the server gives for the same array, so that both ends can
compute the same digest of them.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

_BIGINT, _BYTEA, _TEXT = 20, 17, 25  # of the elements: pg_type.dat
_ARRAY_OF = {_BIGINT: 1016, _BYTEA: 1001, _TEXT: 1009}
_NULL = b"\xff\xff\xff\xff"
_MOST_LENGTHS = 256
_LENGTHS = [struct.pack(">i", length) for length in range(_MOST_LENGTHS)]


class Array(bytes):
    """An array in its binary form."""


class BigintArray(Array):
    """bigint[]"""


class ByteaArray(Array):
    """bytea[]"""


class TextArray(Array):
    """text[]"""


def bigints(values: Sequence[int | None]) -> BigintArray:
    """An array of integers of up to 64 bits, or None. Raises struct.error for a larger one."""
    if None not in values:
        items = struct.pack(f">{'iq' * len(values)}", *chain.from_iterable((8, v) for v in values))
    else:
        items = b"".join(_NULL if v is None else struct.pack(">iq", 8, v) for v in values)
    return BigintArray(_head(_BIGINT, len(values), None in values) + items)


def byteas(values: Sequence[bytes]) -> ByteaArray:
    """An array of bytes."""
    return ByteaArray(_head(_BYTEA, len(values)) + _joined(values))


def texts(values: Sequence[str]) -> TextArray:
    """An array of texts. Raises UnicodeEncodeError for one that is not text."""
    encoded = {value: value.encode() for value in set(values)}
    return TextArray(_head(_TEXT, len(values)) + _joined([encoded[value] for value in values]))


def _head(kind: int, amount: int, nulls: bool = False) -> bytes:
    """One dimension, from index 1."""
    return struct.pack(">iiIii", 1, nulls, kind, amount, 1)


def _joined(values: Iterable[bytes]) -> bytes:
    pairs = (
        (_LENGTHS[len(v)] if len(v) < _MOST_LENGTHS else struct.pack(">i", len(v)), v)
        for v in values
    )
    return b"".join(chain.from_iterable(pairs))


class _Dumper(Dumper):
    """Passes an array on as it is."""

    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer | None:
        return bytes(obj)


class _Bigints(_Dumper):
    oid = _ARRAY_OF[_BIGINT]


class _Byteas(_Dumper):
    oid = _ARRAY_OF[_BYTEA]


class _Texts(_Dumper):
    oid = _ARRAY_OF[_TEXT]


def register(session: Connection[Any]) -> None:
    """Let a session take these arrays as parameters."""
    session.adapters.register_dumper(BigintArray, _Bigints)
    session.adapters.register_dumper(ByteaArray, _Byteas)
    session.adapters.register_dumper(TextArray, _Texts)
