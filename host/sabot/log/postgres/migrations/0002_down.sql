-- Version 1 does not know these: they wait in a schema of their own for version 2.
CREATE SCHEMA sabot_version_2;
CREATE TABLE sabot_version_2.receipts AS SELECT * FROM sabot.receipts;
CREATE TABLE sabot_version_2.site_checkpoints AS SELECT * FROM sabot.site_checkpoints;
CREATE TABLE sabot_version_2.alarms AS
SELECT id, number, unix_ms, site, unit, kind, detail, record, mac FROM sabot.alarms;
DROP FUNCTION sabot.receipts_after(text, bigint);
DROP FUNCTION sabot.checkpoint(text, bigint, bytea, bigint);
DROP FUNCTION sabot.alarm(text, bigint, text, text, bytea, bytea);
DROP TABLE sabot.receipts, sabot.site_checkpoints, sabot.alarms;
