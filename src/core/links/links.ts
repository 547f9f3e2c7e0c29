/**
 * The door of this room: rights to download a stored file, a bundle or an external target by a token, and to send one
 * file by an upload link. It answers no HTTP request itself (`download-route.ts` and `upload-routes.ts` do) and stores no
 * bytes (`core/files/` does).
 */
import { randomBytes } from 'node:crypto';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { Database } from '../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { readTrustedTime } from '../../ports/database/trusted-clock.ts';
import { createBundle } from './bundle.ts';
import { getEtag } from './download-response.ts';
import {
  createLinkLookup,
  archiveDamagedError,
  findLink,
  toFileDownload,
  type Download,
  type FoundLink,
} from './download.ts';
import {
  DeadLink,
  fileNotFoundError,
  hashLinkToken,
  insertLink,
  isToken,
  linkNotFoundError,
  mintLink,
  getLinkState,
  type Link,
  type LinksOptions,
  type LinkTerms,
} from './link.ts';
import { listLinks, type LinkPage, type LinkPageOptions } from './list.ts';
import { createCoverage, createSingleUse } from './single-use.ts';

export type { LinkOfAll, LinksOfAll } from './all-links.ts';
export { isWhole, joinRanges, type ByteRange } from './download-response.ts';
export { readSegments, toObjectDownload, type Download, type ObjectStretch } from './download.ts';
export { bytesGoneError, type ExternalTargets, type LinkTerms } from './link.ts';
export { dropLeases } from './single-use.ts';
export type { Upload } from './upload.ts';
export { createUploads, type Uploads } from './uploads.ts';
export { createWebhook, type Webhook } from './webhook.ts';

/** A new link: the only time that its token is known. */
export interface SharedLink<Sha256 extends string | null = string> {
  readonly token: string;
  readonly link: Link;
  /** Whether it ends with the client, if that is before it expires. */
  readonly endsWithClient: boolean;
  readonly download: Pick<Download, 'filename' | 'mediaType' | 'size'> & { readonly sha256: Sha256 };
}

export type Links = ReturnType<typeof createLinks>;

