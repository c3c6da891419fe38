-- A line for each right that a role, or everyone (-), has to the log's schema, to anything in it, or to
-- its database, besides the owner's own; and for each right that is given to what does not exist yet.
WITH given AS (
    SELECT 'database' AS kind, 'of the log' AS name, d.datdba AS owner,
        coalesce(d.datacl, acldefault('d', d.datdba)) AS acl
    FROM pg_database AS d WHERE d.datname = current_database()
    UNION ALL
    SELECT 'schema', n.nspname, n.nspowner, coalesce(n.nspacl, acldefault('n', n.nspowner))
    FROM pg_namespace AS n WHERE n.nspname = 'sabot'
    UNION ALL
    SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, c.relname, c.relowner, c.relacl
    FROM pg_class AS c WHERE c.relnamespace = 'sabot'::regnamespace
    UNION ALL
    SELECT 'column', format('%s.%s', c.relname, a.attname), c.relowner, a.attacl
    FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'sabot'::regnamespace AND NOT a.attisdropped
    UNION ALL
    SELECT 'function', format('%s(%s)', f.proname, pg_get_function_identity_arguments(f.oid)),
        f.proowner, coalesce(f.proacl, acldefault('f', f.proowner))
    FROM pg_proc AS f WHERE f.pronamespace = 'sabot'::regnamespace
)
SELECT format(
    '%s may %s %s %s%s', CASE acl.grantee WHEN 0 THEN 'everyone' ELSE pg_get_userbyid(acl.grantee) END,
    acl.privilege_type, given.kind, given.name,
    CASE WHEN acl.is_grantable THEN ', and let others' ELSE '' END
)
FROM given, aclexplode(given.acl) AS acl WHERE acl.grantee <> given.owner
UNION ALL
SELECT format(
    '%s may %s each new %s of %s',
    CASE acl.grantee WHEN 0 THEN 'everyone' ELSE pg_get_userbyid(acl.grantee) END,
    acl.privilege_type,
    CASE d.defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function'
        WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema' ELSE 'object' END,
    pg_get_userbyid(d.defaclrole)
)
FROM pg_default_acl AS d, aclexplode(d.defaclacl) AS acl
WHERE d.defaclnamespace IN (0, 'sabot'::regnamespace) AND acl.grantee <> d.defaclrole
