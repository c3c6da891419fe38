"""A log in a file of SQLite."""
