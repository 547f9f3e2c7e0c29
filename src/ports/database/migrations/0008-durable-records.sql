-- When a run came to its end, and which server ran it, by the id of its data folder. Null in earlier rows. Both come
-- last, behind code and stdin.
ALTER TABLE executions ADD COLUMN ended_at BIGINT;
ALTER TABLE executions ADD COLUMN server TEXT;
-- Which runs ended last, and which have not, without going past megabytes of code in SQLite.
CREATE INDEX executions_by_end ON executions (server, ended_at, id);

-- The last line of each server's audit log that is known to be on disk, so that the loss of a whole log is noticed.
CREATE TABLE audit_heads (
  server TEXT NOT NULL PRIMARY KEY,
  -- Where the log is, for people; and for a server that has lost the id of its data folder.
  folder TEXT NOT NULL,
  seq BIGINT NOT NULL,
  hash TEXT NOT NULL,
  file TEXT NOT NULL,
  settled_at BIGINT NOT NULL
);

-- One row: up to when the clock is believed by whatever deletes by age, and since when it has been ahead of that.
CREATE TABLE trusted_clock (
  only_one BIGINT NOT NULL PRIMARY KEY,
  believed_at BIGINT NOT NULL,
  doubted_since BIGINT
);
