"""A log in a database of a PostgreSQL server."""
