"""Stops a part of a house, and looks where people would be told: what `make silences` runs."""
