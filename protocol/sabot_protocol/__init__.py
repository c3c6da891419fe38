"""What is said between a shoe and its host: one definition, imported by both.

Everything here runs on CPython and on MicroPython. See README.md for the bytes.
"""

VERSION = 11
"""Version of the protocol. It changes with any change of a message or an event."""

OLDEST = 10
"""The oldest version that is still spoken. Both ends know every version from it to VERSION."""
