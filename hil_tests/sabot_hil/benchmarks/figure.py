"""What a benchmark gives."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One measured figure."""

    name: str
    value: float
    unit: str
    against: str
