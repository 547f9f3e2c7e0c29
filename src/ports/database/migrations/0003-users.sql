-- Times are milliseconds since 1970.

CREATE TABLE users (
  name TEXT NOT NULL PRIMARY KEY,
  created_at BIGINT NOT NULL
);

-- A key itself is stored nowhere.
CREATE TABLE api_keys (
  key_hash TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user_name TEXT NOT NULL,
  -- With spaces between.
  scopes TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  last_used_at BIGINT
);
CREATE INDEX api_keys_by_user ON api_keys (user_name, created_at);

-- One database has one id, whoever writes it first.
ALTER TABLE store ADD COLUMN only_one BIGINT NOT NULL DEFAULT 1;
CREATE UNIQUE INDEX store_is_one ON store (only_one);

-- When a user was last removed, null for never. A removal holds the row, and so does whoever makes a link or an
-- upload for a user: neither can miss the other.
CREATE TABLE removals (
  user_name TEXT NOT NULL PRIMARY KEY,
  removed_at BIGINT
);

CREATE INDEX uploads_open ON uploads (owner, expires_at) WHERE file_id IS NULL;
