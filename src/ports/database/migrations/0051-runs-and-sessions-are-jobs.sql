-- Runs are jobs in a table of their own: each claim of a row raises its epoch, and a former holder is refused by it.
ALTER TABLE executions ADD COLUMN epoch BIGINT NOT NULL DEFAULT 1;

-- Sessions as well.
ALTER TABLE sessions ADD COLUMN epoch BIGINT NOT NULL DEFAULT 1;
ALTER TABLE sessions ADD COLUMN seen_at BIGINT;
ALTER TABLE sessions ADD COLUMN cancel_by TEXT;
-- Servers of the release before give no signs of life. Theirs count as alive for some time after their last use.
UPDATE sessions SET seen_at = last_used + 7200000;
