"""The bench board: a second Raspberry Pi Pico that plays cards and hands to a shoe under test."""

VERSION = "0.1.0"
