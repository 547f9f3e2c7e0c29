/**
 * Answers `GET` and `HEAD /files/{token}`: finds the link, sends the bytes or has another server send them, and counts
 * what was sent. Status, headers and ranges are decided in `download-response.ts`; `platform/transfer/` moves the bytes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import {
  asWorkcrateError,
  getErrno,
  isWorkcrateError,
  WorkcrateError,
  type ErrorCode,
} from '../../platform/errors.ts';
import { countRequestsOfConnection } from '../../platform/http/connection.ts';
import { isOpenedInBrowser } from '../../platform/html/response.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Previews } from '../../platform/previews/previews.ts';
import { getSegmentLength, sendSegments, socketInTurn, type Sent } from '../../platform/transfer/transfer.ts';
import { isWhole, planDownload, type ByteRange, type DownloadPlan } from './download-response.ts';
import type { Download } from './download.ts';
import type { Link } from './link.ts';
import { answerLinkPage, previewQuery, toPreviewHeaders } from './link-page.ts';
import type { Links } from './links.ts';
import type { Offload } from './offload.ts';
import { holdBackLastByte, type RowLease } from './single-use.ts';

/** What one GET sent of a download. */
export interface ServedDownload {
  /** What was sent, as far as that is known. */
  readonly stretches: readonly ByteRange[];
  /** Bytes that this process sent, without those that another server sends. */
  readonly bytes: number;
  readonly isOffloaded: boolean;
  /** Whether the page of the link showed it, which is no download. */
  readonly isPreview?: boolean;
  /** Why it failed; null where it did not, or where the client went away. */
  readonly failure: ErrorCode | null;
}

export interface DownloadRouteOptions {
  readonly links: Links;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly idleMs: number;
  /** Called for every download that reached its end. */
  readonly completed: (link: Link, download: Download) => Promise<void>;
  /** Called for every GET that sent bytes, or had another server send them. */
  readonly served: (link: Link, download: Download, served: ServedDownload) => void;
  /** Has another server send the bytes where possible. */
  readonly offload: Offload | null;
  /** Shows files on the pages of their links. */
  readonly previews: Previews;
}

/** Answers `GET|HEAD /files/{token}`. */
export function createDownloadRoute(options: DownloadRouteOptions) {
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new WorkcrateError('method_not_allowed', 'Use GET or HEAD to fetch a file.');
    const place = countRequestsOfConnection(req.socket);
    // A pipelined request waits for those before it, and the link must still be valid when it is next.
    const turn = socketInTurn(res);
    if ((turn instanceof Promise ? await turn : turn) === null) return;
    const { link, download } = await options.links.resolve(token);
    const view = readLinkView(req);
    if (view === 'page') return answerLinkPage(res, { link, download, previews: options.previews });
    if (view === 'preview' && !link.singleUse) return sendPreview(options, req, res, link, download);
    if (link.singleUse && req.method === 'GET') await sendSingleUse(options, req, res, link, download, place);
    else await sendReusable(options, req, res, link, download);
  };
}

/** What a request for a link asks for. */
function readLinkView(req: IncomingMessage): 'page' | 'preview' | 'bytes' {
  const at = req.url?.indexOf('?') ?? -1;
  if (at !== -1) return req.url!.slice(at) === previewQuery ? 'preview' : 'bytes';
  return isOpenedInBrowser(req) ? 'page' : 'bytes';
}

async function sendReusable(
  options: DownloadRouteOptions,
  req: IncomingMessage,
  res: ServerResponse,
  link: Link,
  download: Download,
): Promise<void> {
  const headers = req.method === 'HEAD' ? omitRange(req) : req.headers;
  const plan = planDownload(headers, download);
  if (req.method === 'GET' && (await tryOffload(options, req, res, link, download, plan))) return;
  const sent = await sendDownload(options, res, link, download, plan);
  if (req.method !== 'GET') return countDownload(options, link, plan.status, sent, false);
  const finished = completesDownload(options, link, download, toServed(plan, sent).stretches);
  countDownload(options, link, plan.status, sent, finished);
  if (finished) await options.completed(link, download);
}

