"""How the server of a log in PostgreSQL does, as far as every role may ask: its archive of the
write-ahead log, and the age of its oldest transaction.
"""

from typing import NamedTuple

from sabot.log.postgres.sessions import PostgresConnection

# pg_stat_archiver has the last piece that was archived, and the last that could not be. A piece is
# named by timeline, log and segment, eight hexadecimal digits each.
_FIGURES = """
WITH archiver AS (
    SELECT *, current_setting('archive_mode') <> 'off' AND NOT pg_is_in_recovery() AS is_on
    FROM pg_stat_archiver
), written AS (
    SELECT CASE WHEN is_on THEN pg_walfile_name(pg_current_wal_lsn()) END AS here,
        CASE WHEN last_archived_wal ~ '^[0-9A-F]{24}' THEN last_archived_wal END AS there,
        (4294967296 / pg_size_bytes(current_setting('wal_segment_size')))::bigint AS of_a_log
    FROM archiver
)
SELECT
    (SELECT pg_database_size(current_database())),
    (SELECT max(age(datfrozenxid)) FROM pg_database),
    is_on,
    CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN
        extract(epoch FROM now() - coalesce(last_archived_time, stats_reset))::double precision
    ELSE 0 END,
    (SELECT greatest(0, (
        ('x' || substr(here, 9, 8))::bit(32)::bigint * of_a_log
        + ('x' || substr(here, 17, 8))::bit(32)::bigint
        - ('x' || substr(there, 9, 8))::bit(32)::bigint * of_a_log
        - ('x' || substr(there, 17, 8))::bit(32)::bigint - 1
    )) FROM written)
FROM archiver
"""


class ServerFigures(NamedTuple):
    """Figures of a server."""

    database_bytes: int
    transaction_age: int
    """How many transactions ago the oldest one is that was not frozen. At two thousand million the
    server takes no more."""
    archives: bool
    """Whether it archives its write-ahead log."""
    failing_s: float
    """For how long nothing was archived, since the archive last refused a piece; 0 if it took the
    last one."""
    waiting: int | None
    """How many full pieces wait to be archived; None if none ever was."""


def server_figures(connection: PostgresConnection) -> ServerFigures:
    """Ask a server."""
    return ServerFigures(*connection.execute(_FIGURES).fetchone() or ())
