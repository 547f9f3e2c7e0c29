-- What a run used of the network, and what was refused, as JSON; null where it had none of its own.
ALTER TABLE executions ADD COLUMN network TEXT NOT NULL DEFAULT 'null';