/** Sends what the page of a link shows. It is no download, however much of the file it is. */
async function sendPreview(
  options: DownloadRouteOptions,
  req: IncomingMessage,
  res: ServerResponse,
  link: Link,
  download: Download,
): Promise<void> {
  const { headers, ...plan } = planDownload(req.method === 'HEAD' ? omitRange(req) : req.headers, download);
  const shown = { ...plan, headers: toPreviewHeaders(headers, download) };
  const served: DownloadRouteOptions['served'] = (...[to, what, part]) =>
    options.served(to, what, { ...part, isPreview: true });
  const sent = await sendDownload({ ...options, served }, res, link, download, shown);
  countDownload(options, link, plan.status, sent, false);
}

/** Whether every byte has been sent by now, in this answer and those before it. */
const completesDownload = (
  { links }: DownloadRouteOptions,
  link: Link,
  { size }: Download,
  ranges: readonly ByteRange[],
): boolean =>
  (ranges.length > 0 && isWhole(ranges, size)) || links.coverage.completes(link.tokenHash, ranges, size);

/**
 * Has another server send it, if that is possible. It counts as a download as soon as it is offloaded, and its bytes
 * are not counted. Missing bytes are a 410 here too.
 */
async function tryOffload(
  options: DownloadRouteOptions,
  { headers }: IncomingMessage,
  res: ServerResponse,
  link: Link,
  download: Download,
  plan: DownloadPlan,
): Promise<boolean> {
  const offloaded = (await options.offload?.({ headers, link, download, plan })) ?? null;
  if (offloaded === null) return false;
  await (await download.open()).close();
  res.writeHead(offloaded.status, offloaded.headers).end();
  const status = offloaded.status === 302 ? 302 : plan.status;
  const finished = completesDownload(options, link, download, plan.stretches);
  countDownload(options, link, status, { sent: 0, complete: true }, finished);
  // After a redirect the client can fetch all of it from the store, whatever range it asked for here.
  const stretches = status === 302 ? [{ start: 0, end: download.size }] : plan.stretches;
  options.served(link, download, { stretches, bytes: 0, isOffloaded: true, failure: null });
  return true;
}

/** RFC 9110 defines Range for GET alone. */
function omitRange({ headers: { range: _range, ...headers } }: IncomingMessage) {
  return headers;
}

/**
 * Allows one complete download under any concurrency. The lease lets one transfer run at a time; what was sent from the
 * start is recorded, so that a broken transfer can be resumed; reaching the end uses the link up.
 */
async function sendSingleUse(
  options: DownloadRouteOptions,
  req: IncomingMessage,
  res: ServerResponse,
  link: Link,
  download: Download,
  place: number,
): Promise<void> {
  const { links } = options;
  const { socket } = req;
  const { bytesRead } = socket;
  await using lease = await waitForDownloadLease(links, link);
  if (!lease) throw linkBusyError();
  const delivered = await links.delivered(link);
  const usedAtEnd = useBeforeLastByte(download, () => links.use(link, lease));
  const plan = planDownload(req.headers, usedAtEnd, ([range, ...more]) =>
    range && more.length === 0 && range.start <= delivered ? [range] : null,
  );
  let sent: Sent = { sent: 0, complete: false };
  try {
    sent = await sendDownload(options, res, link, usedAtEnd, plan);
  } finally {
    const used = sent.complete && plan.range?.end === download.size;
    if (plan.range !== null && !used)
      await links.deliver(link, lease, Math.max(delivered, plan.range.start + sent.sent));
  }
  // A range begins within what was delivered before, so a client that has the end has all of it.
  const finished = sent.complete && plan.range?.end === download.size;
  countDownload(options, link, plan.status, sent, finished);
  if (!finished) return;
  const isReset = await isResetAfterEnd(socket);
  const isFollowed = countRequestsOfConnection(socket) > place || socket.bytesRead > bytesRead;
  // After anything else on the connection, the reset may be of that: this answer counts as delivered.
  if (isReset && !isFollowed) await links.reopen(link, lease);
  else await options.completed(link, download);
}

/**
 * Uses the link up before its last byte is sent: a client with the whole file finds the link dead, and a crash in
 * between cannot allow a second download.
 */
