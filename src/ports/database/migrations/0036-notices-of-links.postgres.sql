-- Servers remember links for a moment. Whoever changes what a link gives, be it another server, an older release or
-- somebody by hand, is heard by all of them. Counts of downloads are left out: they are written every second.
CREATE FUNCTION workcrate_notify_links() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM pg_notify(''workcrate_links'', ''''); RETURN NULL; END';
CREATE TRIGGER links_changed
  AFTER DELETE OR UPDATE OF
    token_hash, id, owner, file_id, bundle_id, target, created_at, expires_at, single_use, revoked_at, consumed_at
  ON links FOR EACH STATEMENT EXECUTE FUNCTION workcrate_notify_links();
CREATE TRIGGER links_truncated
  AFTER TRUNCATE ON links FOR EACH STATEMENT EXECUTE FUNCTION workcrate_notify_links();
CREATE TRIGGER files_changed
  AFTER DELETE OR UPDATE OF id, owner, name, media_type, size, sha256, storage_key, created_at
  ON files FOR EACH STATEMENT EXECUTE FUNCTION workcrate_notify_links();
CREATE TRIGGER files_truncated
  AFTER TRUNCATE ON files FOR EACH STATEMENT EXECUTE FUNCTION workcrate_notify_links();
