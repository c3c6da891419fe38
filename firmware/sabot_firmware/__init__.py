"""The firmware of the shoe, for MicroPython. See README.md for what lies where."""

VERSION = "0.3.0"
MICROPYTHON = "1.28.0"
"""The oldest MicroPython that it runs on."""
