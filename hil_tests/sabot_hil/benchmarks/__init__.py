"""Benchmarks: `make bench`. Figures with units, each with a value to compare it with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One measured figure."""

    name: str
    value: float
    unit: str
    against: str
