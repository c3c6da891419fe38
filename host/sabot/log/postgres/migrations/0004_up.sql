-- Version 4: boards that take the place of others. The records of the second board of U are those of
-- the unit 'U~2'.

-- By the name of the new board: the last event of the board before it, and the seam.
CREATE TABLE sabot.seams (
    unit text COLLATE "C" PRIMARY KEY CHECK (unit ~ '^[^~]+~([2-9]|[1-9][0-9]{1,3})$'),
    last bigint NOT NULL CHECK (last > 0),
    seam bytea NOT NULL CHECK (octet_length(seam) BETWEEN 1 AND 4096)
);

-- Seams of a version 4 that was taken back to version 3.
DO $$
BEGIN
    IF to_regnamespace('sabot_version_4') IS NOT NULL THEN
        INSERT INTO sabot.seams SELECT * FROM sabot_version_4.seams;
        DROP SCHEMA sabot_version_4 CASCADE;
    END IF;
END
$$;

-- The name of another board of the unit that has this board: `step` boards later. Null for none.
CREATE FUNCTION sabot.board(name text, step integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    number integer := 1;
BEGIN
    IF name ~ '^[^~]+~([2-9]|[1-9][0-9]{1,3})$' THEN
        number := split_part(name, '~', 2)::integer;
        name := split_part(name, '~', 1);
    END IF;
    RETURN CASE number + step WHEN 0 THEN NULL WHEN 1 THEN name
        ELSE name || '~' || (number + step)::text END;
END
$$;

CREATE OR REPLACE FUNCTION sabot.may_write(of_unit text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_has_role(session_user, 'sabot_logger', 'USAGE') OR EXISTS (
        SELECT FROM sabot.sites
        WHERE unit IN (of_unit, split_part(of_unit, '~', 1)) AND role = session_user
    )
$$;

CREATE OR REPLACE FUNCTION sabot.heads()
RETURNS TABLE (unit text, newest bigint, mac bytea, records bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.unit, u.newest, u.mac, u.records FROM sabot.units AS u
    WHERE sabot.may_write(u.unit)
    ORDER BY u.unit
$$;

-- No board has records before its seam is here, and none goes on after another has taken its place:
-- SB410 and SB411, whose detail is the last event that the seam names.
CREATE FUNCTION sabot.check_seams() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    replaced bigint;
BEGIN
    IF TG_OP = 'INSERT' AND sabot.board(NEW.unit, -1) IS NOT NULL THEN
        PERFORM FROM sabot.seams AS s WHERE s.unit = NEW.unit FOR KEY SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no seam of %', NEW.unit USING ERRCODE = 'SB410';
        END IF;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.newest > OLD.newest THEN
        SELECT s.last INTO replaced FROM sabot.seams AS s
        WHERE s.unit = sabot.board(NEW.unit, 1) AND NEW.newest > s.last;
        IF FOUND THEN
            RAISE EXCEPTION '% was replaced after record %', NEW.unit, replaced
                USING ERRCODE = 'SB411', DETAIL = replaced;
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER check_seams BEFORE INSERT OR UPDATE OF newest ON sabot.units
FOR EACH ROW EXECUTE FUNCTION sabot.check_seams();

-- Keeps the seam of a board that has no records yet. Errors: SB400 not a seam, or the board before it
-- is not here; SB409 there is another seam of it; SB411 the board before it has later records (the
-- detail is its newest).
CREATE FUNCTION sabot.keep_seam(of_unit text, last bigint, seam bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    head sabot.units;
    stored bytea;
BEGIN
    PERFORM sabot.check_may_write(of_unit);
    SELECT * INTO head FROM sabot.units AS u
    WHERE u.unit = sabot.board(of_unit, -1) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no board before %', of_unit USING ERRCODE = 'SB400';
    END IF;
    SELECT s.seam INTO stored FROM sabot.seams AS s WHERE s.unit = of_unit;
    IF FOUND THEN
        IF stored <> keep_seam.seam THEN
            RAISE EXCEPTION 'another seam of %', of_unit USING ERRCODE = 'SB409', DETAIL = 0;
        END IF;
        RETURN;
    END IF;
    IF head.newest > last THEN
        RAISE EXCEPTION '% has records up to %', head.unit, head.newest
            USING ERRCODE = 'SB411', DETAIL = head.newest;
    END IF;
    INSERT INTO sabot.seams VALUES (of_unit, last, seam);
END
$$;

-- Removes the seam of a board that has no records: SB409 if it has some; false if there is no seam.
CREATE FUNCTION sabot.remove_seam(of_unit text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_may_write(of_unit);
    DELETE FROM sabot.seams AS s WHERE s.unit = of_unit;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM sabot.units AS u WHERE u.unit = of_unit;
    IF FOUND THEN
        RAISE EXCEPTION '% has records', of_unit USING ERRCODE = 'SB409', DETAIL = 0;
    END IF;
    RETURN true;
END
$$;

-- `sabot.keep_seam`, from a site.
CREATE FUNCTION sabot.say_seam(units text[], numbers bigint[], contents bytea[], digest bytea)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sabot.check_digest(
        digest, array_send(units) || array_send(numbers) || array_send(contents)
    );
    PERFORM sabot.keep_seam(units[1], numbers[1], contents[1]);
END
$$;

-- How the events of these units come, in place of what was noted before.
CREATE FUNCTION sabot.keep_flows(units text[], flows text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    unit text;
BEGIN
    FOREACH unit IN ARRAY units LOOP
        PERFORM sabot.check_may_write(unit);
    END LOOP;
    INSERT INTO sabot.about AS a
    SELECT 'flow ' || u, left(f, 1000) FROM unnest(units, flows) AS given (u, f)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END
$$;
REVOKE ALL ON FUNCTION sabot.keep_flows(text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sabot.keep_flows(text[], text[]) TO sabot_logger;

REVOKE ALL ON FUNCTION
    sabot.board(text, integer), sabot.check_seams(), sabot.keep_seam(text, bigint, bytea),
    sabot.remove_seam(text), sabot.say_seam(text[], bigint[], bytea[], bytea)
FROM PUBLIC;
GRANT SELECT ON sabot.seams TO sabot_reader;
GRANT EXECUTE ON FUNCTION sabot.remove_seam(text) TO sabot_logger;
GRANT EXECUTE ON FUNCTION
    sabot.keep_seam(text, bigint, bytea), sabot.say_seam(text[], bigint[], bytea[], bytea)
TO sabot_logger, sabot_site;
