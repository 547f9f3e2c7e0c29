-- Which tools the code of a run called, in short, as JSON; null where it could call none.
ALTER TABLE executions ADD COLUMN tool_calls TEXT NOT NULL DEFAULT 'null';
-- What the calls take in their own table, for the quota of records.
ALTER TABLE executions ADD COLUMN tool_call_bytes BIGINT NOT NULL DEFAULT 0;

-- Each call of a tool by the code of a run.
CREATE TABLE tool_calls (
  execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
  sequence BIGINT NOT NULL,
  -- Server, tool, hashes, verdict, outcome and times, as JSON.
  facts TEXT NOT NULL,
  -- As JSON with sorted keys; null where only their hash is kept.
  arguments TEXT,
  result TEXT,
  PRIMARY KEY (execution_id, sequence)
);

-- The tools that the code of a run could call, as JSON: of those that it called the whole definitions.
CREATE TABLE offered_tools (
  execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
  definitions TEXT NOT NULL
);
