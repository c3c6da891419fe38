"""What the options of a command select in a log: rounds, events, or one round."""
