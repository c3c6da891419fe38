"""Versions of Sabot besides the one in this checkout: released ones, and a made later one."""
