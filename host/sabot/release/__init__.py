"""Releases of the firmware: built, signed, and kept in a folder."""
