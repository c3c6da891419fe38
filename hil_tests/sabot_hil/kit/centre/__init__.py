"""Helpers to judge the centre: a PostgreSQL server, a bad link, sites with chained records, and a
reader of both sides. They follow the specification and use nothing of what they judge."""
