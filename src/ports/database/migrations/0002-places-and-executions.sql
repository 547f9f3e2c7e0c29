-- Times are milliseconds since 1970, flags 0 or 1.

-- Whose /workspace and /artifacts stand where. The number is in the folder's name and gives the uid.
CREATE TABLE places (
  owner TEXT NOT NULL PRIMARY KEY,
  number BIGINT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);

CREATE TABLE executions (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL,
  tool TEXT NOT NULL,
  language TEXT NOT NULL,
  code TEXT NOT NULL,
  working_dir TEXT NOT NULL,
  -- running, or how it ended: exit, signal, timeout, oom, pids, disk, cancelled, lost, refused
  reason TEXT NOT NULL,
  -- 1 where it ended by itself with exit code 0
  succeeded BIGINT NOT NULL,
  exit_code BIGINT,
  signal TEXT,
  started_at BIGINT NOT NULL,
  duration_ms BIGINT,
  -- What the caller was shown, and the whole as files where that was cut.
  stdout TEXT NOT NULL DEFAULT '',
  stderr TEXT NOT NULL DEFAULT '',
  stdout_bytes BIGINT NOT NULL DEFAULT 0,
  stderr_bytes BIGINT NOT NULL DEFAULT 0,
  truncated BIGINT NOT NULL DEFAULT 0,
  stdout_file TEXT,
  stderr_file TEXT,
  -- JSON: the stored files that it was given; {created, modified, deleted}; the limits and which were not held.
  inputs TEXT NOT NULL DEFAULT '[]',
  artifacts TEXT NOT NULL DEFAULT '{}',
  limits TEXT NOT NULL DEFAULT '{}',
  -- What search looks through, in lower case: code and output.
  haystack TEXT NOT NULL DEFAULT ''
);
CREATE INDEX executions_by_owner ON executions (owner, started_at, id);
CREATE INDEX executions_by_age ON executions (succeeded, started_at);
