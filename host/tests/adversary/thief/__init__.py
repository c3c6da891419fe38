"""The thief has line, chip, heartbeats, answers, sizes and times, and learns no sealed card.

`guessing.py` has the statistics, `tapped.py` a whole shoe with taps, `rounds.py` the rounds of the
three families at it, `passes.py` real passes. Every test has a control: the same test must find
what does tell a card.
"""
