-- Version 2: what centre and sites sign and say about each other's records.
CREATE TABLE sabot.receipts (
    unit integer NOT NULL,
    number bigint NOT NULL CHECK (number > 0),
    receipt bytea NOT NULL CHECK (octet_length(receipt) BETWEEN 1 AND 4096),
    PRIMARY KEY (unit, number)
);

-- The highest checkpoint that a site has sent of a unit on each day.
CREATE TABLE sabot.site_checkpoints (
    unit integer NOT NULL,
    day date NOT NULL,
    number bigint NOT NULL CHECK (number >= 0),
    records bigint NOT NULL,
    unix_ms bigint NOT NULL,
    site name NOT NULL,
    mac bytea NOT NULL CHECK (octet_length(mac) = 16),
    PRIMARY KEY (unit, day)
);

CREATE TABLE sabot.alarms (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    number bigint NOT NULL,
    unix_ms bigint NOT NULL,
    site name NOT NULL,
    unit text COLLATE "C" NOT NULL CHECK (length(unit) BETWEEN 1 AND 300),
    kind text COLLATE "C" NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
    detail text COLLATE "C" NOT NULL CHECK (length(detail) <= 200),
    record bytea CHECK (octet_length(record) <= 192),
    mac bytea CHECK (octet_length(mac) <= 16),
    UNIQUE NULLS NOT DISTINCT (unit, number, kind, detail, record, mac, site)
);

-- Tables of a version 2 that was taken back to version 1, with all that was in them.
DO $$
BEGIN
    IF to_regnamespace('sabot_version_2') IS NOT NULL THEN
        INSERT INTO sabot.receipts SELECT * FROM sabot_version_2.receipts;
        INSERT INTO sabot.site_checkpoints SELECT * FROM sabot_version_2.site_checkpoints;
        INSERT INTO sabot.alarms OVERRIDING SYSTEM VALUE
        SELECT * FROM sabot_version_2.alarms ORDER BY id;
        PERFORM setval(
            pg_get_serial_sequence('sabot.alarms', 'id'),
            (SELECT coalesce(max(id), 0) + 1 FROM sabot.alarms), false
        );
        DROP SCHEMA sabot_version_2 CASCADE;
    END IF;
END
$$;

-- The receipts of a unit of the caller with a higher number, in order.
CREATE FUNCTION sabot.receipts_after(of_unit text, after bigint)
RETURNS TABLE (number bigint, receipt bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_may_write(of_unit);
    RETURN QUERY
    SELECT r.number, r.receipt FROM sabot.receipts AS r
    JOIN sabot.units AS u ON u.id = r.unit AND u.unit = of_unit
    WHERE r.number > after ORDER BY r.number;
END
$$;

-- Keeps what a site says of its own log: the newest record of a unit there, and how many it has had.
CREATE FUNCTION sabot.checkpoint(of_unit text, number bigint, mac bytea, records bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ms bigint := sabot.now_unix_ms();
BEGIN
    PERFORM sabot.check_may_write(of_unit);
    INSERT INTO sabot.site_checkpoints AS c
    SELECT u.id, date '1970-01-01' + (now_ms / 86400000)::integer, checkpoint.number,
        checkpoint.records, now_ms, session_user, checkpoint.mac
    FROM sabot.units AS u WHERE u.unit = of_unit
    ON CONFLICT (unit, day) DO UPDATE SET
        number = excluded.number, records = excluded.records, unix_ms = excluded.unix_ms,
        site = excluded.site, mac = excluded.mac
    WHERE excluded.number > c.number;
END
$$;

-- Raises an alarm; the same one twice is one row.
CREATE FUNCTION sabot.alarm(
    of_unit text, number bigint, kind text, detail text, record bytea, mac bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT pg_has_role(session_user, 'sabot_notary', 'USAGE') THEN
        PERFORM sabot.check_may_write(of_unit);
    END IF;
    INSERT INTO sabot.alarms (number, unix_ms, site, unit, kind, detail, record, mac)
    VALUES (
        alarm.number, sabot.now_unix_ms(), session_user, of_unit, alarm.kind, alarm.detail,
        alarm.record, alarm.mac
    ) ON CONFLICT DO NOTHING;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sabot FROM PUBLIC;
GRANT SELECT ON sabot.receipts, sabot.site_checkpoints, sabot.alarms TO sabot_reader;
GRANT INSERT ON sabot.receipts TO sabot_notary;
GRANT EXECUTE ON FUNCTION
    sabot.receipts_after(text, bigint), sabot.checkpoint(text, bigint, bytea, bigint)
TO sabot_logger, sabot_site;
GRANT EXECUTE ON FUNCTION sabot.alarm(text, bigint, text, text, bytea, bytea)
TO sabot_logger, sabot_site, sabot_notary;
