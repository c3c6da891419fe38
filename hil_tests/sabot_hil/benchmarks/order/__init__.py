"""The order of cards while it is dealt: false alarms, what is found of planted cheats, its cost."""
