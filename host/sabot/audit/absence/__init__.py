"""Asks of everything that is named in a log, or beside it, whether it is there."""
