-- Why a run goes on without the call that began it, and who or what cancelled it. Null in earlier rows.
ALTER TABLE executions ADD COLUMN background TEXT;
ALTER TABLE executions ADD COLUMN cancelled_by TEXT;
-- Where several servers share the database, by its clock: when the server of a run last said that it is alive, when its
-- owner last asked another server for it, and when somebody asked another server to cancel it, and who.
ALTER TABLE executions ADD COLUMN seen_at BIGINT;
ALTER TABLE executions ADD COLUMN asked_at BIGINT;
ALTER TABLE executions ADD COLUMN cancel_at BIGINT;
ALTER TABLE executions ADD COLUMN cancel_by TEXT;
