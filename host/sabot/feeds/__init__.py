"""What other systems get of a log: rounds, shoes of cards and incidents, as messages."""
