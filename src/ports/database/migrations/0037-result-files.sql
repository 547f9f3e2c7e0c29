-- The files that a run made or changed, with the hashes that they had when it ended, as JSON; null where its end was not
-- seen, and in rows of earlier releases.
ALTER TABLE executions ADD COLUMN result_files TEXT NOT NULL DEFAULT 'null';
-- What the kept bytes of these files take, beside the user's folders; 0 where none were kept, or they are gone.
ALTER TABLE executions ADD COLUMN kept_bytes BIGINT NOT NULL DEFAULT 0;
-- When they were kept: the oldest go first. 0 once they are in a crate.
ALTER TABLE executions ADD COLUMN kept_since BIGINT NOT NULL DEFAULT 0;
CREATE INDEX executions_kept ON executions (kept_since) WHERE kept_bytes > 0;
CREATE INDEX executions_kept_of_owner ON executions (owner, kept_since) WHERE kept_bytes > 0;
