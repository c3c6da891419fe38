-- Version 5: the records of many units in one call, receipts of several notaries for one event, events
-- that are gone from the tables, a chain of alarms, and sums that tell rows which no function wrote.

-- A receipt that someone has put there keeps no other one for the same event from being stored.
ALTER TABLE sabot.receipts DROP CONSTRAINT receipts_pkey;
CREATE UNIQUE INDEX receipts_once ON sabot.receipts (unit, number, substr(sha256(receipt), 1, 8));

-- Events that were taken and are not in the tables any more. Their sites are asked for them again.
CREATE TABLE sabot.missing (
    unit integer NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    unix_ms bigint NOT NULL,
    PRIMARY KEY (unit, first)
);

-- What happened to alarms, each entry with a digest of it and of all before it. `alarm` is its id.
CREATE TABLE sabot.alarm_chain (
    place bigint PRIMARY KEY CHECK (place > 0),
    unix_ms bigint NOT NULL,
    alarm bigint NOT NULL,
    role name NOT NULL,
    what text COLLATE "C" NOT NULL CHECK (what IN ('alarm', 'acknowledged')),
    person text COLLATE "C" NOT NULL CHECK (length(person) <= 100),
    remark text COLLATE "C" NOT NULL CHECK (length(remark) <= 500),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32)
);
CREATE INDEX alarm_chain_by_alarm ON sabot.alarm_chain (alarm);

-- The notary's signed word on how far the chain of alarms goes.
CREATE TABLE sabot.alarm_seals (
    place bigint NOT NULL,
    seal bytea NOT NULL CHECK (octet_length(seal) BETWEEN 1 AND 4096)
);
CREATE UNIQUE INDEX alarm_seals_once ON sabot.alarm_seals (place, substr(sha256(seal), 1, 8));

-- Of each of these tables how many rows the functions wrote, and all their hashes, by exclusive or.
-- Each role has a part of its own, so that sites do not wait for each other.
CREATE TABLE sabot.sums (
    name text COLLATE "C" NOT NULL CHECK (name IN ('presence', 'site_checkpoints')),
    role name NOT NULL,
    rows bigint NOT NULL,
    sum bit(256) NOT NULL,
    PRIMARY KEY (name, role)
);

-- Without a search path of their own, so that they are no calls within a query.
CREATE FUNCTION sabot.hash_of(fields text[]) RETURNS bit(256)
LANGUAGE sql STABLE
AS $$ SELECT ('x' || encode(sha256(array_send(fields)), 'hex'))::bit(256) $$;

CREATE FUNCTION sabot.hash_of_presence(spans sabot.presence) RETURNS bit(256)
LANGUAGE sql STABLE
AS $$
    SELECT sabot.hash_of(ARRAY[
        spans.unit, spans.state, spans.begin_unix_ms::text, spans.end_unix_ms::text
    ])
$$;

CREATE FUNCTION sabot.hash_of_checkpoint(said sabot.site_checkpoints) RETURNS bit(256)
LANGUAGE sql STABLE
AS $$
    SELECT sabot.hash_of(ARRAY[
        said.unit::text, (said.day - date '1970-01-01')::text, said.number::text,
        said.records::text, said.unix_ms::text, said.site::text, encode(said.mac, 'hex')
    ])
$$;

CREATE FUNCTION sabot.add_sum(of_table text, of_role name, more bigint, sum bit(256)) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO sabot.sums AS s VALUES (of_table, of_role, more, coalesce(sum, repeat('0', 256)::bit(256)))
    ON CONFLICT (name, role) DO UPDATE SET rows = s.rows + excluded.rows, sum = s.sum # excluded.sum
$$;

