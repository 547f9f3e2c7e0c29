-- What a run could read from its standard input, and how many bytes that were when it was given: a NUL is stored as
-- another character. Both come last, so that a search does not have to go past them in SQLite.
ALTER TABLE executions ADD COLUMN stdin_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN stdin TEXT NOT NULL DEFAULT '';
