-- How many bytes of an upload are surely on disk. After a power loss a file system may count bytes that were never
-- written; null for uploads begun before this was recorded, of which only the size of the staged file is known.
ALTER TABLE uploads ADD COLUMN synced_bytes BIGINT;

-- Whether the id was written to a store of bytes: from then on an empty one is not the one that belongs here.
ALTER TABLE store ADD COLUMN is_tied BIGINT NOT NULL DEFAULT 0;
