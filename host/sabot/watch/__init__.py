"""The wall and the table in a terminal."""
