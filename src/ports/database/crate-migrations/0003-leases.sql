-- Who does what only one process may do at a time, and until when that holds unless it is renewed.
CREATE TABLE crate_leases (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);
