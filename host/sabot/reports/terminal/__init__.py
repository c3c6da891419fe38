"""Rounds and roads as text for a terminal."""
