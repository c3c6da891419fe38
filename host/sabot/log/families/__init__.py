"""Rounds of families of games, made from events."""
