-- Work that a process holds and that has no row of its own elsewhere. It takes the place of the table of tasks: an MCP
-- task is a job of the kind call. Times are milliseconds since 1970.
CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY,
  -- call: a call that outlasts its answer; install: packages of a user
  kind TEXT NOT NULL,
  owner TEXT NOT NULL,
  -- From when the right of its caller dates: a removal of the owner after that ends it.
  since BIGINT NOT NULL,
  -- Who holds it, by the id of the data folder. Each claim raises the epoch, and a former holder is refused by it.
  server TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  -- When the holder last said that it is alive, by the clock of the database.
  seen_at BIGINT,
  -- Who wants it to end.
  cancel_by TEXT,
  -- What is done, such as the tool that is called.
  work TEXT NOT NULL,
  -- The execution that it shows; null where it shows none.
  execution TEXT,
  -- working, input_required, completed, cancelled or failed
  status TEXT NOT NULL,
  message TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Null while it is under way.
  expires_at BIGINT,
  -- As JSON: questions that wait for an answer, and answers that another server took for the holder.
  questions TEXT,
  answers TEXT,
  -- As JSON: the result, or the error of a failed one.
  outcome TEXT,
  bytes BIGINT NOT NULL
);
CREATE INDEX jobs_by_owner ON jobs (owner, kind, bytes);
CREATE INDEX jobs_by_kind ON jobs (kind, expires_at);
CREATE INDEX jobs_by_expiry ON jobs (expires_at);
-- Nothing that a client could still ask for is lost. What was under way belongs to a server that has ended, or will give
-- no more signs of life here.
INSERT INTO jobs (id, kind, owner, since, server, epoch, seen_at, work, execution, status, message, created_at, updated_at,
    expires_at, questions, answers, outcome, bytes)
  SELECT id, 'call', owner, since, server, 1, seen_at, tool, execution, status, message, created_at, updated_at,
    expires_at, questions, answers, outcome, bytes FROM tasks;
DROP TABLE tasks;

-- Who installed for whom, and until when: leases of a minute at most. An install is a job now.
DROP TABLE installs;
