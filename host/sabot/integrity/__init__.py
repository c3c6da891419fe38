"""What the cards of a log give away afterwards, over all its tables and years."""
