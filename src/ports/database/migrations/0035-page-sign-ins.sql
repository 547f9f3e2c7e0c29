-- Browsers that are signed in to the page. The cookie is stored only as its hash.
CREATE TABLE page_sign_ins (
  token_hash TEXT NOT NULL PRIMARY KEY,
  user_name TEXT NOT NULL,
  -- The key that it ends with; null where it was a token.
  key_hash TEXT,
  -- Whose token it was; null where it was a key.
  issuer TEXT,
  -- Those of the token. The scopes of a key are read from the key.
  scopes TEXT NOT NULL,
  -- Tells tokens apart; it opens nothing.
  credential TEXT NOT NULL,
  -- The hash of the state that came back from the issuer: each signs in once.
  state_hash TEXT UNIQUE,
  begun_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX page_sign_ins_by_user ON page_sign_ins (user_name, begun_at);
