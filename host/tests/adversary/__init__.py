"""What a person with bad intent can do, in thousands of cases made from a seed.

A module for each thing that may lie: `test_log.py` the log's file; others go beside it, for the
shoe, the host and the wire. Each takes its cases from `cases.py`, and says in its docstring what
must hold in every case. `make test` runs a sample, `make adversary` thousands.
"""
