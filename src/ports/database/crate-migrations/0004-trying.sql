-- Large crates that are being read. A row that is left behind is of one that may have ended the process that read it.
CREATE TABLE crate_trying (
  crate_id TEXT NOT NULL PRIMARY KEY,
  stamp TEXT NOT NULL,
  -- JSON: where it stands.
  place TEXT NOT NULL,
  -- How often it was begun without coming to an end.
  tries BIGINT NOT NULL,
  since BIGINT NOT NULL
);
