-- The index of crates. All of it can be made again from the sources. Times are milliseconds since 1970.

-- One row. Every change of the index counts the generation up, so that readers notice it by one look.
CREATE TABLE crate_index (
  id BIGINT NOT NULL PRIMARY KEY,
  generation BIGINT NOT NULL,
  next_document BIGINT NOT NULL,
  next_segment BIGINT NOT NULL
);
INSERT INTO crate_index (id, generation, next_document, next_segment) VALUES (1, 0, 1, 1);

CREATE TABLE crates (
  crate_id TEXT NOT NULL PRIMARY KEY,
  -- Its number in the index, a new one each time that it is read; null where it could not be read.
  document BIGINT UNIQUE,
  -- What was in it, then its id, both hashed: an order that is the same on every machine.
  sort_key BYTEA NOT NULL,
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
  -- ok or broken; if broken, why.
  state TEXT NOT NULL,
  code TEXT,
  reason TEXT,
  indexed_at BIGINT NOT NULL
);
CREATE INDEX crates_by_source ON crates (source, crate_id);
CREATE INDEX crates_by_key ON crates (sort_key);
CREATE INDEX crates_by_state ON crates (state, crate_id);

-- Which entity refers to which, for each document.
CREATE TABLE crate_references (
  document BIGINT NOT NULL PRIMARY KEY,
  bytes BYTEA NOT NULL
);

CREATE TABLE crate_sources (
  source TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  reason TEXT,
  started_at BIGINT,
  ended_at BIGINT
);

-- A segment is written once and never changed: building, then live, then retired, then gone.
CREATE TABLE crate_segments (
  segment BIGINT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  documents BIGINT NOT NULL,
  first_document BIGINT NOT NULL,
  last_document BIGINT NOT NULL,
  blocks BIGINT NOT NULL,
  touched_at BIGINT NOT NULL
);
CREATE INDEX crate_segments_by_state ON crate_segments (state, first_document);

-- What is kept of each document of a segment, and the first key of each block, in parts.
CREATE TABLE crate_segment_parts (
  segment BIGINT NOT NULL,
  name TEXT NOT NULL,
  part BIGINT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (segment, name, part)
);

-- Keys in order with what is found under them.
CREATE TABLE crate_blocks (
  segment BIGINT NOT NULL,
  block BIGINT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (segment, block)
);

-- Documents that are still in a segment and no longer in the index, until the segment is merged.
CREATE TABLE crate_dead (
  document BIGINT NOT NULL PRIMARY KEY,
  generation BIGINT NOT NULL
);
CREATE INDEX crate_dead_by_generation ON crate_dead (generation);
