-- What a link points to that stands neither in files nor in bundles, as whoever can find it wrote it down.
ALTER TABLE links ADD COLUMN target TEXT;
