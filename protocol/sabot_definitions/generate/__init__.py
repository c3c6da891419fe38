"""Writes what follows from the definitions: `make generated`."""
