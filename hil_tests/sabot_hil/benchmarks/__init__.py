"""Benchmarks: `make bench`. Figures with units, each with a value to compare it with."""
