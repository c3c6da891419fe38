-- A line for each thing in the schema of a log that decides what its tables and functions do. Names
-- of indexes, and whatever differs between versions of PostgreSQL, are left out. All partitions are to
-- have the same.
WITH relations AS (
    SELECT c.oid, c.relkind, c.relnamespace,
        CASE WHEN c.relispartition THEN 'a partition' ELSE c.relname::text END AS name,
        c.relowner, c.relrowsecurity, c.relforcerowsecurity, c.relpersistence
    FROM pg_class AS c
    WHERE c.relnamespace = 'sabot'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
)
SELECT line || CASE
    WHEN line LIKE '% a partition%' AND count(*) <> (
        SELECT count(*) FROM relations WHERE name = 'a partition'
    ) THEN ' (not one of each)' ELSE '' END
FROM (
    SELECT format(
        'table %s: kind %s%s of %s%s', name, relkind, relpersistence,
        pg_get_userbyid(relowner),
        CASE WHEN relrowsecurity OR relforcerowsecurity THEN ', with row security' ELSE '' END
    ) AS line
    FROM relations
    UNION ALL
    SELECT format(
        'column %s.%s: %s%s%s%s', r.name, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
        CASE WHEN a.attcollation = 0 THEN '' ELSE ' collate ' || coalesce(
            (SELECT collname FROM pg_collation WHERE oid = a.attcollation), 'an expression'
        ) END,
        CASE WHEN a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> ''
            THEN format(' default %s', a.attidentity::text || a.attgenerated::text) ELSE '' END
    )
    FROM relations AS r JOIN pg_attribute AS a ON a.attrelid = r.oid
    WHERE a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format(
        'index of %s: (%s)%s%s%s', r.name,
        (
            SELECT string_agg(coalesce(a.attname, 'an expression'), ', ' ORDER BY k.place)
            FROM unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (number, place)
            LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
        ),
        CASE WHEN i.indisprimary THEN ' primary' WHEN i.indisunique THEN ' unique' ELSE '' END,
        CASE WHEN i.indpred IS NOT NULL THEN ' partial' ELSE '' END,
        CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE ' not valid' END
    )
    FROM relations AS r JOIN pg_index AS i ON i.indrelid = r.oid
    UNION ALL
    SELECT format(
        'constraint of %s: %s', r.name,
        CASE WHEN c.coninhcount > 0 THEN c.conname ELSE pg_get_constraintdef(c.oid) END
    )
    FROM relations AS r JOIN pg_constraint AS c ON c.conrelid = r.oid
    WHERE c.contype NOT IN ('n', 'p', 'u')
    UNION ALL
    SELECT format(
        'trigger of %s: %s%s', r.name, t.tgname,
        CASE WHEN t.tgenabled = 'O' THEN '' ELSE ', not always done' END
    )
    FROM relations AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid
    UNION ALL
    SELECT format('rule of %s: %s', r.name, w.rulename)
    FROM relations AS r JOIN pg_rewrite AS w ON w.ev_class = r.oid
    UNION ALL
    SELECT format('policy of %s: %s', r.name, p.polname)
    FROM relations AS r JOIN pg_policy AS p ON p.polrelid = r.oid
    UNION ALL
    SELECT format('table %s inherits from %s', r.name, h.inhparent::regclass)
    FROM relations AS r JOIN pg_inherits AS h ON h.inhrelid = r.oid
    UNION ALL
    SELECT format(
        'function %s(%s): %s of %s, %s, %s%s%s%s, %s%s', f.proname,
        pg_get_function_identity_arguments(f.oid),
        encode(sha256(convert_to(f.prosrc, 'UTF8')), 'hex'), pg_get_userbyid(f.proowner),
        (SELECT lanname FROM pg_language WHERE oid = f.prolang),
        CASE f.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
        CASE WHEN f.proisstrict THEN ', strict' ELSE '' END,
        CASE WHEN f.proleakproof THEN ', leakproof' ELSE '' END,
        CASE WHEN f.prosecdef THEN ', as its owner' ELSE '' END,
        coalesce(array_to_string(f.proconfig, ' '), ''),
        CASE WHEN f.prorettype = 0 THEN ', a procedure'
            ELSE ', returns ' || pg_get_function_result(f.oid) END
    )
    FROM pg_proc AS f WHERE f.pronamespace = 'sabot'::regnamespace
    UNION ALL
    SELECT format('event trigger %s', evtname) FROM pg_event_trigger
    UNION ALL
    SELECT format('schema of %s', pg_get_userbyid(nspowner)) FROM pg_namespace WHERE nspname = 'sabot'
) AS lines
GROUP BY line
