/**
 * Audit lines for uploads, downloads and tokens that open nothing. Ranges of one download are gathered into one line.
 * It sends and receives nothing itself: `core/links/` does.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { asWorkcrateError, isWorkcrateError, type WorkcrateError } from '../../platform/errors.ts';
import type { ServedDownload } from '../links/download-route.ts';
import { DeadLink, hashLinkToken, isToken, toPublicId, type Link } from '../links/link.ts';
import { isWhole, joinRanges, type ByteRange, type Download, type Uploads } from '../links/links.ts';
import { noAuditUser, type Audit, type AuditEvent } from './audit.ts';

type StoredUpload = NonNullable<Awaited<ReturnType<Uploads['file']>>>;

/** The same uploads, with a line for every file that arrived and for every failure. */
export function auditUploads(uploads: Uploads, audit: Audit): Uploads {
  /** Resolves once the line is on disk: only then is the file acknowledged. */
  const note = async (token: string, file: StoredUpload | null): Promise<void> => {
    if (file === null) return;
    const { owner: user, name: subject, id: file_id, size: bytes } = file;
    const details = { ...toLinkDetails(token), file_id, bytes };
    audit.note({ ...plainUpload, level: 'trace', user, subject, result: 'ok', details });
    await audit.synced();
  };

  /** Notes a failed upload. An unknown token gets no line here: `auditTokens` notes it. */
  async function telling<T>(token: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const upload = await uploads.find(token).catch(() => null);
      const result = asWorkcrateError(cause).code;
      if (upload !== null)
        audit.note({
          ...plainUpload,
          level: 'info',
          user: upload.owner,
          subject: upload.name,
          result,
          details: toLinkDetails(token),
        });
      throw cause;
    }
  }

  return {
    ...uploads,
    write: (token, delivery) =>
      telling(token, async () => {
        const received = await uploads.write(token, delivery);
        await note(token, received.file);
        return received;
      }),
    begin: (token, fileLength) =>
      telling(token, async () => {
        const received = await uploads.begin(token, fileLength);
        await note(token, received.file);
        return received;
      }),
    addToBatch: (token, file) => telling(token, () => uploads.addToBatch(token, file)),
    async readState(token) {
      const before = await uploads.find(token);
      const standing = await uploads.readState(token);
      // Its bytes were all here, and nobody had made a file of them.
      if (before.fileId === null && standing.upload.fileId !== null)
        await note(token, await uploads.file(standing.upload));
      return standing;
    },
    withdraw: (token) =>
      telling(token, async () => {
        const { owner: user, name: subject } = await uploads.find(token);
        await uploads.withdraw(token);
        audit.note({
          ...plainUpload,
          level: 'trace',
          user,
          subject,
          result: 'withdrawn',
          details: toLinkDetails(token),
        });
        await audit.synced();
      }),
  };
}

const plainUpload = { operation: 'upload', client: null } as const;

/** The public id of the link, as in the line of the call that made it and in those of later attempts. */
const toLinkDetails = (token: string) => ({ link: toPublicId(hashLinkToken(token)) });

type AuditedTokenRoute = (req: IncomingMessage, res: ServerResponse, token: string) => Promise<void>;

/** The same route, with a violation for every token that opens nothing: it was guessed, used or revoked. */
export function auditTokens(route: AuditedTokenRoute, operation: string, audit: Audit): AuditedTokenRoute {
  return async (req, res, token) => {
    try {
      await route(req, res, token);
    } catch (error) {
      if (isWorkcrateError(error, 'link_not_found') || isWorkcrateError(error, 'upload_not_found'))
        noteGuess(audit, operation, token, error);
      throw error;
    }
  };
}

/** By the public id, which leads to the lines about the link where there was one. */
function noteGuess(audit: Audit, operation: string, token: string, error: WorkcrateError): void {
  const { cause, code: result } = error;
  const dead = cause instanceof DeadLink ? cause : null;
  const subject = isToken(token) ? toPublicId(hashLinkToken(token)) : null;
  const event = { operation, user: noAuditUser, client: null, subject, result };
  const kind = dead === null ? 'unknown_token' : `${dead.state}_link`;
  const details = dead && { owner: dead.owner };
  // An expired link is no violation: somebody came too late.
  if (dead?.state === 'expired') audit.note({ ...event, level: 'info', details: { ...details, kind } });
  else audit.violation({ ...event, ...(details && { details }) }, kind, error);
}

