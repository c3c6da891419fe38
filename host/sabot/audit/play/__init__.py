"""What the verifier checks of the play: shoes of cards and rounds, by rules of its own."""
