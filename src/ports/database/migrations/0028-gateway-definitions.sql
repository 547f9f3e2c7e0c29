-- What servers behind the gateway say of their tools: what was accepted, and what is held back until it is.
CREATE TABLE gateway_definitions (
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  hash TEXT NOT NULL,
  definition TEXT NOT NULL,
  accepted_at BIGINT NOT NULL,
  held_hash TEXT,
  held_definition TEXT,
  held_at BIGINT,
  PRIMARY KEY (server, tool)
);
