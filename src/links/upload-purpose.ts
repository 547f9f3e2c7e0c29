import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { uploadFromRow, type Upload } from './upload.ts';

/** Finds uploads by what the server asked for by them, at whichever server that was, and decides who has what came. */
export function createPurposes({ database, clock }: { database: Database; clock: Clock }) {
  const knownEmpty = emptiness(database);
  const meant = 'SELECT * FROM uploads WHERE owner = ? AND purpose = ? AND expires_at > ?';

  return {
    /** What came for any purpose and nobody has claimed. */
    async allArrived(owner: string): Promise<Upload[]> {
      const came =
        'SELECT * FROM uploads WHERE owner = ? AND purpose IS NOT NULL AND expires_at > ? AND file_id IS NOT NULL';
      return (await database.query(came, owner, clock())).map(uploadFromRow);
    },

    /** What came and nobody has claimed, the newest first. Its files may be gone. */
    async arrivedFor(owner: string, purpose: string): Promise<Upload[]> {
      const known = knownEmpty();
      const key = JSON.stringify([owner, purpose]);
      if (known?.has(key)) return [];
      const came = `${meant} AND file_id IS NOT NULL ORDER BY completed_at DESC, id`;
      const rows = await database.query(came, owner, purpose, clock());
      if (rows.length === 0) known?.add(key);
      return rows.map(uploadFromRow);
    },

    /** What has not come yet. */
    async openFor(owner: string, purpose: string): Promise<Upload[]> {
      return (await database.query(`${meant} AND file_id IS NULL`, owner, purpose, clock())).map(
        uploadFromRow,
      );
    },

    /** Takes the purpose off, so that nobody else finds it: whether this call was the one that did. */
    async claim({ tokenHash }: Upload): Promise<boolean> {
      const claimed = await database.query(
        'UPDATE uploads SET purpose = NULL WHERE token_hash = ? AND purpose IS NOT NULL RETURNING id',
        tokenHash,
      );
      return claimed.length > 0;
    },

    /** Changes what the asker has to know. */
    async note({ tokenHash }: Upload, note: string): Promise<void> {
      await database.query('UPDATE uploads SET purpose_note = ? WHERE token_hash = ?', note, tokenHash);
    },
  };
}

const mostKnown = 1000;

/**
 * What was looked for in vain since anything was last written: each call for a file that is remembered looks here first.
 * Null where others write all the time.
 */
function emptiness({ version }: Database): () => Set<string> | null {
  let [known, knownAt] = [new Set<string>(), version()];
  return () => {
    const now = version();
    // Anew, not cleared: a look that is under way must not add to what is known of a later version.
    if (now !== knownAt || known.size >= mostKnown) [known, knownAt] = [new Set(), now];
    return now === null ? null : known;
  };
}
