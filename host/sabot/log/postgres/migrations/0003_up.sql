-- Version 3: what a site asks of all its units at once.

-- The heads of those of these units that the caller may write: zeros for one that has no records.
-- `by_another` says whether another role wrote the newest record.
CREATE FUNCTION sabot.heads_of(units text[])
RETURNS TABLE (unit text, newest bigint, mac bytea, records bigint, by_another boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT asked.unit, coalesce(u.newest, 0), coalesce(u.mac, ''), coalesce(u.records, 0),
        coalesce(u.site <> session_user, false)
    FROM unnest(units) AS asked (unit) LEFT JOIN sabot.units AS u ON u.unit = asked.unit
    WHERE sabot.may_write(asked.unit)
$$;

-- What is missing between records of those of these units that the caller may write.
CREATE FUNCTION sabot.holes_of(units text[])
RETURNS TABLE (unit text, first bigint, last bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.unit, h.first, h.last
    FROM sabot.units AS u JOIN sabot.holes AS h ON h.unit = u.id
    WHERE u.unit = ANY (units) AND sabot.may_write(u.unit)
    ORDER BY u.unit, h.first
$$;

REVOKE ALL ON FUNCTION sabot.heads_of(text[]), sabot.holes_of(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sabot.heads_of(text[]), sabot.holes_of(text[])
TO sabot_logger, sabot_site;
