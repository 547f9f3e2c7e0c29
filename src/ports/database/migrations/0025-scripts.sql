-- Code that a user keeps under a name, in versions.
CREATE TABLE scripts (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  -- The version that is meant where none is named; the highest number given so far; how many there are.
  latest BIGINT NOT NULL,
  highest BIGINT NOT NULL,
  versions BIGINT NOT NULL,
  -- Of all versions, also of those that were deleted.
  runs BIGINT NOT NULL DEFAULT 0,
  last_run_at BIGINT,
  last_run_version BIGINT,
  last_execution TEXT,
  -- ok, exit code N or why else it ended; running until then.
  last_outcome TEXT,
  PRIMARY KEY (owner, name)
);
CREATE TABLE script_versions (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  version BIGINT NOT NULL,
  description TEXT NOT NULL,
  language TEXT NOT NULL,
  code TEXT NOT NULL,
  code_bytes BIGINT NOT NULL,
  -- Lists of texts, as JSON.
  tags TEXT NOT NULL,
  packages TEXT NOT NULL,
  -- The execution that it was made of, or null.
  source_execution TEXT,
  created_at BIGINT NOT NULL,
  runs BIGINT NOT NULL DEFAULT 0,
  -- What a search looks at, in lower case.
  haystack TEXT NOT NULL,
  PRIMARY KEY (owner, name, version)
);
-- What a user keeps in all, against the quota.
CREATE TABLE script_usage (
  owner TEXT NOT NULL PRIMARY KEY,
  scripts BIGINT NOT NULL,
  bytes BIGINT NOT NULL
);
-- The saved script that a run ran, as name@version.
ALTER TABLE executions ADD COLUMN script TEXT;
