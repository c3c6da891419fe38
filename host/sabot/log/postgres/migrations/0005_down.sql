-- Version 4 has one receipt for each event, and knows neither what is missing nor a chain of alarms: they
-- wait in a schema of their own for version 5.
CREATE SCHEMA sabot_version_5;
CREATE TABLE sabot_version_5.missing AS SELECT * FROM sabot.missing;
CREATE TABLE sabot_version_5.alarm_chain AS SELECT * FROM sabot.alarm_chain;
CREATE TABLE sabot_version_5.alarm_seals AS SELECT * FROM sabot.alarm_seals;
CREATE TABLE sabot_version_5.receipts AS SELECT * FROM sabot.receipts AS r WHERE EXISTS (
    SELECT FROM sabot.receipts AS o
    WHERE o.unit = r.unit AND o.number = r.number AND o.ctid < r.ctid
);
DELETE FROM sabot.receipts AS r USING sabot_version_5.receipts AS o
WHERE o.unit = r.unit AND o.number = r.number AND o.receipt = r.receipt;
REVOKE EXECUTE ON FUNCTION sabot.keep_flows(text[], text[]) FROM sabot_site;
DROP INDEX sabot.receipts_once;
ALTER TABLE sabot.receipts ADD PRIMARY KEY (unit, number);

DROP FUNCTION
    sabot.take_units(
        text[], bigint[], bigint[], bigint[], bigint[], bytea[], bytea[], text[], bigint[],
        bigint[], bigint[], bytea
    ),
    sabot.note_checkpoints(integer[], bigint[], bytea[], bigint[]),
    sabot.acknowledge_alarms(bigint[], text, text),
    sabot.open_alarms(),
    sabot.say_missing(text[], bigint[], bigint[], bytea),
    sabot.say_flows(text[], text[], bytea),
    sabot.chain_alarm(bigint, name, bigint, text, text, text),
    sabot.day_of(bigint),
    sabot.add_sum(text, name, bigint, bit),
    sabot.hash_of_presence(sabot.presence),
    sabot.hash_of_checkpoint(sabot.site_checkpoints),
    sabot.hash_of(text[]);
DROP TABLE sabot.missing, sabot.alarm_chain, sabot.alarm_seals, sabot.sums;

