/**
 * Reads stdout and stderr of a run to their ends, with backpressure: head and tail are kept for the answer, all of it
 * goes to a stored file once it is too long, and the newest of it is reported as progress. While it runs, what it has
 * printed can be read by offsets.
 */
import { isAscii } from 'node:buffer';
import { asWorkcrateError, isOurFault, type WorkcrateError } from '../../platform/errors.ts';
import { keepEnd, keepStart } from '../../platform/text/text.ts';
import type { StoredFile } from '../files/files.ts';
import type { SandboxRun, Report, RunEnd } from '../../ports/sandbox/sandbox.ts';
import type { ExecutionsOptions } from './executions.ts';
import type { Execution } from './fields.ts';
import type { OutputSoFar, RunUnderWay } from './live.ts';
import type { OutputGate, RunParts } from './extension.ts';
import { createResultCollector, type RunResults } from './results.ts';

/** One output of a run, as it is shown and recorded. */
export interface RunOutput {
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
  /** Null where all of it is shown. */
  readonly spooled: SpooledOutput | null;
}

interface OutputOptions {
  /** How much is shown. */
  readonly bounds: OutputBounds;
  /** Called once, when there is more than can be shown. */
  readonly spool: () => Spool;
  /** Told of text as it comes, and of how many characters were passed over before it. */
  readonly heard: (text: string, passed: number) => void;
  /** Is told how to read what there is so far. */
  readonly watch?: (read: () => OutputSoFar) => void;
}

/**
 * Reads one output to its end and keeps it bounded while it does. Bytes that are not UTF-8 become U+FFFD
 * in the text; the spool gets all bytes as they came. No chunk is held on to once the next is asked for.
 */
export async function readOutput(
  chunks: AsyncIterable<Uint8Array>,
  { bounds, spool: openSpool, heard, watch }: OutputOptions,
): Promise<RunOutput> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const shown = createTruncation(bounds);
  let bytes = 0;
  let early: Uint8Array[] = [];
  let spool: Spool | null = null;
  watch?.(() => ({ text: shown.text(), bytes, truncated: shown.truncated() }));

  function read(text: string, passed = 0): void {
    if (text === '') return;
    shown.pass(passed);
    shown.add(text);
    heard(text, passed);
  }

  let unfinished = false;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    const passed = shown.truncated() && !unfinished ? countUnseenBytes(chunk, bounds.tail) : 0;
    let before = passed;
    for (const piece of splitIntoPieces(chunk.subarray(passed))) {
      read(decoder.decode(piece, { stream: true }), before);
      before = 0;
    }
    unfinished = chunk.length > 0 && chunk.at(-1)! >= 0x80;
    if (spool === null && shown.truncated()) {
      spool = openSpool();
      for (const held of early) await spool.write(held);
      early = [];
    }
    // Copied, since its memory may be used again, or be a view of a large buffer and keep all of that.
    if (spool === null) early.push(new Uint8Array(chunk));
    else await spool.write(chunk);
  }
  read(decoder.decode());
  return {
    text: shown.text(),
    bytes,
    truncated: shown.truncated(),
    spooled: await endSpool(spool, shown.truncated(), openSpool, early),
  };
}

/**
 * How many bytes at the start of a chunk are characters that nobody is going to see. Only counting them keeps
 * a flood from leaving a gigabyte of strings behind.
 */
function countUnseenBytes(chunk: Uint8Array, tail: number): number {
  const most = chunk.length - tail;
  return most > 0 && isAscii(chunk) ? most : 0;
}

/** Short strings are gone with the next small collection; those of whole chunks would pile up in a flood. */
const outputPieceBytes = 16 * 1024;

function* splitIntoPieces(chunk: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < chunk.length; at += outputPieceBytes) yield chunk.subarray(at, at + outputPieceBytes);
}

/** The replacement for a character that was never finished may be the one that is too many. */
async function endSpool(
  spool: Spool | null,
  truncated: boolean,
  openSpool: () => Spool,
  early: readonly Uint8Array[],
): Promise<SpooledOutput | null> {
  if (!truncated) return null;
  const last = spool ?? openSpool();
  if (spool === null) for (const held of early) await last.write(held);
  return last.end();
}

