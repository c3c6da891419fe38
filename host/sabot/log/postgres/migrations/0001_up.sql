-- Version 1: records, what was said about them, and the one function that writes records.
CREATE SCHEMA sabot;

CREATE TABLE sabot.about (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

-- The head of each unit: the number and MAC of its newest record, pruned ones too, and how many
-- records were ever taken. `site` is the role that wrote it last.
CREATE TABLE sabot.units (
    newest bigint NOT NULL,
    records bigint NOT NULL,
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    unit text COLLATE "C" NOT NULL UNIQUE CHECK (length(unit) BETWEEN 1 AND 512),
    site name NOT NULL,
    mac bytea NOT NULL
) WITH (fillfactor = 50);

-- The log. A partition holds the records that were received on one day (UTC) by the clock of this
-- server; it has a unique index of (unit, number), and `take` keeps that unique over all days.
-- Kind, time, shoe and round are derived from the record, so that they can be found.
CREATE TABLE sabot.records (
    number bigint NOT NULL CHECK (number > 0),
    received_unix_ms bigint NOT NULL,
    unix_ms bigint,
    shoe bigint NOT NULL,
    round bigint NOT NULL,
    unit integer NOT NULL,
    day date NOT NULL,
    record bytea NOT NULL CHECK (octet_length(record) BETWEEN 1 AND 192),
    mac bytea NOT NULL CHECK (octet_length(mac) = 16),
    kind text COLLATE "C" NOT NULL CHECK (length(kind) BETWEEN 1 AND 40)
) PARTITION BY RANGE (day);
CREATE INDEX records_by_round ON sabot.records (unit, shoe, round);
CREATE INDEX records_by_time ON sabot.records (unit, unix_ms);

-- For each unit and day the limits of what its records have: a query reads only the partitions in
-- which an answer can be.
CREATE TABLE sabot.days (
    first bigint NOT NULL,
    last bigint NOT NULL,
    first_shoe bigint NOT NULL,
    last_shoe bigint NOT NULL,
    first_unix_ms bigint,
    last_unix_ms bigint,
    unit integer NOT NULL,
    day date NOT NULL,
    PRIMARY KEY (unit, day)
) WITH (fillfactor = 50);
CREATE INDEX days_by_day ON sabot.days (day);

CREATE TABLE sabot.tombstones (
    unit integer NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    tombstone bytea NOT NULL,
    PRIMARY KEY (unit, first)
);

-- Numbers that no record has: the next record that came had a higher one.
CREATE TABLE sabot.holes (
    unit integer NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    unix_ms bigint NOT NULL,
    site name NOT NULL,
    PRIMARY KEY (unit, first)
);

CREATE TABLE sabot.games (
    sha256 bytea PRIMARY KEY CHECK (octet_length(sha256) = 32),
    document bytea NOT NULL CHECK (octet_length(document) <= 900)
);

CREATE TABLE sabot.presence (
    unit text COLLATE "C" NOT NULL CHECK (length(unit) BETWEEN 1 AND 1000),
    state text COLLATE "C" NOT NULL CHECK (state IN ('attached', 'waiting')),
    begin_unix_ms bigint NOT NULL CHECK (begin_unix_ms >= 0),
    end_unix_ms bigint NOT NULL
        CHECK (end_unix_ms BETWEEN begin_unix_ms AND 253402300799999),
    PRIMARY KEY (unit, state, begin_unix_ms)
);

CREATE TABLE sabot.desk (number bigint PRIMARY KEY, record bytea NOT NULL, mac bytea NOT NULL);
CREATE TABLE sabot.desk_key (number bigint NOT NULL, secret bytea NOT NULL);
CREATE TABLE sabot.users (
    name text COLLATE "C" PRIMARY KEY,
    role text NOT NULL,
    hash text NOT NULL,
    closed integer NOT NULL CHECK (closed IN (0, 1)),
    made_unix_ms bigint NOT NULL
);
CREATE TABLE sabot.sessions (
    sha256 bytea PRIMARY KEY,
    name text NOT NULL,
    begun_unix_ms bigint NOT NULL,
    used_unix_ms bigint NOT NULL
);

-- Which role forwards a unit. No other role may that is not a member of sabot_logger.
CREATE TABLE sabot.sites (unit text COLLATE "C" PRIMARY KEY, role name NOT NULL);

CREATE FUNCTION sabot.now_unix_ms() RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION sabot.may_write(of_unit text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_has_role(session_user, 'sabot_logger', 'USAGE') OR EXISTS (
        SELECT FROM sabot.sites WHERE unit = of_unit AND role = session_user
    )
$$;

CREATE FUNCTION sabot.check_may_write(of_unit text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF sabot.may_write(of_unit) IS NOT TRUE THEN
        RAISE EXCEPTION 'unit % is not one that % may write', of_unit, session_user
            USING ERRCODE = 'SB403';
    END IF;
END
$$;

-- Makes the partition of a day, unless another session has made it meanwhile.
CREATE FUNCTION sabot.make_partition(of_day date) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name text := 'records_' || to_char(of_day, 'YYYY_MM_DD');
BEGIN
    LOCK TABLE ONLY sabot.records IN SHARE UPDATE EXCLUSIVE MODE;
    IF to_regclass('sabot.' || name) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TABLE sabot.%1$I (LIKE sabot.records INCLUDING CONSTRAINTS, PRIMARY KEY (unit, number))',
        name
    );
    EXECUTE format(
        'ALTER TABLE sabot.records ATTACH PARTITION sabot.%I FOR VALUES FROM (%L) TO (%L)',
        name, of_day, of_day + 1
    );
END
$$;

-- Takes records of a unit, all or none, durable once the transaction is committed; returns the head
-- of the unit then. `after` is the number of the record before the first as the sender knows it;
-- null if it does not know. What is stored already with the same bytes, or was pruned, is passed
-- over. Only a keeper may say when the records were received; null is now.
--
-- Errors: SB400 wrong arguments, SB403 not a unit of this role, SB409 other bytes (the detail is the
-- number), SB412 the log ends before `after` (the detail is its newest number), SB422 the batch does
-- not have this SHA-256: it was changed on the way.
CREATE FUNCTION sabot.take(
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

-- Of records that do not simply continue a unit, stores those that are missing; returns how many.
CREATE FUNCTION sabot.take_missing(
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

-- Widens the limits of a unit's day by those of records that were just stored.
CREATE FUNCTION sabot.widen(
    of_unit integer, today date, since bigint, until bigint, shoe bigint, to_shoe bigint,
    unix_ms bigint, to_unix_ms bigint
) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO sabot.days AS d
    VALUES (since, until, shoe, to_shoe, unix_ms, to_unix_ms, of_unit, today)
    ON CONFLICT (unit, day) DO UPDATE SET
        first = least(d.first, excluded.first),
        last = greatest(d.last, excluded.last),
        first_shoe = least(d.first_shoe, excluded.first_shoe),
        last_shoe = greatest(d.last_shoe, excluded.last_shoe),
        first_unix_ms = least(d.first_unix_ms, excluded.first_unix_ms),
        last_unix_ms = greatest(d.last_unix_ms, excluded.last_unix_ms)
$$;

-- The heads of the units that the caller may write.
CREATE FUNCTION sabot.heads()
RETURNS TABLE (unit text, newest bigint, mac bytea, records bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.unit, u.newest, u.mac, u.records FROM sabot.units AS u
    WHERE pg_has_role(session_user, 'sabot_logger', 'USAGE') OR u.unit IN (
        SELECT s.unit FROM sabot.sites AS s WHERE s.role = session_user
    )
    ORDER BY u.unit
$$;

CREATE FUNCTION sabot.keep_game(document bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO sabot.games VALUES (sha256(document), document) ON CONFLICT DO NOTHING $$;

CREATE FUNCTION sabot.keep_presence(
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

-- Keeps the tombstone of records that a site pruned before any later record was taken here. `mac` is
-- that of the last of them.
CREATE FUNCTION sabot.keep_tombstone(
    of_unit text, since bigint, until bigint, mac bytea, tombstone bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    head sabot.units;
    stone bytea;
BEGIN
    PERFORM sabot.check_may_write(of_unit);
    IF (
        since > 0 AND until >= since AND octet_length(mac) = 16
        AND octet_length(tombstone) BETWEEN 1 AND 16777216
    ) IS NOT TRUE THEN
        RAISE EXCEPTION 'not a tombstone' USING ERRCODE = 'SB400';
    END IF;
    INSERT INTO sabot.units (unit, site, newest, mac, records)
    VALUES (of_unit, session_user, 0, '', 0) ON CONFLICT DO NOTHING;
    SELECT * INTO head FROM sabot.units AS u WHERE u.unit = of_unit FOR NO KEY UPDATE;
    SELECT t.tombstone INTO stone FROM sabot.tombstones AS t
    WHERE t.unit = head.id AND t.first = since AND t.last = until;
    IF stone = tombstone THEN
        RETURN;
    END IF;
    IF since <= head.newest OR head.records > 0 THEN
        RAISE EXCEPTION 'the log has records of % up to %', of_unit, head.newest
            USING ERRCODE = 'SB409', DETAIL = head.newest;
    END IF;
    INSERT INTO sabot.tombstones VALUES (head.id, since, until, tombstone);
    IF since > head.newest + 1 THEN
        INSERT INTO sabot.holes
        VALUES (head.id, head.newest + 1, since - 1, sabot.now_unix_ms(), session_user);
    END IF;
    UPDATE sabot.units AS u SET newest = until, mac = keep_tombstone.mac, site = session_user
    WHERE u.id = head.id;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sabot FROM PUBLIC;
GRANT USAGE ON SCHEMA sabot TO sabot_reader, sabot_site;
GRANT SELECT ON
    sabot.about, sabot.units, sabot.records, sabot.days, sabot.tombstones, sabot.holes, sabot.games,
    sabot.presence, sabot.desk, sabot.sites
TO sabot_reader;
GRANT SELECT (number) ON sabot.desk_key TO sabot_reader;
GRANT SELECT (name, role, closed, made_unix_ms) ON sabot.users TO sabot_reader;
GRANT SELECT (name, begun_unix_ms) ON sabot.sessions TO sabot_reader;
GRANT EXECUTE ON FUNCTION sabot.now_unix_ms() TO sabot_reader, sabot_site;
GRANT EXECUTE ON FUNCTION
    sabot.take(
        text, bigint, bigint[], bytea[], bytea[], text[], bigint[], bigint[], bigint[], bigint, bytea
    ),
    sabot.heads(),
    sabot.keep_game(bytea),
    sabot.keep_presence(text[], text[], bigint[], bigint[]),
    sabot.keep_tombstone(text, bigint, bigint, bytea, bytea)
TO sabot_logger, sabot_site;
GRANT SELECT, INSERT ON sabot.desk TO sabot_desk;
GRANT SELECT, INSERT, UPDATE ON sabot.desk_key TO sabot_desk;
GRANT SELECT, INSERT ON sabot.users TO sabot_desk;
GRANT UPDATE (role, hash, closed) ON sabot.users TO sabot_desk;
GRANT SELECT, INSERT, DELETE ON sabot.sessions TO sabot_desk;
GRANT UPDATE (used_unix_ms) ON sabot.sessions TO sabot_desk;
