"""The same as JSON: every operation is described where it is defined (operations.py)."""
