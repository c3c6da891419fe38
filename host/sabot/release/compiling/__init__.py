"""The sources of a board become its bytecode; words and names that it does not need go."""
