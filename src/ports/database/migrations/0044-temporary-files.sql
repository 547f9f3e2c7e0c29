-- The files that a run left in /tmp or its home, which are not kept, as JSON; null where nobody could look, and in rows of
-- earlier releases.
ALTER TABLE executions ADD COLUMN temporary_files TEXT NOT NULL DEFAULT 'null';
