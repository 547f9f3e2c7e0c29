-- Calls that became tasks (the MCP extension io.modelcontextprotocol/tasks). A row is there before its client hears of it.
CREATE TABLE tasks (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL,
  -- From when the right of its caller dates: a removal of the owner after that ends it.
  since BIGINT NOT NULL,
  -- The server that runs it, by the id of its data folder, and when that last said so.
  server TEXT NOT NULL,
  seen_at BIGINT NOT NULL,
  tool TEXT NOT NULL,
  -- The execution that it shows; null where it shows none.
  execution TEXT,
  -- working, input_required, completed, cancelled or failed
  status TEXT NOT NULL,
  message TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Null while it is under way.
  expires_at BIGINT,
  -- As JSON: questions that wait for an answer, and answers that another server took for this one.
  questions TEXT,
  answers TEXT,
  cancel_wanted BIGINT NOT NULL DEFAULT 0,
  -- As JSON: the result, or the error of a failed one.
  outcome TEXT,
  bytes BIGINT NOT NULL
);
CREATE INDEX tasks_by_owner ON tasks (owner, bytes);
CREATE INDEX tasks_by_server ON tasks (server, expires_at);
CREATE INDEX tasks_by_expiry ON tasks (expires_at);
