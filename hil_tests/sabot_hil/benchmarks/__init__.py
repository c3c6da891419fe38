"""Benchmarks: `make bench`. Figures with units and what they are held against."""
