"""Reading a log: its rounds, and its events as they may be shown."""
