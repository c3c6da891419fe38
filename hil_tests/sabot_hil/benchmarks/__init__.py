"""Benchmarks: `make bench`. Figures with units, each with a value to compare it with.

MicroPython imports this too, for those that run in it: it has no dataclasses.
"""


class Benchmark:
    """One measured figure."""

    def __init__(self, name: str, value: float, unit: str, against: str) -> None:
        self.name = name
        self.value = value
        self.unit = unit
        self.against = against
