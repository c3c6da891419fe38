"""Deterministic CBOR for both ends (RFC 8949, section 4.2.1), in the small subset that is sent.

The subset has integers of 64 bits, text, byte strings, arrays, maps with text keys, false, true and
null; no floats, no tags, no indefinite lengths. Items not in their shortest form are refused.
"""

import struct

MAX_DEPTH = 4
"""How deep arrays and maps may be nested; the outermost counts as one level."""

_UINT, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP = 0, 1, 2, 3, 4, 5
_FALSE, _TRUE, _NULL = 0xF4, 0xF5, 0xF6
_INT_LIMIT = 1 << 64

# A tuple in a call of isinstance would be a new object each time on the device.
_OCTETS = (bytes, bytearray, memoryview)
_SEQUENCES = (list, tuple)


class CborError(ValueError):
    """The bytes are not exactly one item of the subset, or the value cannot be sent."""


def encode_into(buf: bytearray, at: int, value: object, depth: int = MAX_DEPTH) -> int:
    """Write `value` to `buf` from index `at`; return the index after it.

    It allocates only for maps (their keys are sorted, and each text in them is encoded as a whole),
    and for each character of another text that MicroPython has not used before: MicroPython keeps
    an object for it from then on. `depth` is how many more levels of arrays and maps are allowed.
    Raises CborError for a value outside the subset, IndexError if `buf` is too short.
    """
    if type(value) is int:
        if value < 0:
            return _write_head(buf, at, _NEGATIVE, -1 - value)
        return _write_head(buf, at, _UINT, value)
    if value is None:
        buf[at] = _NULL
        return at + 1
    if value is True or value is False:
        buf[at] = _TRUE if value else _FALSE
        return at + 1
    if isinstance(value, _OCTETS):
        return _write_octets(buf, at, _BYTES, value)
    if isinstance(value, str):
        return _write_text(buf, at, value)
    if isinstance(value, _SEQUENCES):
        return encode_array(buf, at, value, len(value), depth)
    if isinstance(value, dict):
        return _write_map(buf, at, value, depth)
    raise CborError("cannot send a " + type(value).__name__)


def encode_array(
    buf: bytearray,
    at: int,
    items: "list | tuple",  # type: ignore[type-arg]
    count: int,
    depth: int = MAX_DEPTH,
) -> int:
    """Write the first `count` of `items` as an array; return the index after it.

    The most frequent items are written here, without a call for each: an event is an array of
    small integers, and this loop is the cost of encoding it. Raises the errors of `encode_into`.
    """
    if not depth:
        raise CborError("nested too deep")
    at = _write_head(buf, at, _ARRAY, count)
    kind_of, integer = type, int  # a local name is faster than a builtin
    for i in range(count):
        value = items[i]
        if kind_of(value) is not integer or value < 0:
            at = encode_into(buf, at, value, depth - 1)
        elif value < 24:
            buf[at] = value
            at += 1
        elif value < 0x100:
            buf[at] = 24
            buf[at + 1] = value
            at += 2
        elif value < 0x10000:
            buf[at] = 25
            buf[at + 1] = value >> 8
            buf[at + 2] = value & 0xFF
            at += 3
        else:
            at = _write_head(buf, at, _UINT, value)
    return at


def _write_head(buf: bytearray, at: int, major: int, argument: int) -> int:
    major <<= 5
    if argument < 24:
        buf[at] = major | argument
        return at + 1
    if argument < 0x100:
        buf[at] = major | 24
        buf[at + 1] = argument
        return at + 2
    # At the end of the buffer pack_into raises a different error in each interpreter; an index does
    # not.
    if argument < 0x10000:
        buf[at + 2] = 0
        buf[at] = major | 25
        struct.pack_into(">H", buf, at + 1, argument)
        return at + 3
    if argument < 0x100000000:
        buf[at + 4] = 0
        buf[at] = major | 26
        struct.pack_into(">I", buf, at + 1, argument)
        return at + 5
    if argument >= _INT_LIMIT:
        raise CborError("integer over 64 bits")
    buf[at + 8] = 0
    buf[at] = major | 27
    struct.pack_into(">Q", buf, at + 1, argument)
    return at + 9


def _write_octets(
    buf: bytearray, at: int, major: int, octets: "bytes | bytearray | memoryview"
) -> int:
    at = _write_head(buf, at, major, len(octets))
    for octet in octets:
        buf[at] = octet
        at += 1
    return at


def _text_size(text: str) -> int:
    """Return the length of `text` in UTF-8, in bytes."""
    # Character by character, because str.encode() would allocate on the device.
    size = 0
    for letter in text:
        code = ord(letter)
        if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
            raise CborError("text is not UTF-8")
        size += 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
    return size


def _write_text(buf: bytearray, at: int, text: str) -> int:
    start = at
    at = _write_head(buf, at, _TEXT, len(text))
    for letter in text:
        code = ord(letter)
        if code >= 0x80:
            return _write_wide_text(buf, start, text)
        buf[at] = code
        at += 1
    return at


def _write_wide_text(buf: bytearray, at: int, text: str) -> int:
    at = _write_head(buf, at, _TEXT, _text_size(text))
    for letter in text:
        code = ord(letter)
        if code < 0x80:
            buf[at] = code
        elif code < 0x800:
            buf[at] = 0xC0 | code >> 6
        elif code < 0x10000:
            buf[at] = 0xE0 | code >> 12
        else:
            buf[at] = 0xF0 | code >> 18
            at += 1
            buf[at] = 0x80 | code >> 12 & 0x3F
        if code >= 0x800:
            at += 1
            buf[at] = 0x80 | code >> 6 & 0x3F
        if code >= 0x80:
            at += 1
            buf[at] = 0x80 | code & 0x3F
        at += 1
    return at