-- Adds an entry to the chain of alarms.
CREATE FUNCTION sabot.chain_alarm(
    of_alarm bigint, of_role name, at_unix_ms bigint, what text, person text, remark text
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    last sabot.alarm_chain;
    at bigint;
    its sabot.alarms;
BEGIN
    LOCK TABLE sabot.alarm_chain IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO last FROM sabot.alarm_chain ORDER BY place DESC LIMIT 1;
    SELECT * INTO its FROM sabot.alarms WHERE id = of_alarm;
    at := coalesce(last.place, 0) + 1;
    INSERT INTO sabot.alarm_chain VALUES (
        at, at_unix_ms, of_alarm, of_role, what, person, remark,
        sha256(coalesce(last.digest, '') || array_send(ARRAY[
            at::text, at_unix_ms::text, of_alarm::text, of_role::text, what, person, remark,
            its.number::text, its.unix_ms::text, its.site::text, its.unit, its.kind, its.detail,
            coalesce(encode(its.record, 'hex'), ''), coalesce(encode(its.mac, 'hex'), '')
        ]))
    );
END
$$;

-- What a version 5 that was taken back to version 4 had, and what there was before any.
DO $$
BEGIN
    IF to_regnamespace('sabot_version_5') IS NOT NULL THEN
        INSERT INTO sabot.missing SELECT * FROM sabot_version_5.missing;
        INSERT INTO sabot.alarm_chain SELECT * FROM sabot_version_5.alarm_chain;
        INSERT INTO sabot.alarm_seals SELECT * FROM sabot_version_5.alarm_seals;
        INSERT INTO sabot.receipts SELECT * FROM sabot_version_5.receipts ON CONFLICT DO NOTHING;
        DROP SCHEMA sabot_version_5 CASCADE;
    END IF;
    PERFORM sabot.chain_alarm(a.id, a.site, a.unix_ms, 'alarm', '', '')
    FROM (SELECT * FROM sabot.alarms ORDER BY id) AS a
    WHERE NOT EXISTS (SELECT FROM sabot.alarm_chain AS c WHERE c.alarm = a.id AND c.what = 'alarm');
    PERFORM sabot.add_sum('presence', 'sabot_keeper', count(*), bit_xor(sabot.hash_of_presence(p)))
    FROM sabot.presence AS p;
    PERFORM sabot.add_sum(
        'site_checkpoints', 'sabot_keeper', count(*), bit_xor(sabot.hash_of_checkpoint(c))
    ) FROM sabot.site_checkpoints AS c;
END
$$;

-- The day (UTC) of a time, with a partition for it and for the next one.
CREATE FUNCTION sabot.day_of(at_unix_ms bigint) RETURNS date
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    today date := date '1970-01-01' + (at_unix_ms / 86400000)::integer;
BEGIN
    -- Also a clock that was set back finds a day that no one has made.
    IF to_regclass('sabot.records_' || to_char(today, 'YYYY_MM_DD')) IS NULL
        OR to_regclass('sabot.records_' || to_char(today + 1, 'YYYY_MM_DD')) IS NULL
    THEN
        PERFORM sabot.make_partition(today);
        PERFORM sabot.make_partition(today + 1);
    END IF;
    RETURN today;
END
$$;

-- As before; what was stored is counted, so that nothing else is acknowledged: SB500 if it is not all.
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
    today := sabot.day_of(now_ms);

    -- The differences first: a series up to a number that a site only claims would fill the memory.
    IF since - 1 = head.newest AND until - since = amount - 1
        AND numbers = ARRAY(SELECT generate_series(since, until))
    THEN
        INSERT INTO sabot.records
        SELECT number, now_ms, unix_ms, shoe, round, head.id, today, record, mac, kind
        FROM unnest(numbers, records, macs, kinds, times, shoes, rounds)
            AS given (number, record, mac, kind, unix_ms, shoe, round);
        GET DIAGNOSTICS stored = ROW_COUNT;
        IF stored <> amount THEN
            RAISE EXCEPTION 'stored % of % records', stored, amount USING ERRCODE = 'SB500';
        END IF;
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

-- As before; what was taken once and comes again, in the place of what is gone, is not counted again.
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
    again bigint;
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
    IF put.amount + coalesce(cardinality(known), 0) <> (
        SELECT count(*) FROM unnest(numbers) AS given (number) WHERE NOT EXISTS (
            SELECT FROM sabot.tombstones AS t
            WHERE t.unit = head.id AND given.number BETWEEN t.first AND t.last
            AND given.number <> ALL (coalesce(known, '{}'))
        )
    ) THEN
        RAISE EXCEPTION 'stored % of % records', put.amount, amount USING ERRCODE = 'SB500';
    END IF;
    IF put.amount = 0 THEN
        RETURN 0;
    END IF;
    PERFORM sabot.widen(
        head.id, today, put.first, put.last, put.first_shoe, put.last_shoe, put.first_unix_ms,
        put.last_unix_ms
    );
    SELECT count(*) INTO again FROM unnest(numbers) AS given (number)
    JOIN sabot.missing AS m ON m.unit = head.id AND number BETWEEN m.first AND m.last
    WHERE number <> ALL (coalesce(known, '{}'));
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
    WITH filled AS (
        DELETE FROM sabot.missing WHERE unit = head.id AND first <= until AND last >= since
        RETURNING *
    ), pairs AS (
        SELECT filled.unix_ms, number, lag(number) OVER w AS before
        FROM filled, LATERAL (
            SELECT filled.first - 1 AS number
            UNION ALL SELECT filled.last + 1
            UNION ALL SELECT number FROM unnest(numbers) AS given (number)
            WHERE number BETWEEN filled.first AND filled.last
        ) AS there
        WINDOW w AS (PARTITION BY filled.first ORDER BY number)
    )
    INSERT INTO sabot.missing
    SELECT head.id, before + 1, number - 1, unix_ms FROM pairs WHERE number > before + 1;
    RETURN put.amount - again;
END
$$;

-- Takes records of many units in one transaction, as far as they simply go on after the newest record
-- of their unit; the first may be that record itself, which is then compared. `whose` is the place in
-- `units` of each record; `said` is how many events the site has had up to the last one of a unit, or
-- null. Of each unit: its head then, and an empty code, or one as of `take` if nothing of it was taken:
-- SB403, SB411, SB412, or SB300 if the records have to be sent alone by `take`.
CREATE FUNCTION sabot.take_units(
    units text[], afters bigint[], said bigint[], whose bigint[], numbers bigint[],
    records bytea[], macs bytea[], kinds text[], times bigint[], shoes bigint[], rounds bigint[],
    digest bytea
) RETURNS TABLE (unit text, newest bigint, mac bytea, taken bigint, code text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dims text := format('[1:%s]', cardinality(numbers));
    of_units text := format('[1:%s]', cardinality(units));
    now_ms bigint := sabot.now_unix_ms();
    today date;
    mine bigint[];
    same bigint[] := '{}';
    equal bigint[];
    plain bigint[];
    each_day date;
    stored bigint;
    wanted bigint;
BEGIN
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF cardinality(numbers) BETWEEN 1 AND 100000 IS NOT TRUE
        OR (dims, dims, dims, dims, dims, dims, dims, dims) IS DISTINCT FROM (
            array_dims(whose), array_dims(numbers), array_dims(records), array_dims(macs),
            array_dims(kinds), array_dims(times), array_dims(shoes), array_dims(rounds)
        )
        OR (of_units, of_units, of_units) IS DISTINCT FROM (
            array_dims(units), array_dims(afters), array_dims(said)
        )
    THEN
        RAISE EXCEPTION 'not 1 to 100000 whole records' USING ERRCODE = 'SB400';
    END IF;
    IF digest IS DISTINCT FROM sha256(
        array_send(units) || array_send(afters) || array_send(said) || array_send(whose)
        || array_send(numbers) || array_send(records) || array_send(macs) || array_send(kinds)
        || array_send(times) || array_send(shoes) || array_send(rounds)
    ) THEN
        RAISE EXCEPTION 'the records were changed on the way' USING ERRCODE = 'SB422';
    END IF;
    today := sabot.day_of(now_ms);

    SELECT array_agg(given.place) INTO mine
    FROM unnest(units) WITH ORDINALITY AS given (name, place) WHERE sabot.may_write(given.name);
    INSERT INTO sabot.units (unit, site, newest, mac, records)
    SELECT given.name, session_user, 0, '', 0
    FROM unnest(units) WITH ORDINALITY AS given (name, place)
    LEFT JOIN sabot.units AS u ON u.unit = given.name
    WHERE u.id IS NULL AND given.place = ANY (mine) AND sabot.board(given.name, -1) IS NULL
    ORDER BY given.name ON CONFLICT DO NOTHING;
    PERFORM FROM sabot.units AS u
    JOIN unnest(units) WITH ORDINALITY AS given (name, place) ON given.name = u.unit
    WHERE given.place = ANY (mine) ORDER BY u.unit FOR NO KEY UPDATE OF u;

    -- Those whose first record is the newest that is here, and equal to it.
    FOR each_day IN
        SELECT DISTINCT d.day FROM unnest(units) WITH ORDINALITY AS given (name, place)
        JOIN (
            SELECT sent.place, min(sent.number) AS first
            FROM unnest(whose, numbers) AS sent (place, number) GROUP BY sent.place
        ) AS sent ON sent.place = given.place
        JOIN sabot.units AS u ON u.unit = given.name AND u.newest = sent.first
        JOIN sabot.days AS d ON d.unit = u.id AND d.last = u.newest
    LOOP
        EXECUTE format($query$
            SELECT array_agg(given.place) FROM unnest($1, $2, $3, $4) AS sent (place, number, record, mac)
            JOIN unnest($5) WITH ORDINALITY AS given (name, place) USING (place)
            JOIN sabot.units AS u ON u.unit = given.name AND u.newest = sent.number
            JOIN sabot.records AS r ON r.day = %L AND r.unit = u.id AND r.number = sent.number
            WHERE (r.record, r.mac) = (sent.record, sent.mac)
        $query$, each_day) INTO equal USING whose, numbers, records, macs, units;
        same := same || equal;
    END LOOP;
    SELECT array_agg(given.place) INTO plain
    FROM unnest(units, afters) WITH ORDINALITY AS given (name, after, place)
    JOIN sabot.units AS u ON u.unit = given.name
    JOIN (
        SELECT sent.place, min(sent.number) AS first, max(sent.number) AS last
        FROM unnest(whose, numbers) AS sent (place, number) GROUP BY sent.place
    ) AS sent ON sent.place = given.place
    WHERE given.place = ANY (mine) AND given.after = u.newest AND sent.last > u.newest
        AND (sent.first > u.newest OR sent.first = u.newest AND given.place = ANY (same))
        AND NOT EXISTS (SELECT FROM sabot.seams AS s WHERE sabot.board(s.unit, -1) = u.unit);

    WITH sent AS MATERIALIZED (
        SELECT u.id, u.newest AS before, sent.* FROM unnest(
            whose, numbers, records, macs, kinds, times, shoes, rounds
        ) AS sent (place, number, record, mac, kind, unix_ms, shoe, round)
        JOIN unnest(units) WITH ORDINALITY AS given (name, place) ON given.place = sent.place
        JOIN sabot.units AS u ON u.unit = given.name
        WHERE sent.place = ANY (plain) AND sent.number > u.newest
    ), put AS (
        INSERT INTO sabot.records
        SELECT number, now_ms, unix_ms, shoe, round, id, today, record, sent.mac, kind FROM sent
        RETURNING 1
    ), ends AS (
        SELECT id, min(number) AS first, max(number) AS last, min(shoe) AS first_shoe,
            max(shoe) AS last_shoe, min(unix_ms) AS first_unix_ms, max(unix_ms) AS last_unix_ms,
            count(*) AS amount
        FROM sent GROUP BY id
    ), days AS (
        INSERT INTO sabot.days AS d
        SELECT first, last, first_shoe, last_shoe, first_unix_ms, last_unix_ms, id, today FROM ends
        ON CONFLICT ON CONSTRAINT days_pkey DO UPDATE SET
            first = least(d.first, excluded.first),
            last = greatest(d.last, excluded.last),
            first_shoe = least(d.first_shoe, excluded.first_shoe),
            last_shoe = greatest(d.last_shoe, excluded.last_shoe),
            first_unix_ms = least(d.first_unix_ms, excluded.first_unix_ms),
            last_unix_ms = greatest(d.last_unix_ms, excluded.last_unix_ms)
    ), holes AS (
        INSERT INTO sabot.holes
        SELECT pairs.id, pairs.before + 1, pairs.number - 1, now_ms, session_user FROM (
            SELECT sent.id, sent.number,
                lag(sent.number, 1, sent.before) OVER (PARTITION BY sent.id ORDER BY sent.number)
                    AS before
            FROM sent JOIN ends ON ends.id = sent.id AND ends.amount <> ends.last - sent.before
        ) AS pairs WHERE pairs.number > pairs.before + 1
    ), heads AS (
        UPDATE sabot.units AS u SET
            newest = ends.last, mac = sent.mac, records = u.records + ends.amount,
            site = session_user
        FROM ends JOIN sent ON sent.id = ends.id AND sent.number = ends.last
        WHERE u.id = ends.id
    )
    SELECT (SELECT count(*) FROM put), (SELECT count(*) FROM sent) INTO stored, wanted;
    IF stored <> wanted THEN
        RAISE EXCEPTION 'stored % of % records', stored, wanted USING ERRCODE = 'SB500';
    END IF;
    PERFORM sabot.note_checkpoints(
        array_agg(u.id), array_agg(u.newest), array_agg(u.mac), array_agg(given.records)
    )
    FROM unnest(units, said) WITH ORDINALITY AS given (name, records, place)
    JOIN sabot.units AS u ON u.unit = given.name
    WHERE given.place = ANY (plain) AND given.records IS NOT NULL
    HAVING count(*) > 0;
    RETURN QUERY
    SELECT given.name, u.newest, u.mac, u.records, CASE
        WHEN given.place = ANY (plain) THEN ''
        WHEN given.place = ANY (mine) IS NOT TRUE THEN 'SB403'
        ELSE 'SB300' END
    FROM unnest(units) WITH ORDINALITY AS given (name, place)
    LEFT JOIN sabot.units AS u ON u.unit = given.name AND given.place = ANY (mine);
END
$$;

-- Keeps what sites say of their logs of units whose rows the caller has locked.
CREATE FUNCTION sabot.note_checkpoints(
    of_units integer[], numbers bigint[], macs bytea[], records bigint[]
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ms bigint := sabot.now_unix_ms();
    today date := date '1970-01-01' + (now_ms / 86400000)::integer;
    more bigint;
    sum bit(256);
BEGIN
    WITH put AS (
        INSERT INTO sabot.site_checkpoints AS c
        SELECT given.id, today, given.number, given.records, now_ms, session_user, given.mac
        FROM unnest(of_units, numbers, macs, records) AS given (id, number, mac, records)
        ON CONFLICT (unit, day) DO UPDATE SET
            number = excluded.number, records = excluded.records, unix_ms = excluded.unix_ms,
            site = excluded.site, mac = excluded.mac
        WHERE excluded.number > c.number
        RETURNING c.*
    ), changed AS (
        SELECT 1 AS more, sabot.hash_of_checkpoint(put::sabot.site_checkpoints) AS hash FROM put
        UNION ALL
        SELECT -1, sabot.hash_of_checkpoint(c) FROM sabot.site_checkpoints AS c
        JOIN put ON put.unit = c.unit AND put.day = c.day
    )
    SELECT sum(changed.more), bit_xor(changed.hash) INTO more, sum FROM changed;
    IF more IS NOT NULL THEN
        PERFORM sabot.add_sum('site_checkpoints', session_user, more, sum);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION sabot.checkpoint(of_unit text, number bigint, mac bytea, records bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    head sabot.units;
BEGIN
    PERFORM sabot.check_may_write(of_unit);
    SELECT * INTO head FROM sabot.units AS u WHERE u.unit = of_unit FOR NO KEY UPDATE;
    IF FOUND THEN
        PERFORM sabot.note_checkpoints(
            ARRAY[head.id], ARRAY[number], ARRAY[mac], ARRAY[records]
        );
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION sabot.keep_presence(
    units text[], states text[], begins bigint[], ends bigint[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    more bigint;
    sum bit(256);
BEGIN
    PERFORM sabot.check_may_write(given.name) FROM (SELECT DISTINCT unnest(units)) AS given (name);
    -- One after the other, so that no one changes a row between its hash and its change.
    PERFORM FROM sabot.sums AS s WHERE s.name = 'presence' AND s.role = 'sabot_keeper' FOR UPDATE;
    WITH put AS (
        INSERT INTO sabot.presence AS p
        SELECT u, s, b, max(e) FROM unnest(units, states, begins, ends) AS given (u, s, b, e)
        GROUP BY u, s, b
        ON CONFLICT ON CONSTRAINT presence_pkey DO UPDATE SET end_unix_ms = excluded.end_unix_ms
        WHERE excluded.end_unix_ms > p.end_unix_ms
        RETURNING p.*
    ), changed AS (
        SELECT 1 AS more, sabot.hash_of_presence(put::sabot.presence) AS hash FROM put
        UNION ALL
        SELECT -1, sabot.hash_of_presence(p) FROM sabot.presence AS p JOIN put
            ON put.unit = p.unit AND put.state = p.state AND put.begin_unix_ms = p.begin_unix_ms
    )
    SELECT sum(changed.more), bit_xor(changed.hash) INTO more, sum FROM changed;
    IF more IS NOT NULL THEN
        PERFORM sabot.add_sum('presence', 'sabot_keeper', more, sum);
    END IF;
END
$$;

-- Raises an alarm; the same one twice is one row, and one entry of the chain.
CREATE OR REPLACE FUNCTION sabot.alarm(
    of_unit text, number bigint, kind text, detail text, record bytea, mac bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    made sabot.alarms;
BEGIN
    IF NOT pg_has_role(session_user, 'sabot_notary', 'USAGE') THEN
        PERFORM sabot.check_may_write(of_unit);
    END IF;
    LOCK TABLE sabot.alarm_chain IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO sabot.alarms (number, unix_ms, site, unit, kind, detail, record, mac)
    VALUES (
        alarm.number, sabot.now_unix_ms(), session_user, of_unit, alarm.kind, alarm.detail,
        alarm.record, alarm.mac
    ) ON CONFLICT DO NOTHING RETURNING * INTO made;
    IF FOUND THEN
        PERFORM sabot.chain_alarm(made.id, made.site, made.unix_ms, 'alarm', '', '');
    END IF;
END
$$;

-- Notes who has looked at alarms, and why they are no longer open. Error: SB404 there is no such alarm.
CREATE FUNCTION sabot.acknowledge_alarms(ids bigint[], person text, remark text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    each bigint;
BEGIN
    IF (length(person) BETWEEN 1 AND 100 AND length(remark) BETWEEN 1 AND 500) IS NOT TRUE THEN
        RAISE EXCEPTION 'without a person or a remark' USING ERRCODE = 'SB400';
    END IF;
    FOREACH each IN ARRAY ids LOOP
        PERFORM FROM sabot.alarms AS a WHERE a.id = each;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no alarm %', each USING ERRCODE = 'SB404', DETAIL = each;
        END IF;
        PERFORM sabot.chain_alarm(
            each, session_user, sabot.now_unix_ms(), 'acknowledged', person, remark
        );
    END LOOP;
END
$$;

-- How many alarms no one has acknowledged, by kind: all for those who may read, else of own units.
CREATE FUNCTION sabot.open_alarms() RETURNS TABLE (kind text, amount bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.kind, count(*) FROM sabot.alarms AS a
    WHERE NOT EXISTS (
        SELECT FROM sabot.alarm_chain AS c WHERE c.alarm = a.id AND c.what = 'acknowledged'
    ) AND (pg_has_role(session_user, 'sabot_reader', 'USAGE') OR sabot.may_write(a.unit))
    GROUP BY a.kind
$$;

-- Notes that events which were taken are not in the tables: their sites are asked for them again.
-- SB409 if one of them is there.
CREATE FUNCTION sabot.say_missing(
    units text[], firsts bigint[], lasts bigint[], digest bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    each record;
    head sabot.units;
    from_day date;
    to_day date;
    here bigint;
BEGIN
    PERFORM sabot.check_digest(
        digest, array_send(units) || array_send(firsts) || array_send(lasts)
    );
    FOR each IN SELECT * FROM unnest(units, firsts, lasts) AS given (unit, first, last) LOOP
        SELECT * INTO head FROM sabot.units AS u WHERE u.unit = each.unit FOR NO KEY UPDATE;
        IF (head.id IS NOT NULL AND each.first BETWEEN 1 AND each.last AND each.last <= head.newest)
            IS NOT TRUE
        THEN
            RAISE EXCEPTION 'not events of a unit' USING ERRCODE = 'SB400';
        END IF;
        SELECT min(d.day), max(d.day) INTO from_day, to_day FROM sabot.days AS d
        WHERE d.unit = head.id AND d.first <= each.last AND d.last >= each.first;
        EXECUTE 'SELECT min(number) FROM sabot.records WHERE unit = $1 AND day BETWEEN $2 AND $3'
            ' AND number BETWEEN $4 AND $5'
        INTO here USING head.id, from_day, to_day, each.first, each.last;
        IF here IS NOT NULL THEN
            RAISE EXCEPTION 'record % is there', here USING ERRCODE = 'SB409', DETAIL = here;
        END IF;
        IF NOT EXISTS (
            SELECT FROM sabot.missing AS m
            WHERE m.unit = head.id AND m.first <= each.last AND m.last >= each.first
        ) THEN
            INSERT INTO sabot.missing VALUES (head.id, each.first, each.last, sabot.now_unix_ms());
        END IF;
    END LOOP;
END
$$;

-- `sabot.keep_flows` of what a site sends.
CREATE FUNCTION sabot.say_flows(units text[], flows text[], digest bytea) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(digest, array_send(units) || array_send(flows));
    PERFORM sabot.keep_flows(units, flows);
END
$$;

CREATE OR REPLACE FUNCTION sabot.holes_of(units text[])
RETURNS TABLE (unit text, first bigint, last bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.unit, h.first, h.last
    FROM sabot.units AS u JOIN (
        SELECT h.unit, h.first, h.last FROM sabot.holes AS h
        UNION ALL SELECT m.unit, m.first, m.last FROM sabot.missing AS m
    ) AS h ON h.unit = u.id
    WHERE u.unit = ANY (units) AND sabot.may_write(u.unit)
    ORDER BY u.unit, h.first
$$;

REVOKE ALL ON FUNCTION
    sabot.hash_of(text[]), sabot.hash_of_presence(sabot.presence),
    sabot.hash_of_checkpoint(sabot.site_checkpoints), sabot.add_sum(text, name, bigint, bit),
    sabot.chain_alarm(bigint, name, bigint, text, text, text), sabot.day_of(bigint),
    sabot.take_units(
        text[], bigint[], bigint[], bigint[], bigint[], bytea[], bytea[], text[], bigint[],
        bigint[], bigint[], bytea
    ),
    sabot.note_checkpoints(integer[], bigint[], bytea[], bigint[]),
    sabot.acknowledge_alarms(bigint[], text, text), sabot.open_alarms(),
    sabot.say_missing(text[], bigint[], bigint[], bytea),
    sabot.say_flows(text[], text[], bytea)
FROM PUBLIC;
GRANT SELECT ON sabot.missing, sabot.alarm_chain, sabot.alarm_seals, sabot.sums TO sabot_reader;
GRANT INSERT ON sabot.alarm_seals TO sabot_notary;
GRANT EXECUTE ON FUNCTION sabot.take_units(
    text[], bigint[], bigint[], bigint[], bigint[], bytea[], bytea[], text[], bigint[], bigint[],
    bigint[], bytea
) TO sabot_logger, sabot_site;
GRANT EXECUTE ON FUNCTION sabot.open_alarms() TO sabot_reader, sabot_site;
GRANT EXECUTE ON FUNCTION sabot.say_flows(text[], text[], bytea) TO sabot_logger, sabot_site;
GRANT EXECUTE ON FUNCTION sabot.keep_flows(text[], text[]) TO sabot_site;
GRANT EXECUTE ON FUNCTION
    sabot.hash_of(text[]), sabot.hash_of_presence(sabot.presence),
    sabot.hash_of_checkpoint(sabot.site_checkpoints)
TO sabot_reader;
GRANT EXECUTE ON FUNCTION sabot.say_missing(text[], bigint[], bigint[], bytea) TO sabot_notary;
