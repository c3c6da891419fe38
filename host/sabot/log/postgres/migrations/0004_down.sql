-- Version 3 knows no seams: they wait in a schema of their own for version 4.
CREATE SCHEMA sabot_version_4;
CREATE TABLE sabot_version_4.seams AS SELECT * FROM sabot.seams;
DROP TRIGGER check_seams ON sabot.units;
DROP FUNCTION
    sabot.keep_flows(text[], text[]),
    sabot.say_seam(text[], bigint[], bytea[], bytea),
    sabot.remove_seam(text),
    sabot.keep_seam(text, bigint, bytea),
    sabot.check_seams(),
    sabot.board(text, integer);
DROP TABLE sabot.seams;

CREATE OR REPLACE FUNCTION sabot.may_write(of_unit text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_has_role(session_user, 'sabot_logger', 'USAGE') OR EXISTS (
        SELECT FROM sabot.sites WHERE unit = of_unit AND role = session_user
    )
$$;

CREATE OR REPLACE FUNCTION sabot.heads()
RETURNS TABLE (unit text, newest bigint, mac bytea, records bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.unit, u.newest, u.mac, u.records FROM sabot.units AS u
    WHERE pg_has_role(session_user, 'sabot_logger', 'USAGE') OR u.unit IN (
        SELECT s.unit FROM sabot.sites AS s WHERE s.role = session_user
    )
    ORDER BY u.unit
$$;