/** Links to stored files, bundles and external targets. */
export function createLinks(options: LinksOptions) {
  const { database, files, clock, endsWithClient = false } = options;
  const statistics = createStatistics(options);
  const corruptions = createKnownCorruptions();
  const lookup = createLinkLookup(options);

  /** One of the caller's links, by its token or its public id. */
  async function findOwn(caller: Caller, reference: string): Promise<FoundLink> {
    const [column, value] = isToken(reference)
      ? ['token_hash', hashLinkToken(reference)]
      : ['links.id', reference];
    const found = await findLink(options, `${column} = ? AND links.owner = ?`, value, caller.user);
    if (!found) throw new WorkcrateError('not_found', 'No link of yours has this token or link_id.');
    return found;
  }

  async function demandIntact({ link, download }: FoundLink): Promise<Download> {
    const found = await download();
    corruptions.demandNone(link, found);
    return found;
  }

  async function demandStored(found: FoundLink): Promise<Download> {
    const download = await demandIntact(found);
    await download.demandStored?.();
    return download;
  }

  return {
    /** Makes a link to one of the caller's files, which is then kept at least as long as the link. */
    async share(caller: Caller, fileId: string, terms: LinkTerms): Promise<SharedLink> {
      const { token, link } = mintLink(caller, { fileId }, terms, clock());
      await database.transaction(async (tx) => {
        if (!(await files.extend(tx, caller, fileId, link.expiresAt))) throw fileNotFoundError(fileId);
        await insertLink(tx, caller, link);
      });
      const file = await files.find(caller, fileId);
      if (!file) throw fileNotFoundError(fileId);
      return { token, link, endsWithClient, download: { ...file, filename: file.name } };
    },

    /** Makes one link to many files, as a ZIP that is built while it is sent. */
    async bundle(
      caller: Caller,
      fileIds: readonly string[],
      filename: string,
      terms: LinkTerms,
      progress: { signal: AbortSignal; report(done: number, total: number): void },
    ): Promise<SharedLink> {
      const bundleId = `bundle_${randomBytes(12).toString('hex')}`;
      const { token, link } = mintLink(caller, { bundleId }, terms, clock());
      const download = await createBundle(options, caller, { bundleId, fileIds, filename, link }, progress);
      return { token, link, endsWithClient, download };
    },

    /**
     * Makes a link to what `externalTargets` finds by the reference at each download. The caller of this function
     * decides whether the user may have it. The target is not kept for the link: once it is gone or changed, the link
     * answers 410.
     */
    async shareExternalTarget(
      caller: Caller,
      reference: string,
      terms: LinkTerms,
    ): Promise<SharedLink<string | null>> {
      const { token, link } = mintLink(caller, { target: reference }, terms, clock());
      const download = await findExternalTarget(options, reference);
      await database.transaction((tx) => insertLink(tx, caller, link));
      return { token, link, endsWithClient, download };
    },

    /** The link of a token, and what it points at; `link_not_found` unless it may be used now. */
    async resolve(token: string): Promise<{ link: Link; download: Download }> {
      const found = isToken(token) ? await lookup(hashLinkToken(token)) : null;
      if (!found) throw linkNotFoundError();
      const state = getLinkState(found.link, clock());
      if (state !== 'active') throw linkNotFoundError(new DeadLink(found.link, state));
      return { link: found.link, download: await demandIntact(found) };
    },

    ...createSingleUse(options),

    /** Some bytes of the download were wrong: it is not sent any more. */
    noteCorruption: corruptions.note,

    /** Knows when every byte of a link has been sent. */
    coverage: createCoverage(),

    note: (link: Link, bytes: number, complete: boolean): void =>
      statistics.note(link.tokenHash, bytes, complete, clock()),

    async status(caller: Caller, reference: string) {
      await statistics.flush();
      const found = await findOwn(caller, reference);
      const { link } = found;
      return { link, state: getLinkState(link, clock()), ...(await findIfPresent(demandStored(found))) };
    },

    /** A page of the caller's links, newest first. Expired ones are there until the next sweep. */
    async list(caller: Caller, page: LinkPageOptions): Promise<LinkPage> {
      await statistics.flush();
      return listLinks(options, caller, page);
    },

    /** One of the caller's files as a download, for the caller alone: no link is made or used. */
    openOwn: (caller: Caller, fileId: string): Promise<Download> => openOwnFile(files, caller, fileId),

    /** Ends a link at once. Revoking twice is allowed. */
    async revoke(caller: Caller, reference: string): Promise<Link> {
      const { link } = await findOwn(caller, reference);
      const revokeSql = 'UPDATE links SET revoked_at = ? WHERE token_hash = ? AND revoked_at IS NULL';
      await database.query(revokeSql, clock(), link.tokenHash);
      return link;
    },

    flush: statistics.flush,

    /** Deletes expired links and bundles, and returns the number of links. */
    async sweep(): Promise<number> {
      const now = await readTrustedTime(database, clock());
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

async function openOwnFile(files: Files, caller: Caller, id: string): Promise<Download> {
  const file = await files.find(caller, id);
  if (!file) throw fileNotFoundError(id);
  return toFileDownload(files, file);
}

async function findExternalTarget({ externalTargets }: LinksOptions, reference: string): Promise<Download> {
  // The link is new, so that no other reference to its target can be stored yet.
  if (externalTargets !== undefined) return externalTargets.download(reference, async () => {});
  throw new WorkcrateError('unsupported', 'This server makes links only to its own files.');
}

/** What a link points at, if that can be found out: `link_status` must work while a source is down. */
async function findIfPresent(
  finding: Promise<Download>,
): Promise<{ download: Download | null; isGone: boolean }> {
  try {
    return { download: await finding, isGone: false };
  } catch (error) {
    if (isWorkcrateError(error, 'source_unreachable')) return { download: null, isGone: false };
    if (isWorkcrateError(error, 'bytes_gone') || isWorkcrateError(error, 'zip_damaged'))
      return { download: null, isGone: true };
    throw error;
  }
}

interface LinkUse {
  downloads: number;
  bytes: number;
  at: number;
}

const flushMs = 1000;

/**
 * Counts the use of links. Counts are collected for a second and written together, since a durable write for each
 * download would cost more than the download. A crash can lose that second, but never the end of a single-use link.
 */
function createStatistics({ database, log }: { database: Database; log: Log }) {
  let gathered = new Map<string, LinkUse>();
  let timer: NodeJS.Timeout | null = null;

  async function flush(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    const uses = gathered;
    gathered = new Map();
    if (uses.size === 0) return;
    await database.transaction(async (tx) => {
      for (const [tokenHash, use] of uses)
        await tx.query(
          'UPDATE links SET downloads = downloads + ?, bytes_sent = bytes_sent + ?, last_used_at = ? WHERE token_hash = ?',
          use.downloads,
          use.bytes,
          use.at,
          tokenHash,
        );
    });
  }

  function flushLater(): void {
    timer ??= setTimeout(() => {
      flush().catch((error: unknown) => log.error('statistics.flush_failed', { error }));
    }, flushMs).unref();
  }

  return {
    /** Writes what was collected, so that a reader sees it. */
    flush,
    note(tokenHash: string, bytes: number, complete: boolean, at: number): void {
      const use = gathered.get(tokenHash) ?? { downloads: 0, bytes: 0, at };
      use.downloads += complete ? 1 : 0;
      use.bytes += bytes;
      use.at = at;
      gathered.set(tokenHash, use);
      flushLater();
    },
  };
}

const maxKnownCorruptions = 1000;

/**
 * Remembers downloads that were broken off because their bytes were wrong. A client that is cut off asks for the rest,
 * which cannot be checked by itself: it would then take the file for whole.
 */
function createKnownCorruptions() {
  const known = new BoundedMap<string, true>({ mostEntries: maxKnownCorruptions });
  const toKey = ({ target }: Link, download: Download): string => `${getEtag(download)} ${target}`;
  return {
    note(link: Link, download: Download): void {
      known.set(toKey(link, download), true);
    },
    /** Throws `zip_damaged` until the bytes have changed. */
    demandNone(link: Link, download: Download): void {
      if (link.target !== null && known.has(toKey(link, download))) throw archiveDamagedError();
    },
  };
}
