-- By which version of the index a crate was read: one that is older is read again at the next sync.
ALTER TABLE crates ADD COLUMN index_version INTEGER NOT NULL DEFAULT 0;