CREATE OR REPLACE FUNCTION sabot.take(
    of_unit text, after bigint, numbers bigint[], records bytea[], macs bytea[], kinds text[],
    times bigint[], shoes bigint[], rounds bigint[], received bigint, digest bytea,
    OUT newest bigint, OUT newest_mac bytea, OUT taken bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    amount integer := cardinality(numbers);
    dims text := format('[1:%s]', amount);
    since bigint := numbers[1];
    until bigint := numbers[amount];
    now_ms bigint;
    today date;
    head sabot.units;
    stored bigint;
BEGIN
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM sabot.check_may_write(of_unit);
    -- All of one dimension, from index 1: what is taken is what is looked at by its index.
    IF amount BETWEEN 1 AND 20000 IS NOT TRUE
        OR (dims, dims, dims, dims, dims, dims, dims) IS DISTINCT FROM (
            array_dims(numbers), array_dims(records), array_dims(macs), array_dims(kinds),
            array_dims(times), array_dims(shoes), array_dims(rounds)
        )
    THEN
        RAISE EXCEPTION 'not 1 to 20000 whole records' USING ERRCODE = 'SB400';
    END IF;
    IF digest IS DISTINCT FROM sha256(
        convert_to(of_unit, 'UTF8') || array_send(numbers) || array_send(records)
        || array_send(macs) || array_send(kinds) || array_send(times) || array_send(shoes)
        || array_send(rounds)
    ) THEN
        RAISE EXCEPTION 'the records were changed on the way' USING ERRCODE = 'SB422';
    END IF;
    IF received IS NOT NULL AND NOT pg_has_role(session_user, 'sabot_keeper', 'USAGE') THEN
        RAISE EXCEPTION 'only a keeper may say when records were received'
            USING ERRCODE = 'SB403';
    END IF;

    SELECT * INTO head FROM sabot.units AS u WHERE u.unit = of_unit FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        INSERT INTO sabot.units (unit, site, newest, mac, records)
        VALUES (of_unit, session_user, 0, '', 0) ON CONFLICT DO NOTHING;
        SELECT * INTO head FROM sabot.units AS u WHERE u.unit = of_unit FOR NO KEY UPDATE;
    END IF;
    IF after > head.newest THEN
        RAISE EXCEPTION 'the log ends with record %, before %', head.newest, after
            USING ERRCODE = 'SB412', DETAIL = head.newest;
    END IF;
    now_ms := coalesce(received, sabot.now_unix_ms());
    today := date '1970-01-01' + (now_ms / 86400000)::integer;
    -- Also a clock that was set back finds a day that no one has made.
    IF to_regclass('sabot.records_' || to_char(today, 'YYYY_MM_DD')) IS NULL
        OR to_regclass('sabot.records_' || to_char(today + 1, 'YYYY_MM_DD')) IS NULL
    THEN
        PERFORM sabot.make_partition(today);
        PERFORM sabot.make_partition(today + 1);
    END IF;

    IF since - 1 = head.newest AND numbers = ARRAY(SELECT generate_series(since, until)) THEN
        INSERT INTO sabot.records
        SELECT number, now_ms, unix_ms, shoe, round, head.id, today, record, mac, kind
        FROM unnest(numbers, records, macs, kinds, times, shoes, rounds)
            AS given (number, record, mac, kind, unix_ms, shoe, round);
        stored := amount;
        PERFORM sabot.widen(
            head.id, today, since, until, min(shoe), max(shoe), min(unix_ms), max(unix_ms)
        ) FROM unnest(shoes, times) AS given (shoe, unix_ms);
    ELSE
        stored := sabot.take_missing(
            head, today, now_ms, numbers, records, macs, kinds, times, shoes, rounds
        );
    END IF;

    IF stored > 0 THEN
        UPDATE sabot.units AS u SET
            newest = greatest(head.newest, until),
            mac = CASE WHEN until > head.newest THEN macs[amount] ELSE head.mac END,
            records = head.records + stored,
            site = session_user
        WHERE u.id = head.id
        RETURNING u.newest, u.mac, u.records INTO newest, newest_mac, taken;
    ELSE
        newest := head.newest;
        newest_mac := head.mac;
        taken := head.records;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION sabot.take_missing(
    head sabot.units, today date, now_ms bigint, numbers bigint[], records bytea[], macs bytea[],
    kinds text[], times bigint[], shoes bigint[], rounds bigint[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    amount integer := cardinality(numbers);
    since bigint := numbers[1];
    until bigint := numbers[amount];
    from_day date;
    to_day date;
    known bigint[];
    other bigint;
    put record;
BEGIN
    IF (
        SELECT bool_and(number > before) FROM (
            SELECT number, lag(number, 1, 0::bigint) OVER (ORDER BY place) AS before
            FROM unnest(numbers) WITH ORDINALITY AS given (number, place)
        ) AS pairs
    ) IS NOT TRUE THEN
        RAISE EXCEPTION 'numbers that do not ascend' USING ERRCODE = 'SB400';
    END IF;
    SELECT min(day), max(day) INTO from_day, to_day FROM sabot.days
    WHERE unit = head.id AND first <= until AND last >= since;
    -- Executed, not prepared: with the days known, only their partitions are read.
    EXECUTE $query$
        SELECT array_agg(r.number),
            min(r.number) FILTER (WHERE (r.record, r.mac) <> (given.record, given.mac))
        FROM unnest($1, $2, $3) AS given (number, record, mac)
        JOIN sabot.records AS r ON r.unit = $4 AND r.number = given.number
            AND r.number BETWEEN $5 AND $6 AND r.day BETWEEN $7 AND $8
    $query$ INTO known, other USING numbers, records, macs, head.id, since, until, from_day, to_day;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION 'record % is stored with other bytes', other
            USING ERRCODE = 'SB409', DETAIL = other;
    END IF;
    WITH put AS (
        INSERT INTO sabot.records
        SELECT number, now_ms, unix_ms, shoe, round, head.id, today, record, mac, kind
        FROM unnest(numbers, records, macs, kinds, times, shoes, rounds)
            AS given (number, record, mac, kind, unix_ms, shoe, round)
        WHERE number <> ALL (coalesce(known, '{}')) AND NOT EXISTS (
            SELECT FROM sabot.tombstones AS t
            WHERE t.unit = head.id AND given.number BETWEEN t.first AND t.last
        )
        RETURNING *
    )
    SELECT count(*) AS amount, min(number) AS first, max(number) AS last,
        min(shoe) AS first_shoe, max(shoe) AS last_shoe,
        min(unix_ms) AS first_unix_ms, max(unix_ms) AS last_unix_ms
    INTO put FROM put;
    IF put.amount = 0 THEN
        RETURN 0;
    END IF;
    PERFORM sabot.widen(
        head.id, today, put.first, put.last, put.first_shoe, put.last_shoe, put.first_unix_ms,
        put.last_unix_ms
    );
    -- Holes that these records leave, and those that they fill.
    INSERT INTO sabot.holes
    SELECT head.id, before + 1, number - 1, now_ms, session_user FROM (
        SELECT number, lag(number, 1, head.newest) OVER (ORDER BY number) AS before
        FROM unnest(numbers) AS given (number) WHERE number > head.newest
    ) AS pairs WHERE number > before + 1;
    WITH filled AS (
        DELETE FROM sabot.holes
        WHERE unit = head.id AND first <= least(until, head.newest) AND last >= since
        RETURNING *
    ), pairs AS (
        SELECT filled.unix_ms, filled.site, number, lag(number) OVER w AS before
        FROM filled, LATERAL (
            SELECT filled.first - 1 AS number
            UNION ALL SELECT filled.last + 1
            UNION ALL SELECT number FROM unnest(numbers) AS given (number)
            WHERE number BETWEEN filled.first AND filled.last
        ) AS there
        WINDOW w AS (PARTITION BY filled.first ORDER BY number)
    )
    INSERT INTO sabot.holes
    SELECT head.id, before + 1, number - 1, unix_ms, site FROM pairs WHERE number > before + 1;
    RETURN put.amount;
END
$$;

CREATE OR REPLACE FUNCTION sabot.keep_presence(
    units text[], states text[], begins bigint[], ends bigint[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    unit text;
BEGIN
    FOREACH unit IN ARRAY units LOOP
        PERFORM sabot.check_may_write(unit);
    END LOOP;
    INSERT INTO sabot.presence AS p
    SELECT u, s, b, max(e) FROM unnest(units, states, begins, ends) AS given (u, s, b, e)
    GROUP BY u, s, b
    ON CONFLICT ON CONSTRAINT presence_pkey DO UPDATE
    SET end_unix_ms = greatest(p.end_unix_ms, excluded.end_unix_ms);
END
$$;

CREATE OR REPLACE FUNCTION sabot.checkpoint(of_unit text, number bigint, mac bytea, records bigint)
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

CREATE OR REPLACE FUNCTION sabot.alarm(
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

CREATE OR REPLACE FUNCTION sabot.holes_of(units text[])
RETURNS TABLE (unit text, first bigint, last bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.unit, h.first, h.last
    FROM sabot.units AS u JOIN sabot.holes AS h ON h.unit = u.id
    WHERE u.unit = ANY (units) AND sabot.may_write(u.unit)
    ORDER BY u.unit, h.first
$$;
