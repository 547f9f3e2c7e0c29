-- What commands did beside a server, or without one, until a server has written its line of the audit log.
CREATE TABLE audit_waiting (
  id TEXT NOT NULL PRIMARY KEY,
  done_at BIGINT NOT NULL,
  -- As JSON.
  event TEXT NOT NULL,
  -- The server that writes the line, and until when no other does.
  taken_by TEXT,
  taken_until BIGINT NOT NULL
);
