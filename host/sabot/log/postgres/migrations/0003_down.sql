DROP FUNCTION sabot.heads_of(text[]), sabot.holes_of(text[]);
