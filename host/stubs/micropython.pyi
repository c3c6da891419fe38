"""For mypy: what the shoe's firmware uses of MicroPython's module. It never runs here; without it
every function that is compiled to machine code would be `Any` to the host."""

from typing import TypeVar

_T = TypeVar("_T")

def viper(function: _T) -> _T: ...
def kbd_intr(character: int) -> None: ...
