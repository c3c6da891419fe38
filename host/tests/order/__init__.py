"""Tests of the order in which cards come."""
