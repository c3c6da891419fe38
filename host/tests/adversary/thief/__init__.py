"""The thief has wire, journal, heartbeats, answers, sizes and times, and learns no sealed card.

`guessing.py` has the statistics, `passes.py` real passes. Every test has a control: the same test
must find what does tell a card.
"""
