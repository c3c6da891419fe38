"""Releases of the firmware: built and signed, flashed onto boards, sent to shoes as updates."""
