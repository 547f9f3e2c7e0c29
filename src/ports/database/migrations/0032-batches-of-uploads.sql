-- How many more files may be sent to an upload for several files; null where it takes one file itself.
ALTER TABLE uploads ADD COLUMN files_left BIGINT;

-- The id of the upload for several files that this one was made of.
ALTER TABLE uploads ADD COLUMN batch TEXT;
CREATE INDEX uploads_by_batch ON uploads (batch) WHERE batch IS NOT NULL;
