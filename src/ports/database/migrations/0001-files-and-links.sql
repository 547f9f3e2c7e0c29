-- Times are milliseconds since 1970, flags 0 or 1.

CREATE TABLE files (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  crc32 BIGINT NOT NULL,
  origin TEXT NOT NULL,
  storage_key TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX files_by_owner ON files (owner, created_at, id);
CREATE INDEX files_by_expiry ON files (expires_at);

-- No foreign keys from links: a link outlives its file, and then answers that the bytes are gone.
CREATE TABLE links (
  token_hash TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  file_id TEXT,
  bundle_id TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  single_use BIGINT NOT NULL,
  revoked_at BIGINT,
  consumed_at BIGINT,
  delivered BIGINT NOT NULL DEFAULT 0,
  lease_holder TEXT,
  lease_until BIGINT,
  downloads BIGINT NOT NULL DEFAULT 0,
  bytes_sent BIGINT NOT NULL DEFAULT 0,
  last_used_at BIGINT,
  reopened BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX links_by_owner ON links (owner, created_at);
CREATE INDEX links_by_expiry ON links (expires_at);
CREATE INDEX links_by_file ON links (file_id);
CREATE INDEX links_by_bundle ON links (bundle_id);

CREATE TABLE bundles (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX bundles_by_expiry ON bundles (expires_at);

CREATE TABLE bundle_files (
  bundle_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  file_id TEXT NOT NULL,
  entry_name TEXT NOT NULL,
  PRIMARY KEY (bundle_id, position)
);
CREATE INDEX bundle_files_by_file ON bundle_files (file_id);

CREATE TABLE uploads (
  token_hash TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  declared_size BIGINT,
  declared_sha256 TEXT,
  keep_seconds BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  reserved BIGINT NOT NULL DEFAULT 0,
  lease_holder TEXT,
  lease_until BIGINT,
  file_id TEXT,
  completed_at BIGINT
);
CREATE INDEX uploads_by_owner ON uploads (owner, created_at);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);

CREATE TABLE usage (
  owner TEXT NOT NULL PRIMARY KEY,
  bytes BIGINT NOT NULL DEFAULT 0,
  files BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE outbox (
  id TEXT NOT NULL PRIMARY KEY,
  body TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX outbox_by_next ON outbox (next_at);

-- One row: which files folder or bucket belongs to this database.
CREATE TABLE store (
  id TEXT PRIMARY KEY
);
