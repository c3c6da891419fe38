"""Frozen objects whose classes are cheap to make.

`dataclass(frozen=True, slots=True)` takes half a millisecond for each class, whenever a program
starts. The classes of messages and events are many and have one form, so they share the methods
here. Type checkers and `dataclasses` take them for dataclasses.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field, FrozenInstanceError, field, fields, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

_Setter = Callable[[object, object], None]


class _DataclassFields:
    """The attribute by which `dataclasses.fields` and `replace` know the fields of a class. It is
    made when one of them asks."""

    def __get__(self, _: object, owner: Any) -> dict[str, Field[Any]]:
        return _dataclass_fields(owner)


@cache
def _dataclass_fields(owner: Any) -> dict[str, Field[Any]]:
    named = [(name, Any, field(kw_only=name in owner.BY_NAME)) for name in owner.NAMES]
    return {each.name: each for each in fields(make_dataclass(owner.__name__, named))}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """An object that never changes. A class derived from it has its own fields in `__slots__`,
    after those of the class above it; it is made, shown, compared and hashed as a dataclass is."""

    __slots__ = ()
    __dataclass_fields__ = _DataclassFields()

    NAMES: ClassVar[tuple[str, ...]] = ()
    """The names of all fields, in order."""
    BY_NAME: ClassVar[Mapping[str, object]] = {}
    """The fields that are given by name only, with their defaults."""
    _in_order: ClassVar[tuple[_Setter, ...]] = ()
    _by_name: ClassVar[tuple[tuple[str, _Setter, object], ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__dict__.get("__slots__", ())
        cls.NAMES += own
        cls._in_order += tuple(
            [cls.__dict__[name].__set__ for name in own if name not in cls.BY_NAME]
        )
        if "BY_NAME" in cls.__dict__:
            cls._by_name = tuple(
                (name, getattr(cls, name).__set__, default) for name, default in cls.BY_NAME.items()
            )

    if not TYPE_CHECKING:  # type checkers know the parameters of each class from its fields

        def __init__(self, *values: object, **named: object) -> None:
            for name, put, default in self._by_name:
                put(self, named.pop(name, default))
            if named or len(values) != len(self._in_order):
                values = self._arranged(values, named)
            for put, value in zip(self._in_order, values):  # noqa: B905 - their numbers are equal
                put(self, value)

    def _arranged(self, values: tuple[object, ...], named: dict[str, object]) -> list[object]:
        """Return the values of all fields in order, of which some were given by name."""
        names = [name for name in self.NAMES if name not in self.BY_NAME]
        lacking = names[len(values) :]
        if len(values) > len(names) or set(lacking) != named.keys():
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
        return [*values, *(named[name] for name in lacking)]

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.NAMES)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.NAMES)
        return f"{type(self).__qualname__}({shown})"

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> "tuple[Callable[..., Self], tuple[object, ...]]":
        return _restored, (type(self), self._values())


def _restored(cls: Any, values: tuple[object, ...]) -> Any:
    """Return an object of a class from the values of all its fields: for copies and pickles."""
    restored = object.__new__(cls)
    for name, value in zip(cls.NAMES, values, strict=True):
        getattr(cls, name).__set__(restored, value)
    return restored
