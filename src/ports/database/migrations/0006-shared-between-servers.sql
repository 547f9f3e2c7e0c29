-- Keys that all servers on this database sign with. Whoever is first makes one; it never leaves the database but for them.
CREATE TABLE shared_keys (
  name TEXT NOT NULL PRIMARY KEY,
  value BYTEA NOT NULL
);

-- What the server asked for by an upload, hashed, so that any server finds what came; and what it said of it, as JSON.
ALTER TABLE uploads ADD COLUMN purpose TEXT;
ALTER TABLE uploads ADD COLUMN purpose_note TEXT;
CREATE INDEX uploads_by_purpose ON uploads (owner, purpose) WHERE purpose IS NOT NULL;
