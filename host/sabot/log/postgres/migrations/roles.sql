-- The group roles of the cluster. None can log in: a login role becomes a member of one.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY[
        'sabot_keeper', 'sabot_reader', 'sabot_logger', 'sabot_site', 'sabot_notary', 'sabot_desk'
    ] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
    GRANT sabot_reader TO sabot_logger, sabot_notary, sabot_desk;
    GRANT sabot_logger, sabot_notary, sabot_desk TO sabot_keeper;
    -- Everything belongs to this role, so who makes it must be a member.
    IF NOT pg_has_role(current_user, 'sabot_keeper', 'USAGE') THEN
        EXECUTE format('GRANT sabot_keeper TO %I', current_user);
    END IF;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format(
        'GRANT CONNECT ON DATABASE %I TO sabot_keeper, sabot_reader, sabot_site', current_database()
    );
    EXECUTE format('GRANT CREATE ON DATABASE %I TO sabot_keeper', current_database());
END
$$;
