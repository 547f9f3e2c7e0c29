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

    /** Uses the link up; `link_not_found` if the lease has been lost meanwhile. */
    async use(link: Link, lease: Lease): Promise<void> {
      const used = await database.query(
        'UPDATE links SET consumed_at = ? WHERE token_hash = ? AND lease_holder = ? AND consumed_at IS NULL RETURNING id',
        clock(),
        link.tokenHash,
        lease.holder,
      );
      if (used.length === 0) throw linkNotFound();
    },

    /** Notes how far the link was delivered, short of its end. */
    async deliver(link: Link, lease: Lease, upTo: number): Promise<void> {
      await database.query(
        'UPDATE links SET delivered = ?, consumed_at = NULL WHERE token_hash = ? AND lease_holder = ?',
        upTo,
        link.tokenHash,
        lease.holder,
      );
    },

    /** Opens a used link again, once: a client that resets the connection each time would have no end of copies. */
    async reopen(link: Link, lease: Lease): Promise<void> {
      await database.query(
        'UPDATE links SET consumed_at = NULL, reopened = 1 WHERE token_hash = ? AND lease_holder = ? AND reopened = 0',
        link.tokenHash,
        lease.holder,
      );
    },
  };
}
