-- What the guard decided of a run, as JSON; null where there was no guard.
ALTER TABLE executions ADD COLUMN guard TEXT NOT NULL DEFAULT 'null';
-- The most memory that it used at one time; null where nobody counted.
ALTER TABLE executions ADD COLUMN peak_memory_bytes BIGINT;
-- The trace or agent that its client named.
ALTER TABLE executions ADD COLUMN trace_id TEXT;
