-- What a run may have read beside the files that it was given, as JSON; whether that may not be all (1, also where its
-- end was never seen), and why; and the versions of the libraries that it used.
ALTER TABLE executions ADD COLUMN known_inputs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN inputs_may_be_incomplete BIGINT NOT NULL DEFAULT 1;
ALTER TABLE executions ADD COLUMN input_notes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN libraries TEXT NOT NULL DEFAULT '{}';

-- Which execution made a file of /workspace or /artifacts last, by its path inside.
CREATE TABLE made_files (
  owner TEXT NOT NULL,
  path TEXT NOT NULL,
  execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
  -- Size, inode and time of the last change: a file in another state is not the one that was made.
  state TEXT NOT NULL,
  PRIMARY KEY (owner, path)
);
-- For the records that are deleted.
CREATE INDEX made_files_by_execution ON made_files (execution_id);