/** A download in several ranges, until its line is written. */
interface GatheredDownload {
  readonly link: Link;
  readonly download: Download;
  readonly isOffloaded: boolean;
  readonly timer: NodeJS.Timeout;
  stretches: ByteRange[];
  bytes: number;
  requests: number;
}

/** A film or a PDF is fetched by many small ranges; they are one line for each link in such a span. */
const gatherMs = 10_000;
/** Beyond this the oldest are written at once, to bound the memory. */
const maxGathered = 1000;
const maxTransferStretches = 100;

/**
 * Notes downloads. A whole file in one answer is noted at once, ranges when together they are the whole file or after
 * ten seconds. Nothing is known of the person who downloads but the link.
 */
export function auditDownloads(audit: Audit) {
  const gathering = new BoundedMap<string, GatheredDownload>({ mostEntries: maxGathered, onEvict: tell });

  function begin(which: string, link: Link, download: Download, isOffloaded: boolean): GatheredDownload {
    const timer = setTimeout(() => end(which), gatherMs).unref();
    const begun = { link, download, isOffloaded, timer, stretches: [], bytes: 0, requests: 0 };
    gathering.set(which, begun);
    return begun;
  }

  function end(which: string): void {
    const gathered = gathering.get(which)!;
    gathering.delete(which);
    tell(gathered);
  }

  function tell(gathered: GatheredDownload): void {
    clearTimeout(gathered.timer);
    noteGathered(audit, gathered);
  }

  return {
    served(link: Link, download: Download, served: ServedDownload): void {
      const { stretches, bytes, isOffloaded, failure } = served;
      if (failure !== null) return noteFailed(audit, link, download, failure);
      if (isWhole(stretches, download.size)) return noteWhole(audit, link, download, served);
      const which = `${link.id} ${isOffloaded}`;
      const gathered = gathering.get(which) ?? begin(which, link, download, isOffloaded);
      gathered.stretches = joinRanges([...gathered.stretches, ...stretches]);
      gathered.bytes += bytes;
      gathered.requests++;
      const isDone = isWhole(gathered.stretches, download.size);
      if (isDone || gathered.stretches.length > maxTransferStretches) end(which);
    },
    /** Notes what is still being gathered. */
    [Symbol.dispose](): void {
      gathering.evictAll();
    },
  };
}

function toDownloadEvent({ owner }: Link, { filename }: Download) {
  return { level: 'trace', operation: 'download', user: owner, client: null, subject: filename } as const;
}

/** The last event of each download that was sent whole: mostly the next one says the same. */
const wholeEvents = new WeakMap<Download, AuditEvent>();

function noteWhole(audit: Audit, link: Link, download: Download, served: ServedDownload): void {
  const { bytes, isOffloaded, isPreview = false } = served;
  const result = isOffloaded ? 'handed_over' : 'ok';
  const last = wholeEvents.get(download);
  const says = last?.details;
  const isSame =
    last?.result === result &&
    says?.['link'] === link.id &&
    says['bytes'] === bytes &&
    'preview' in says === isPreview;
  if (isSame) return audit.noteSoon(last);
  const event = {
    ...toDownloadEvent(link, download),
    result,
    details: { link: link.id, bytes, size: download.size, whole: true, ...(isPreview && { preview: true }) },
  };
  wholeEvents.set(download, event);
  audit.noteSoon(event);
}

function noteGathered(audit: Audit, gathered: GatheredDownload): void {
  const { link, download, isOffloaded, stretches, bytes, requests } = gathered;
  const whole = isWhole(stretches, download.size);
  audit.noteSoon({
    ...toDownloadEvent(link, download),
    result: isOffloaded ? 'handed_over' : whole ? 'ok' : 'partial',
    details: {
      link: link.id,
      bytes,
      size: download.size,
      whole,
      from: stretches[0]?.start ?? null,
      to: stretches.at(-1)?.end ?? null,
      requests,
    },
  });
}

/** How much had gone out by then is not known. */
function noteFailed(audit: Audit, link: Link, download: Download, failure: string): void {
  audit.noteSoon({
    ...toDownloadEvent(link, download),
    level: 'info',
    result: failure,
    details: { link: link.id, bytes: null, size: download.size, whole: false },
  });
}
