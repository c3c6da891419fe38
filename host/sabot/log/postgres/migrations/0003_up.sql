-- Version 3: what a site asks of all its units at once, and says with a digest of it: a link without
-- TLS may change bytes.

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

CREATE FUNCTION sabot.check_digest(digest bytea, of bytea) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF digest IS DISTINCT FROM sha256(of) THEN
        RAISE EXCEPTION 'this was changed on the way' USING ERRCODE = 'SB422';
    END IF;
END
$$;

-- `sabot.checkpoint` of many units.
CREATE FUNCTION sabot.say_checkpoints(
    units text[], numbers bigint[], macs bytea[], records bigint[], digest bytea
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(
        digest, array_send(units) || array_send(numbers) || array_send(macs) || array_send(records)
    );
    PERFORM sabot.checkpoint(unit, number, mac, record)
    FROM unnest(units, numbers, macs, records) AS said (unit, number, mac, record);
END
$$;

-- `sabot.alarm`: texts are unit, kind and detail; contents are record and MAC, empty without one.
CREATE FUNCTION sabot.say_alarm(texts text[], numbers bigint[], contents bytea[], digest bytea)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(
        digest, array_send(texts) || array_send(numbers) || array_send(contents)
    );
    PERFORM sabot.alarm(
        texts[1], numbers[1], texts[2], texts[3], nullif(contents[1], ''), nullif(contents[2], '')
    );
END
$$;

-- `sabot.keep_tombstone`: numbers are first and last; contents are the MAC and the tombstone.
CREATE FUNCTION sabot.say_tombstone(
    units text[], numbers bigint[], contents bytea[], digest bytea
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(
        digest, array_send(units) || array_send(numbers) || array_send(contents)
    );
    PERFORM sabot.keep_tombstone(units[1], numbers[1], numbers[2], contents[1], contents[2]);
END
$$;

-- `sabot.keep_presence`.
CREATE FUNCTION sabot.say_presence(
    units text[], states text[], begins bigint[], ends bigint[], digest bytea
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(
        digest, array_send(units) || array_send(states) || array_send(begins) || array_send(ends)
    );
    PERFORM sabot.keep_presence(units, states, begins, ends);
END
$$;

-- `sabot.keep_game` of many documents.
CREATE FUNCTION sabot.say_games(documents bytea[], digest bytea) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(digest, array_send(documents));
    PERFORM sabot.keep_game(document) FROM unnest(documents) AS given (document);
END
$$;

DO $$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY[
        'heads_of(text[])',
        'holes_of(text[])',
        'check_digest(bytea, bytea)',
        'say_checkpoints(text[], bigint[], bytea[], bigint[], bytea)',
        'say_alarm(text[], bigint[], bytea[], bytea)',
        'say_tombstone(text[], bigint[], bytea[], bytea)',
        'say_presence(text[], text[], bigint[], bigint[], bytea)',
        'say_games(bytea[], bytea)'
    ] LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION sabot.%s FROM PUBLIC', made);
        EXECUTE format('GRANT EXECUTE ON FUNCTION sabot.%s TO sabot_logger, sabot_site', made);
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION
    sabot.say_alarm(text[], bigint[], bytea[], bytea), sabot.check_digest(bytea, bytea)
TO sabot_notary;
