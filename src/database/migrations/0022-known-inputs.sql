-- What a run may have read beside the files that it was given, as JSON; whether that may not be all (1, also where its
-- end was never seen), and why; and the versions of the libraries that it used.
ALTER TABLE executions ADD COLUMN known_inputs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN inputs_may_be_incomplete BIGINT NOT NULL DEFAULT 1;
ALTER TABLE executions ADD COLUMN input_notes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN libraries TEXT NOT NULL DEFAULT '{}';
