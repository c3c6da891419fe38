-- Every role of the server that has to do with the log, or that may do more than the log lets anyone:
-- what it is, which roles it is a member of by any way, and which units it may forward.
WITH RECURSIVE members AS (
    -- Since PostgreSQL 16 a membership may be one that gives nothing but the right to give it.
    SELECT m.member, m.roleid, m.admin_option,
        coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, true)
        OR coalesce((to_jsonb(m) ->> 'set_option')::boolean, true) AS is_used
    FROM pg_auth_members AS m
), reached AS (
    SELECT member, roleid FROM members WHERE is_used
    UNION
    SELECT r.member, m.roleid FROM reached AS r JOIN members AS m ON m.member = r.roleid
    WHERE m.is_used
), found AS (
    SELECT r.rolname::text AS name, r.rolsuper AS is_superuser,
        ARRAY(
            SELECT word FROM unnest(
                ARRAY['LOGIN', 'CREATEROLE', 'REPLICATION', 'BYPASSRLS'],
                ARRAY[r.rolcanlogin, r.rolcreaterole, r.rolreplication, r.rolbypassrls]
            ) AS may (word, is_so) WHERE is_so
        ) AS attributes,
        ARRAY(
            SELECT pg_get_userbyid(roleid)::text FROM reached WHERE member = r.oid ORDER BY 1
        ) AS groups,
        ARRAY(
            SELECT pg_get_userbyid(roleid)::text FROM members
            WHERE member = r.oid AND admin_option ORDER BY 1
        ) AS gives,
        ARRAY(
            SELECT unit::text FROM sites WHERE role = r.rolname ORDER BY unit
        ) AS units
    FROM pg_roles AS r WHERE r.rolname !~ '^pg_'
)
SELECT name, is_superuser, attributes, groups, gives, units FROM found
WHERE is_superuser OR name ~ '^sabot_' OR cardinality(groups || gives || units) > 0
ORDER BY name
