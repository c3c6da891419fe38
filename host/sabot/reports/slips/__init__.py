"""Slips of settled rounds and hands, to print and sign."""
