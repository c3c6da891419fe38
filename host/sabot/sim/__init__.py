"""A simulated shoe: the real firmware under MicroPython, and a simulated dealer."""
