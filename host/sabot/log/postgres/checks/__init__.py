"""Whether a log in PostgreSQL is as it was made: its tables and functions, its rights, its rows."""
