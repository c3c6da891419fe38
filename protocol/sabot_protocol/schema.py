"""The shape of a message or an event: an array of a number and typed fields."""

from sabot_protocol import OLDEST, cards, enums

_UINT_LIMIT = 1 << 64


class SchemaError(ValueError):
    """The values do not fit the shape."""


class Shape:
    """One kind of array on the wire: `[number, field, field, ...]`.

    A field is `name:type`; a space separates fields. Types: `uint`, `int` (64 bits), `flag`,
    `text`, `bytes`, `card` (0-53), or the name of one of `enums.ENUMERATIONS`; a `?` after it
    allows null. Fields that came after version 10 stand after a `|`: an older shoe leaves them out.
    The new shape is appended to `listed`, so the definitions make the lists.
    """

    # A shoe has some eighty of these, so an attribute with its default is only in the class.
    name = ""
    answer: "Shape | None" = None
    """Of a command: the report that answers it; None: a `reply`."""
    by: "int | None" = None
    """Of a command: who may send it (messages.py). Of an event: who makes it (events.py)."""
    since = OLDEST
    """The version of the protocol that it came with."""
    _least: "int | None" = None
    # A shoe reads the fields of few shapes; those of all would take 6 KB of its heap as tuples.
    _fields: "str | tuple[tuple[str, str], ...]" = ()

    def __init__(
        self,
        number: int,
        name: str,
        fields: str,
        listed: "list[Shape] | None" = None,
        by: "int | None" = None,
        answer: "Shape | None" = None,
        since: int = OLDEST,
    ) -> None:
        self.number = number
        if name:
            self.name = name
        if fields:
            self._fields = fields
        if by is not None:
            self.by = by
        if answer is not None:
            self.answer = answer
        if since > OLDEST:
            self.since = since
        if listed is not None:
            listed.append(self)

    @property
    def fields(self) -> "tuple[tuple[str, str], ...]":
        """Name and type of each field, in order."""
        fields = self._fields
        if isinstance(fields, str):
            if "|" in fields:
                self._least = fields.split("|")[0].count(":")
            self._fields = fields = fields_of(fields)
        return fields

    @property
    def least(self) -> "int | None":
        """The number of fields before the `|`; None if there is no `|`: every version has all."""
        return self._least if self.fields else None

    def check(self, values: "list[object]") -> None:
        """Raise SchemaError unless `values` (the array after its number) fit the fields."""
        fields = self.fields
        if len(values) != len(fields):
            raise SchemaError(self.name + ": " + str(len(values)) + " fields")
        for i in range(len(values)):
            name, kind = fields[i]
            if not fits(kind, values[i]):
                raise SchemaError(self.name + "." + name + " is not " + kind)


def fields_of(fields: str) -> "tuple[tuple[str, str], ...]":
    """Return name and type of each of `fields`, in order."""
    return tuple([tuple(field.split(":")) for field in fields.split() if field != "|"])  # type: ignore[misc]


def fits(kind: str, value: object) -> bool:
    """Return whether a value is of the type of a field."""
    if kind[-1] == "?":
        if value is None:
            return True
        kind = kind[:-1]
    if kind == "text":
        return isinstance(value, str)
    if kind == "bytes":
        return isinstance(value, bytes)
    if kind == "flag":
        return value is True or value is False
    if type(value) is not int:
        return False
    if kind == "int":
        return -(_UINT_LIMIT >> 1) <= value < _UINT_LIMIT >> 1
    if value < 0:
        return False
    if kind == "uint":
        return value < _UINT_LIMIT
    if kind == "card":
        return value < cards.CARD_COUNT
    return value < len(enums.ENUMERATIONS[kind])
