-- The index for searching is now a file of each server, made of these rows. What was an inverted index here goes.
DROP TABLE crate_segments;
DROP TABLE crate_segment_parts;
DROP TABLE crate_blocks;
DROP TABLE crate_dead;
DROP TABLE crate_references;
DROP TABLE crate_meaning;
DROP TABLE crate_models;
DROP TABLE crate_model_chunks;
DROP TABLE crate_vectors;
DROP TABLE crate_index;

CREATE TABLE crates_kept (
  crate_id TEXT NOT NULL PRIMARY KEY,
  -- Each change of a row gives it the next number, so that every server knows what it has not indexed yet.
  sequence BIGINT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  -- zip, folder or detached
  kind TEXT NOT NULL,
  object TEXT NOT NULL,
  locator TEXT NOT NULL,
  owner TEXT,
  stamp TEXT NOT NULL,
  size BIGINT NOT NULL,
  modified BIGINT NOT NULL,
  root TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  -- JSON: texts by field, for results and snippets; cut.
  shown TEXT NOT NULL DEFAULT '{}',
  -- JSON, as get_crate gives it.
  summary TEXT NOT NULL DEFAULT '{}',
  -- Entities, names of files and all else that is indexed: JSON, compressed by zstd. Null: read before it was kept.
  content BYTEA,
  -- ok or broken; if broken, why.
  state TEXT NOT NULL,
  code TEXT,
  reason TEXT,
  indexed_at BIGINT NOT NULL,
  -- By which version a crate was read: one that is older is read again at the next sync.
  index_version BIGINT NOT NULL
);
INSERT INTO crates_kept (crate_id, sequence, source, kind, object, locator, owner, stamp, size, modified, root, title,
    description, shown, summary, state, code, reason, indexed_at, index_version)
  SELECT crate_id, ROW_NUMBER() OVER (ORDER BY crate_id), source, kind, object, locator, owner, stamp, size, modified,
    root, title, description, shown, summary, state, code, reason, indexed_at, index_version
  FROM crates;
DROP TABLE crates;
ALTER TABLE crates_kept RENAME TO crates;
CREATE INDEX crates_by_source ON crates (source, crate_id);
CREATE INDEX crates_by_state ON crates (state, crate_id);

-- One row. Every writer counts it up first, so that numbers are committed in their order.
CREATE TABLE crate_sequence (
  only_one BIGINT NOT NULL PRIMARY KEY,
  sequence BIGINT NOT NULL,
  -- Up to this number removals are no longer listed: an index that has not seen them is made anew.
  forgotten BIGINT NOT NULL
);
INSERT INTO crate_sequence (only_one, sequence, forgotten) SELECT 1, CAST(COUNT(*) AS BIGINT), 0 FROM crates;

-- Crates that were removed, until every index has surely seen it.
CREATE TABLE crate_removals (
  crate_id TEXT NOT NULL PRIMARY KEY,
  sequence BIGINT NOT NULL UNIQUE,
  removed_at BIGINT NOT NULL
);

-- What an embeddings API has said of a text, by the hash of it: it is not asked twice.
CREATE TABLE crate_vectors (
  version TEXT NOT NULL,
  content_key BYTEA NOT NULL,
  -- Floats of 32 bits, little end first.
  vector BYTEA NOT NULL,
  PRIMARY KEY (version, content_key)
);
