-- Crates that are being packed, whose bytes count for the quota before the index knows them. A row without an id is no
-- packing: it is locked by whoever reserves room, and its bytes count the packings that have ended.
CREATE TABLE packings (
  id TEXT PRIMARY KEY,
  -- Who alone may see the crate; empty for everybody.
  owner TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  -- When the row of a server that died is to be ignored.
  until BIGINT NOT NULL
);
