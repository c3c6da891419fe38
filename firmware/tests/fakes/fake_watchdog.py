"""A watchdog for boards of tests: counts how often it was fed."""


class Watchdog:
    """The members of a board's watchdog. `look_bytes` is more than most scripts have."""

    look_bytes = 2000

    def __init__(self):
        self.started = []
        """The times that it was started with, in ms."""
        self.fed = 0
        self.restarts = 0
        self.settled = 0

    def start(self, timeout_ms):
        self.started.append(timeout_ms)

    def feed(self):
        self.fed += 1

    def settle(self):
        self.restarts = 0
        self.settled += 1
