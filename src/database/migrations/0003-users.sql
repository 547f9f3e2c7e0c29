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