export interface RunOutputs {
  readonly stdout: RunOutput;
  readonly stderr: RunOutput;
}

const noOutput: OutputSoFar = { text: '', bytes: 0, truncated: false };

/** Reads both outputs and the reports of a run to their ends, passing them on as they come. */
export async function followRun(
  room: ExecutionsOptions,
  execution: Execution,
  run: SandboxRun,
  { output, progress: report, watchOutputs }: Pick<RunUnderWay, 'output' | 'progress' | 'watchOutputs'>,
  { all, gates }: Pick<RunParts, 'all' | 'gates'>,
): Promise<FollowedOutput> {
  using progress = createOutputProgress(report);
  const isShown = gates.length === 0;
  // A file may not be larger than files may be, or none of it would be kept.
  const budget: SpoolBudget = { left: Math.min(room.outputBytes, room.files.maxFileSize) };
  const hear =
    (stream: OutputStream) =>
    (text: string, passed: number): void => {
      output.add(text, passed, stream);
      progress.heard(text, passed);
    };
  const soFar = { stdout: () => noOutput, stderr: () => noOutput };
  if (isShown) watchOutputs(() => ({ stdout: soFar.stdout(), stderr: soFar.stderr() }));
  for (const { notice } of gates) output.add(notice);
  const take = (stream: OutputStream): Promise<RunOutput> =>
    readOutput(run[stream], {
      bounds: room.outputBounds,
      spool: () => openSpoolFor(room, execution, stream, budget, gates),
      heard: isShown ? hear(stream) : () => {},
      watch: (read) => void (soFar[stream] = read),
    });
  const results = createResultCollector(room, execution, gates);
  const reading = readReports(run.reports, [results, ...all]);
  const [stdout, stderr, end] = await Promise.all([take('stdout'), take('stderr'), run.ended, reading]);
  reportLosses(room, execution, { stdout, stderr });
  let shown = { outputs: { stdout, stderr }, results: results.results() };
  for (const gate of gates) shown = await gate.finish(shown.outputs, shown.results);
  if (!isShown)
    for (const stream of ['stdout', 'stderr'] as const) output.add(shown.outputs[stream].text, 0, stream);
  return { end, ...shown };
}

interface FollowedOutput {
  readonly end: RunEnd;
  readonly outputs: RunOutputs;
  readonly results: RunResults;
}

interface ReportTaker {
  take?(report: Report): void | Promise<void>;
}

/** Hands every report to all who may want it, one after the other. */
async function readReports(reports: AsyncIterable<Report>, takers: readonly ReportTaker[]): Promise<void> {
  for await (const report of reports) for (const taker of takers) await taker.take?.(report);
}

function openSpoolFor(
  { files, keepOutputSeconds: keepSeconds }: ExecutionsOptions,
  { id, owner: user }: Execution,
  stream: OutputStream,
  budget: SpoolBudget,
  gates: readonly OutputGate[],
): Spool {
  const file = { name: `${id}.${stream}.txt`, origin: 'output', keepSeconds };
  const keep = (bytes: AsyncIterable<Uint8Array>): Promise<StoredFile> =>
    files.add(
      { user },
      file,
      gates.reduce((checked, gate) => gate.checkStream(checked), bytes),
    );
  return createSpool(keep, budget);
}

function reportLosses({ log }: ExecutionsOptions, { id }: Execution, outputs: RunOutputs): void {
  for (const { spooled } of Object.values(outputs) as RunOutput[]) {
    const error = spooled?.failure;
    if (error) log[isOurFault(error) ? 'error' : 'info']('execution.output_not_kept', { id, error });
  }
}

/** What became of an output that was too long to be shown. */
export interface SpooledOutput {
  readonly file: StoredFile | null;
  /** Why there is no file. */
  readonly failure: WorkcrateError | null;
  /** Bytes that came after the most that is kept. */
  readonly dropped: number;
}