function useBeforeLastByte(download: Download, use: () => Promise<void>): Download {
  const { size } = download;
  return {
    ...download,
    async open() {
      const opened = await download.open();
      return {
        ...opened,
        async *segments(start, end) {
          let left = size - start;
          for await (const segment of opened.segments(start, end)) {
            left -= getSegmentLength(segment);
            if (left > 0) yield segment;
            else yield* holdBackLastByte(use, segment);
          }
          if (size === 0) await use();
        },
      };
    },
  };
}

/** A client that fetches piece by piece asks for the next one while the last is still being recorded. */
async function waitForDownloadLease(links: Links, link: Link): Promise<RowLease | null> {
  for (let attempt = 0; ; attempt++) {
    const lease = await links.lease(link);
    if (lease || attempt === 10) return lease;
    await links.delivered(link);
    await pause(100);
  }
}

function linkBusyError(): WorkcrateError {
  return new WorkcrateError(
    'link_busy',
    'Someone is downloading this single-use link now. If that transfer fails, you can try again.',
  );
}

const resetSettleMs = 3000;

/**
 * Whether the connection is reset after the last byte was handed to the kernel: the client then closed it
 * with bytes unread, so its download is not complete.
 */
async function isResetAfterEnd(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Not in the timer: after a stall that would come before the end of the connection has been read.
  const timer = setTimeout(() => setImmediate(resolve), resetSettleMs).unref();
  const closed = (): void => resolve();
  socket.once('close', closed);
  if (socket.destroyed) resolve();
  try {
    await promise;
    return ['ECONNRESET', 'EPIPE'].includes(getErrno(socket.errored) ?? '');
  } finally {
    clearTimeout(timer);
    socket.off('close', closed);
  }
}

/** Opens the bytes before the headers are sent, so that missing ones can still be a 410. */
async function sendDownload(
  options: DownloadRouteOptions,
  res: ServerResponse,
  link: Link,
  download: Download,
  plan: DownloadPlan,
): Promise<Sent> {
  const { links, metrics, idleMs } = options;
  const opened = plan.range === null && plan.length === 0 ? null : await download.open();
  metrics.transfers.out++;
  try {
    res.writeHead(plan.status, plan.headers);
    const body = opened === null ? [] : plan.body(opened);
    const sent = await sendSegments(res, body, { length: plan.length, idleMs });
    reportServed(options, res, link, download, toServed(plan, sent));
    return sent;
  } catch (error) {
    reportServed(options, res, link, download, { ...servedNothing, failure: asWorkcrateError(error).code });
    if (isWorkcrateError(error, 'zip_damaged')) links.noteCorruption(link, download);
    throw error;
  } finally {
    metrics.transfers.out--;
    await opened?.close();
  }
}

const servedNothing: ServedDownload = { stretches: [], bytes: 0, isOffloaded: false, failure: null };

/** For several ranges it is known what was sent only if all of them were. */
function toServed({ stretches, range }: DownloadPlan, { sent, complete }: Sent): ServedDownload {
  if (range !== null)
    return { ...servedNothing, stretches: [{ start: range.start, end: range.start + sent }], bytes: sent };
  if (!complete) return { ...servedNothing, bytes: sent };
  // Without the boundaries and headers between the parts.
  return {
    ...servedNothing,
    stretches,
    bytes: stretches.reduce((sum, { start, end }) => sum + end - start, 0),
  };
}

/** A GET that sent nothing is not reported, unless the file is empty. */
function reportServed(
  { served }: DownloadRouteOptions,
  { req }: ServerResponse,
  link: Link,
  download: Download,
  part: ServedDownload,
): void {
  const isEmpty = part.stretches.length > 0 && download.size === 0;
  if (req.method === 'GET' && (part.bytes > 0 || part.failure !== null || isEmpty))
    served(link, download, part);
}

/** Counts what was sent, in metrics, log and the statistics of the link. */
function countDownload(
  { links, metrics, log }: DownloadRouteOptions,
  link: Link,
  status: number,
  { sent, complete }: Sent,
  finished: boolean,
): void {
  metrics.downloaded(complete ? status : 'broken');
  metrics.downloadBytes.inc(sent);
  log.debug('link.served', { link: link.id, status, sent, complete });
  if (sent > 0 || finished) links.note(link, sent, finished);
}
