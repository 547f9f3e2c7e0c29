import { randomBytes } from 'node:crypto';
import { takeLease, type Lease } from './lease.ts';
import { linkFromRow, linkNotFound, stateOf, type Link, type LinksOptions } from './link.ts';

/** What a link needs that may be downloaded once: one transfer at a time, and how far it has come. */
export function createSingleUse(options: LinksOptions) {
  const { database, clock } = options;
  return {
    /** The right to be the one transfer, or null while another has it. */
    lease: (link: Link): Promise<Lease | null> =>
      takeLease(options, 'links', link.tokenHash, randomBytes(8).toString('hex')),

    /** How far the link has been delivered, read under its lease; `link_not_found` if it is used up. */
    async delivered(link: Link): Promise<number> {
      const [row] = await database.query('SELECT * FROM links WHERE token_hash = ?', link.tokenHash);
      const now = row ? linkFromRow(row) : null;
      if (!now || stateOf(now, clock()) !== 'active') throw linkNotFound();
      return now.delivered;
    },

    /** Notes how far the link was delivered; `whole` uses it up. */
    async deliver(link: Link, upTo: number, whole: boolean): Promise<void> {
      await database.query(
        'UPDATE links SET delivered = ?, consumed_at = ? WHERE token_hash = ?',
        upTo,
        whole ? clock() : null,
        link.tokenHash,
      );
    },
  };
}
