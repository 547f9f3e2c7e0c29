-- Which server installs packages for a user right now, and until when that is known: one at a time.
CREATE TABLE installs (
  owner TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);