/** Bytes that may still be kept, for both outputs of a run together. */
interface SpoolBudget {
  left: number;
}

type Spool = ReturnType<typeof createSpool>;

/**
 * Hands bytes on to whoever keeps them: a writer waits until they are taken, and then their memory is its own
 * again. Where keeping fails, the writer goes on and nothing more is kept.
 */
export function createSpool(
  keep: (bytes: AsyncIterable<Uint8Array>) => Promise<StoredFile>,
  budget: SpoolBudget,
) {
  let offered = Promise.withResolvers<Uint8Array | null>();
  let taken = Promise.withResolvers<void>();
  let over = false;
  let dropped = 0;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let next = await offered.promise; next !== null; next = await offered.promise) {
      offered = Promise.withResolvers();
      yield next;
      taken.resolve();
    }
  }

  const kept = keep(chunks())
    .then(
      (file) => ({ file, failure: null }),
      (error: unknown) => ({ file: null, failure: asWorkcrateError(error) }),
    )
    .finally(() => {
      over = true;
      taken.resolve();
    });

  return {
    async write(chunk: Uint8Array): Promise<void> {
      const most = Math.min(chunk.length, budget.left);
      budget.left -= most;
      dropped += chunk.length - most;
      if (over || most === 0) return;
      taken = Promise.withResolvers();
      offered.resolve(chunk.subarray(0, most));
      await taken.promise;
    },
    async end(): Promise<SpooledOutput> {
      offered.resolve(null);
      return { ...(await kept), dropped };
    },
  };
}

const reportIntervalMs = 250;
/** A run that is over by then tells everything in its result. */
const firstProgressMs = 100;
const maxProgressCharacters = 2000;

export type ReportProgress = (done: number, total: number | null, message?: string) => void;