def _write_map(buf: bytearray, at: int, value: "dict[str, object]", depth: int) -> int:
    if not depth:
        raise CborError("nested too deep")
    keys = []
    for key in value:
        if not isinstance(key, str):
            raise CborError("map key is not text")
        octets = _octets(key)
        keys.append((len(octets), octets, key))
    keys.sort()
    at = _write_head(buf, at, _MAP, len(keys))
    for _, octets, key in keys:
        at = _write_octets(buf, at, _TEXT, octets)
        item = value[key]
        if isinstance(item, str):
            at = _write_octets(buf, at, _TEXT, _octets(item))
        else:
            at = encode_into(buf, at, item, depth - 1)
    return at


def _octets(text: str) -> bytes:
    """Return `text` in UTF-8. It allocates; but a loop over the letters would take the Pico 0.1 ms
    for each, because MicroPython looks each of them up among all names."""
    try:
        octets = text.encode()
    except UnicodeError:
        raise CborError("text is not UTF-8") from None
    if len(octets) != len(text):
        _text_size(text)  # MicroPython encodes surrogates too
    return octets


def decode(buf: "bytes | bytearray | memoryview", start: int, end: int) -> object:
    """Return the one item that fills `buf[start:end]`.

    Raises CborError unless it is exactly one item in deterministic form: for surplus or missing
    bytes, a head longer than needed, doubled or unordered keys, text that is not UTF-8, more than
    MAX_DEPTH levels, and anything outside the subset.
    """
    decoder = _Decoder(buf, start, end)
    try:
        value = decoder.item(MAX_DEPTH)
    except IndexError:
        raise CborError("ends within an item") from None
    if decoder.at > end:
        raise CborError("ends within an item")
    if decoder.at < end:
        raise CborError("bytes after the item")
    return value


class _Decoder:
    def __init__(self, buf: "bytes | bytearray | memoryview", start: int, end: int) -> None:
        self.buf = buf
        self.at = start
        self.end = end

    def item(self, depth: int) -> object:
        buf = self.buf
        head = buf[self.at]
        major = head >> 5
        if major == 7:
            self.at += 1
            if head == _NULL:
                return None
            if head == _TRUE or head == _FALSE:
                return head == _TRUE
            raise CborError("float, break or unknown simple value")
        if major == 6:
            raise CborError("tag")
        argument = head & 0x1F
        if argument < 24:
            self.at += 1
        else:
            argument = self._argument(argument)
        if major == _UINT:
            return argument
        if major == _NEGATIVE:
            return -1 - argument
        # Each item takes a byte or more, so a head cannot announce more items than bytes are left.
        if argument > self.end - self.at:
            raise CborError("ends within an item")
        if major == _ARRAY:
            if not depth:
                raise CborError("nested too deep")
            return self._array(argument, depth - 1)
        if major == _MAP:
            if not depth:
                raise CborError("nested too deep")
            return self._map(argument, depth - 1)
        start = self.at
        self.at = start + argument
        octets = bytes(buf[start : self.at])
        if major == _BYTES:
            return octets
        return _text(octets)

    def _argument(self, short: int) -> int:
        buf = self.buf
        at = self.at
        if short > 27:
            raise CborError("indefinite length or reserved head")
        size = 1 << (short - 24)
        self.at = at + 1 + size
        if self.at > self.end:
            raise CborError("ends within an item")
        argument = 0
        for i in range(at + 1, at + 1 + size):
            argument = argument << 8 | buf[i]
        if argument < 24 or (size > 1 and argument >> (size << 2) == 0):
            raise CborError("not in shortest form")
        return argument

    def _array(self, count: int, depth: int) -> "list[object]":
        # As in encode_array, the most frequent items are read here. An item that is not in its
        # shortest form fails these conditions, and `item` refuses it.
        items: "list[object]" = [None] * count
        buf = self.buf
        at = self.at
        from_bytes = int.from_bytes
        for i in range(count):
            head = buf[at]
            if head < 24:
                items[i] = head
                at += 1
            elif head == 25 and buf[at + 1]:
                items[i] = buf[at + 1] << 8 | buf[at + 2]
                at += 3
            elif head == 24 and buf[at + 1] >= 24:
                items[i] = buf[at + 1]
                at += 2
            elif head == 26 and (buf[at + 1] or buf[at + 2]):
                items[i] = from_bytes(buf[at + 1 : at + 5], "big")
                at += 5
            elif head == 27 and buf[at + 3]:
                items[i] = from_bytes(buf[at + 1 : at + 9], "big")
                at += 9
            else:
                self.at = at
                items[i] = self.item(depth)
                at = self.at
        self.at = at
        return items

    def _map(self, count: int, depth: int) -> "dict[str, object]":
        pairs: "dict[str, object]" = {}
        before = b""
        for _ in range(count):
            start = self.at
            if self.buf[start] >> 5 != _TEXT:
                raise CborError("map key is not text")
            key = self.item(0)
            written = bytes(self.buf[start : self.at])
            if written == before:
                raise CborError("key doubled")
            if written < before:
                raise CborError("keys out of order")
            before = written
            pairs[key] = self.item(depth)  # type: ignore[index]
        return pairs


def _text(octets: bytes) -> str:
    try:
        text = octets.decode()
    except ValueError:  # UnicodeError is a ValueError on both interpreters
        raise CborError("text is not UTF-8") from None
    # MicroPython accepts surrogates and overlong forms, which have more bytes than characters.
    if len(text) != len(octets) and _text_size(text) != len(octets):
        raise CborError("text is not UTF-8")
    return text
