"""Independent dealers of the other families of games."""