/** Passes output on while it comes: a few messages a second, each with the newest of it. */
function createOutputProgress(report: ReportProgress) {
  let total = 0;
  let pending = '';
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;

  function send(): void {
    timer = null;
    last = performance.now();
    const message =
      pending.length > maxProgressCharacters ? `…${keepEnd(pending, maxProgressCharacters - 1)}` : pending;
    pending = '';
    report(total, null, message);
  }

  return {
    heard(text: string, passed = 0): void {
      total += passed + text.length;
      pending = passed > 0 ? text : pending + text;
      if (pending.length > 4 * maxProgressCharacters) pending = keepEnd(pending, maxProgressCharacters + 1);
      const waited = performance.now() - last;
      timer ??= setTimeout(send, Math.max(firstProgressMs, reportIntervalMs - waited)).unref();
    },
    [Symbol.dispose](): void {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** How much of an output is shown: all of it up to `most` characters, else its start and its end. */
export interface OutputBounds {
  readonly most: number;
  readonly head: number;
  readonly tail: number;
}

/**
 * Takes text piece by piece and holds no more of it than will be shown. Lengths are UTF-16 units, as
 * everywhere in JavaScript, but no character is cut in two.
 */
export function createTruncation({ most, head, tail }: OutputBounds) {
  let total = 0;
  /** All of it at first; the head once there is too much. */
  let start = '';
  /** At least the tail once there is too much. */
  let end = '';

  function add(text: string): void {
    const before = total;
    total += text.length;
    if (total <= most) {
      start += text;
    } else if (before <= most) {
      const whole = start + text;
      start = keepStart(whole, head);
      end = keepEnd(whole.slice(start.length), tail);
    } else {
      end += text;
      // Not at every piece: a flood of small ones would copy the tail each time.
      if (end.length > 4 * tail) end = keepEnd(end, tail);
    }
  }

  return {
    add,
    /** Counts characters that come once there is too much, and before at least a whole tail of others. */
    pass(count: number): void {
      total += count;
      if (count > 0) end = '';
    },
    total: (): number => total,
    truncated: (): boolean => total > most,
    text(): string {
      if (total <= most) return start;
      const last = keepEnd(end, tail);
      return `${start}\n[... truncated ${total - start.length - last.length} chars ...]\n${last}`;
    },
  };
}

/** A text that is at hand as a whole, cut in the same way. */
export function truncateText(text: string, bounds: OutputBounds): string {
  const truncation = createTruncation(bounds);
  truncation.add(text);
  return truncation.text();
}

/** A part of what a run printed. */
export interface OutputPart {
  readonly text: string;
  /** The offset of its first character, which is higher than what was asked for where that is not kept any more. */
  readonly from: number;
  /** The offset to go on from. */
  readonly next: number;
  /** How many characters there are by now. */
  readonly end: number;
}

type OutputStream = 'stdout' | 'stderr';

/** Text of one stream, as it came among that of the other. */
export interface OutputPiece {
  readonly stream: OutputStream;
  readonly text: string;
}

/** A part of what a run printed, told apart by streams. */
export interface OutputPieces extends Omit<OutputPart, 'text'> {
  readonly pieces: readonly OutputPiece[];
}

export type LiveOutput = ReturnType<typeof createLiveOutput>;

/** The last characters that are kept of each run. */
const mostKept = 64 * 1024;
/** Changes between the streams that are remembered; what is older counts as stdout. */
const mostChanges = 4096;

/** Takes text as it comes, and keeps the last of it. Offsets count UTF-16 units, and no character is cut in two. */
export function createLiveOutput(most = mostKept) {
  let from = 0;
  let kept = '';
  /** From which offset on the text is of another stream than before. */
  let changes: { readonly at: number; readonly stream: OutputStream }[] = [];
  let isOver = false;
  const watchers = new Set<() => void>();

  function noteStream(stream: OutputStream): void {
    if ((changes.at(-1)?.stream ?? 'stdout') === stream) return;
    changes.push({ at: from + kept.length, stream });
    if (changes.length > mostChanges) changes = changes.slice(-mostChanges / 2);
  }

  function cutToMost(): void {
    // Not at every piece: small ones would copy all of it each time.
    if (kept.length <= 2 * most) return;
    const last = keepEnd(kept, most);
    from += kept.length - last.length;
    kept = last;
    const current = changes.findLastIndex(({ at }) => at <= from);
    if (current > 0) changes = changes.slice(current);
  }

  function read(offset: number, length: number): OutputPart {
    const end = from + kept.length;
    const start = Math.min(Math.max(offset, from), end);
    const text = keepStart(kept.slice(start - from), length);
    return { text, from: start, next: start + text.length, end };
  }

  const tellWatchers = (): void => watchers.forEach((tell) => tell());

  return {
    /** `passed` characters came before this text that nobody looked at. */
    add(text: string, passed = 0, stream: OutputStream = 'stdout'): void {
      if (passed > 0) {
        from += kept.length + passed;
        kept = '';
      }
      noteStream(stream);
      kept += text;
      cutToMost();
      tellWatchers();
    },

    /** At most `length` characters from an offset on. */
    read,

    /** The same, told apart by streams. */
    readPieces(offset: number, length: number): OutputPieces {
      const { text, ...part } = read(offset, length);
      return { ...part, pieces: splitByStreams(text, part.from, changes) };
    },

    /** Nothing more comes. */
    finish(): void {
      isOver = true;
      tellWatchers();
    },

    isOver: (): boolean => isOver,

    /** Calls when there is more, or it is over. */
    watch(tell: () => void): Disposable {
      watchers.add(tell);
      return { [Symbol.dispose]: () => void watchers.delete(tell) };
    },
  };
}

function splitByStreams(
  text: string,
  from: number,
  changes: readonly { readonly at: number; readonly stream: OutputStream }[],
): OutputPiece[] {
  const pieces: OutputPiece[] = [];
  let stream: OutputStream = 'stdout';
  let start = 0;
  for (const change of [...changes, { at: from + text.length, stream: 'stdout' as const }]) {
    const end = Math.min(Math.max(change.at - from, 0), text.length);
    if (end > start) pieces.push({ stream, text: text.slice(start, end) });
    [start, stream] = [Math.max(start, end), change.stream];
  }
  return pieces;
}
