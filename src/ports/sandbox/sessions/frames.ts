/**
 * Reads the reports of code: frames on a pipe that untrusted code can write to as well. A frame counts only behind the
 * secret of its run or session; everything else is skipped. All sizes are bounded. It does not interpret a report.
 */
import type { Report } from '../sandbox.ts';

/** A frame: secret, length of the header, length of the payload (both big-endian, 4 bytes), header as JSON, payload. */
export const secretBytes = 16;
const lengthsBytes = 8;
const maxHeaderBytes = 64 * 1024;
const maxPayloadBytes = 16 * 1024 ** 2;

/** Bytes of reports that wait for a reader; what comes beyond is dropped, so that code never waits for a reader. */
const maxWaitingBytes = 48 * 1024 ** 2;

/**
 * What may come without being a report before the pipe is no longer read. The server would look through it for as long as
 * the code writes, in the thread that serves everybody.
 */
const maxSkippedBytes = 8 * 1024 ** 2;

/** As many reports may be of one run: whoever knows the secret of its own run can write them without end, too. */
const maxReportsOfRun = 50_000;

/** What comes are no reports, so the rest of it is not read. */
export class ReportsCutOff extends Error {}

/** Reads frames as they come. Ends with the pipe, or with `ReportsCutOff` after too much that is no frame. */
export async function* readSessionFrames(
  chunks: AsyncIterable<Uint8Array>,
  secret: Buffer,
): AsyncGenerator<Report, void> {
  let parts: Buffer[] = [];
  let [length, wanted, skipped] = [0, 1, 0];
  for await (const chunk of chunks) {
    // Copied, since the memory of a chunk is used again.
    parts.push(Buffer.from(chunk));
    length += chunk.length;
    // A large frame is put together once, not with every chunk.
    if (length < wanted) continue;
    let rest: Buffer = Buffer.concat(parts);
    for (let mayHaveMore = true; mayHaveMore;) {
      const taken = takeFrame(rest, secret);
      if (taken.report !== null) yield taken.report;
      skipped = taken.report === null ? skipped + taken.skipped : 0;
      if (skipped > maxSkippedBytes) throw new ReportsCutOff('What the code writes are no reports.');
      ({ rest, wanted, mayHaveMore } = taken);
    }
    parts = [rest];
    length = rest.length;
  }
}

interface Taken {
  readonly report: Report | null;
  readonly rest: Buffer;
  /** Whether to look again before more bytes have come. */
  readonly mayHaveMore: boolean;
  /** How many bytes there have to be for the next look. */
  readonly wanted: number;
  /** How many were looked at for nothing. */
  readonly skipped: number;
}

function takeFrame(buffer: Buffer, secret: Buffer): Taken {
  const start = secretBytes + lengthsBytes;
  const waitFor = (rest: Buffer, wanted: number): Taken => ({
    report: null,
    rest,
    mayHaveMore: false,
    wanted,
    skipped: buffer.length - rest.length,
  });
  const at = buffer.indexOf(secret);
  // The start of a secret may be at the end.
  if (at < 0) return waitFor(buffer.subarray(Math.max(0, buffer.length - secretBytes + 1)), start);
  const frame = buffer.subarray(at);
  if (frame.length < start) return waitFor(frame, start);
  const headerLength = frame.readUInt32BE(secretBytes);
  const payloadLength = frame.readUInt32BE(secretBytes + 4);
  const skipSecret = (skipped: number): Taken => ({
    report: null,
    rest: frame.subarray(secretBytes),
    mayHaveMore: true,
    wanted: start,
    skipped: at + skipped,
  });
  if (headerLength > maxHeaderBytes || payloadLength > maxPayloadBytes) return skipSecret(start);
  const end = start + headerLength + payloadLength;
  if (frame.length < end) return waitFor(frame, end);
  const header = parseHeader(frame.subarray(start, start + headerLength));
  // A header was read whole, and its bytes are looked at again.
  if (header === null) return skipSecret(start + headerLength);
  const payload = new Uint8Array(frame.subarray(start + headerLength, end));
  return {
    report: { header, payload },
    rest: frame.subarray(end),
    mayHaveMore: true,
    wanted: start,
    skipped: 0,
  };
}

function parseHeader(bytes: Buffer): Report['header'] | null {
  try {
    const header: unknown = JSON.parse(bytes.toString('utf8'));
    const isObject = typeof header === 'object' && header !== null && !Array.isArray(header);
    return isObject ? (header as Report['header']) : null;
  } catch {
    return null;
  }
}

/** Reports that wait until somebody reads them. */
export interface ReportQueue {
  readonly reports: AsyncIterable<Report>;
  push(report: Report): void;
  /** No more will come. */
  end(): void;
}

export function createReportQueue(): ReportQueue {
  const waiting: Report[] = [];
  let bytes = 0;
  let isOver = false;
  let changed = Promise.withResolvers<void>();
  const wake = (): void => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  async function* read(): AsyncGenerator<Report> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        bytes -= next.payload.length;
        yield next;
      } else if (isOver) return;
      else await changed.promise;
    }
  }
  return {
    reports: read(),
    push(report) {
      if (isOver || bytes + report.payload.length > maxWaitingBytes || waiting.length >= maxWaitingReports)
        return;
      bytes += report.payload.length;
      waiting.push(report);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
  };
}

const maxWaitingReports = 1000;

/**
 * Reads the frames of a run at once, whether anybody wants them or not: a full pipe would stop the code. After too many, or
 * too much that is none, the rest is not read: the pipe is closed, which is an error to whoever writes, and the run goes on.
 */
export function collectReports(
  chunks: AsyncIterable<Uint8Array>,
  secret: Buffer,
  translate: (report: Report) => Report = (report) => report,
): AsyncIterable<Report> {
  const queue = createReportQueue();
  const readAll = async (): Promise<void> => {
    let count = 0;
    for await (const report of readSessionFrames(chunks, secret)) {
      if (++count > maxReportsOfRun) return;
      queue.push(translate(report));
    }
  };
  void readAll()
    .catch((error: unknown) => {
      if (!(error instanceof ReportsCutOff)) throw error;
    })
    .finally(() => queue.end());
  return queue.reports;
}
