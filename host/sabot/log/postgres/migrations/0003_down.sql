DROP FUNCTION
    sabot.heads_of(text[]),
    sabot.holes_of(text[]),
    sabot.say_checkpoints(text[], bigint[], bytea[], bigint[], bytea),
    sabot.say_alarm(text[], bigint[], bytea[], bytea),
    sabot.say_tombstone(text[], bigint[], bytea[], bytea),
    sabot.say_presence(text[], text[], bigint[], bigint[], bytea),
    sabot.say_games(bytea[], bytea),
    sabot.check_digest(bytea, bytea);
