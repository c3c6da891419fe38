"""The faults of `make losses`, and the centre and the sites that they happen to."""
