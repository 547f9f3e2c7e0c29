import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../errors.ts';
import type { Caller } from '../identity.ts';
import { createBundle } from './bundle.ts';
import type { Download } from './download.ts';
import {
  bytesGone,
  fileNotFound,
  insertLink,
  linkNotFound,
  mintLink,
  stateOf,
  type Link,
  type LinksOptions,
  type LinkTerms,
} from './link.ts';
import { createLookup, findLink, type FoundLink } from './lookup.ts';
import { createSingleUse } from './single-use.ts';
import { createStatistics } from './statistics.ts';
import { hashToken, isToken } from './tokens.ts';

export { dropLeases } from './lease.ts';
export { createUploads, type Uploads } from './uploads.ts';
export { createWebhook } from './webhook.ts';

/** A link as it is handed out: the only time that its token is known. */
export interface SharedLink {
  readonly token: string;
  readonly link: Link;
  readonly download: Pick<Download, 'filename' | 'mediaType' | 'size' | 'sha256'>;
}

export type Links = ReturnType<typeof createLinks>;

/** The way out: rights to fetch a file or a bundle, past the model's context. */
export function createLinks(options: LinksOptions) {
  const { database, files, clock } = options;
  const statistics = createStatistics(options);
  const lookup = createLookup(options);

  /** A caller's link by its token or its public id. */
  async function mine(caller: Caller, reference: string): Promise<FoundLink> {
    const [column, value] = isToken(reference)
      ? ['token_hash', hashToken(reference)]
      : ['links.id', reference];
    const found = await findLink(options, `${column} = ? AND links.owner = ?`, value, caller.user);
    if (!found) throw new WorkcrateError('not_found', 'No link of yours has this token or link_id.');
    return found;
  }

  return {
    /** Makes a link to a file of the caller's, which then lives at least as long as the link. */
    async share(caller: Caller, fileId: string, terms: LinkTerms): Promise<SharedLink> {
      const { token, link } = mintLink(caller, { fileId, bundleId: null }, terms, clock());
      await database.transaction(async (tx) => {
        if (!(await files.extend(tx, caller, fileId, link.expiresAt))) throw fileNotFound(fileId);
        await insertLink(tx, caller, link);
      });
      const file = await files.find(caller, fileId);
      if (!file) throw fileNotFound(fileId);
      return { token, link, download: { ...file, filename: file.name } };
    },

    /** Makes one link to many files, as a ZIP that is put together while it is sent. */
    async bundle(
      caller: Caller,
      fileIds: readonly string[],
      filename: string,
      terms: LinkTerms,
      progress: { signal: AbortSignal; report(done: number, total: number): void },
    ): Promise<SharedLink> {
      const bundleId = `bundle_${randomBytes(12).toString('hex')}`;
      const { token, link } = mintLink(caller, { fileId: null, bundleId }, terms, clock());
      const download = await createBundle(options, caller, { bundleId, fileIds, filename, link }, progress);
      return { token, link, download };
    },

    /** The link that a token opens, and what it gives; `link_not_found` unless it may be used now. */
    async resolve(token: string): Promise<{ link: Link; download: Download }> {
      const found = isToken(token) ? await lookup(hashToken(token)) : null;
      if (!found || stateOf(found.link, clock()) !== 'active') throw linkNotFound();
      return { link: found.link, download: await found.download() };
    },

    ...createSingleUse(options),

    note: (link: Link, bytes: number, complete: boolean): void =>
      statistics.note(link.tokenHash, bytes, complete, clock()),

    async status(caller: Caller, reference: string) {
      await statistics.flush();
      const { link, download } = await mine(caller, reference);
      return { link, state: stateOf(link, clock()), download: await download().catch(absentIfGone) };
    },

    /** Ends a link at once. Revoking twice is allowed. */
    async revoke(caller: Caller, reference: string): Promise<Link> {
      const { link } = await mine(caller, reference);
      await database.query(
        'UPDATE links SET revoked_at = ? WHERE token_hash = ? AND revoked_at IS NULL',
        clock(),
        link.tokenHash,
      );
      return link;
    },

    flush: statistics.flush,

    /** Forgets expired links and bundles, and gives the number of links. */
    async sweep(): Promise<number> {
      const now = clock();
      const gone = await database.query('DELETE FROM links WHERE expires_at <= ? RETURNING id', now);
      await database.transaction(async (tx) => {
        const bundles = await tx.query<{ id: string }>(
          'DELETE FROM bundles WHERE expires_at <= ? RETURNING id',
          now,
        );
        for (const { id } of bundles) await tx.query('DELETE FROM bundle_files WHERE bundle_id = ?', id);
      });
      return gone.length;
    },
  };
}

function absentIfGone(error: unknown): null {
  if (error instanceof WorkcrateError && error.code === bytesGone().code) return null;
  throw error;
}
