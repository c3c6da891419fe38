"""What it costs to look through the cards of a log (`sabot.integrity`)."""
