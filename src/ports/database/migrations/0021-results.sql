-- What a run came to, as a notebook shows it: values, displays and figures with the files of their parts, as JSON; and how
-- many more there were.
ALTER TABLE executions ADD COLUMN results TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN more_results BIGINT NOT NULL DEFAULT 0;
