export const auditHelp = `Usage: workcrate audit verify|search|tail|forget [OPTIONS]

Who did what, from the audit log in the data folder. All but forget work beside a running server, and only read.

  verify          check that no line was changed, removed, added or moved, and that the log has the line that the
                  database remembers; the exit code is 1 where it does not, or where there is no log
  search [TEXT]   lines that hold the text in any case, the newest first
  tail            the last lines, in the order in which they were written
  forget          let the database forget the log, once you have moved it away on purpose, such as for a new key;
                  the server has to be stopped

Which lines, for search and tail
  --user NAME        of this user
  --operation NAME   such as read_client_file
  --result CODE      ok, failed for all else, or the code of an error
  --level LEVEL      trace, info or warning, and what is more severe; violations are warnings
  --since TIME       from then on: a day such as 2026-05-04 (UTC), or a moment such as 2026-05-04T12:00Z
  --until TIME       before then
  --limit COUNT      at most so many, up to 10000; 50 for search, 20 for tail
  --before PLACE     go on where the page before has ended, which names the place

For all
  --json             for programs
  --data DIR         the data folder of the server (WORKCRATE_DATA)
  --database PLACE   its database, where that is not in the data folder (WORKCRATE_DATABASE)
  --audit-key KEY    the key of the chain, where there is one; better as WORKCRATE_AUDIT_KEY, since other users
                     can see the command line
  --config FILE      read settings from a YAML or JSON file (WORKCRATE_CONFIG)
`;
