-- Interpreters that keep their state from one cell to the next. Times are milliseconds since 1970.
CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL,
  name TEXT,
  language TEXT NOT NULL,
  -- As seen inside: where it began, and where its inputs are put.
  folder TEXT NOT NULL,
  -- open, closed by its owner, or ended otherwise; and then why, for programs and in words.
  state TEXT NOT NULL,
  reason TEXT,
  reason_text TEXT,
  created_at BIGINT NOT NULL,
  last_used BIGINT NOT NULL,
  ended_at BIGINT,
  -- How many cells were recorded.
  cells BIGINT NOT NULL DEFAULT 0,
  -- JSON: from which session it was forked, and which cells a restore has undone.
  history TEXT NOT NULL,
  -- The server in whose memory it is.
  server TEXT NOT NULL,
  -- While it is open: which of the places of its owner it takes, and its name again. Null does not count as equal.
  slot BIGINT,
  open_name TEXT,
  UNIQUE (owner, slot),
  UNIQUE (owner, open_name)
);
CREATE INDEX sessions_by_owner ON sessions (owner, created_at);
CREATE INDEX sessions_by_server ON sessions (server, state);

-- Of which session a run was a cell, its number there, and whether the session still had its state afterwards.
ALTER TABLE executions ADD COLUMN session_id TEXT;
ALTER TABLE executions ADD COLUMN cell BIGINT;
ALTER TABLE executions ADD COLUMN state TEXT;
CREATE INDEX executions_by_session ON executions (session_id, cell);
