"""A simulated shoe: the real firmware under MicroPython, and someone to deal it."""
