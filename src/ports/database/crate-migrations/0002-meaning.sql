-- The search by meaning: one row that says which model serves, the models, and a vector for each document.

CREATE TABLE crate_meaning (
  only_one BIGINT NOT NULL PRIMARY KEY,
  -- The model that serves; null before the first.
  model BIGINT,
  -- Counts writes of vectors, so that readers take in only what is new.
  sequence BIGINT NOT NULL,
  -- Counts changes of the corpus.
  edits BIGINT NOT NULL,
  -- Counts removals of rows that readers may not have seen: they begin anew.
  purges BIGINT NOT NULL,
  -- 1 where the corpus changed while the model was made.
  has_missed BIGINT NOT NULL,
  -- Who makes a model now.
  lease_holder TEXT,
  lease_until BIGINT
);
INSERT INTO crate_meaning (only_one, model, sequence, edits, purges, has_missed) VALUES (1, NULL, 0, 0, 0, 0);

CREATE TABLE crate_models (
  model BIGINT NOT NULL PRIMARY KEY,
  provider TEXT NOT NULL,
  -- Equal for models that give equal vectors.
  version TEXT NOT NULL,
  -- How many documents it was fitted to.
  sampled BIGINT NOT NULL,
  -- 1 once all of its chunks are there.
  is_whole BIGINT NOT NULL
);

CREATE TABLE crate_model_chunks (
  model BIGINT NOT NULL,
  chunk BIGINT NOT NULL,
  data BYTEA NOT NULL,
  PRIMARY KEY (model, chunk)
);

CREATE TABLE crate_vectors (
  model BIGINT NOT NULL,
  document BIGINT NOT NULL,
  content_key BYTEA NOT NULL,
  -- Decides between documents that are equally near, the same on every machine.
  tie BIGINT NOT NULL,
  -- 1 where one user alone may see it: models are not fitted to it.
  is_private BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  -- Floats of 32 bits, little end first; null where the document is gone.
  vector BYTEA,
  PRIMARY KEY (model, document)
);
CREATE INDEX crate_vectors_by_sequence ON crate_vectors (model, sequence, document);
CREATE INDEX crate_vectors_by_content ON crate_vectors (model, content_key);
