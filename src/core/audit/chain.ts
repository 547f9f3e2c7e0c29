/**
 * The end of the hash chain, where lines are appended, each with the hash of the line before. It writes and syncs; when that
 * happens is decided by `open.ts`. Reading and checking are in `read.ts` and `verify.ts`.
 */
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { readChainEnding, type Torn } from './ending.ts';
import { chooseAuditFile, openRegular, openRegularSync } from './files.ts';
import {
  beginHead,
  chainStart,
  toNextLine,
  readHead,
  writeChainHead,
  type AuditEntry,
  type ChainHead,
  type ChainPosition,
} from './line.ts';

const datasync = promisify(fdatasync);

/** Read as well, since a file that was just opened is looked at. */
const chainAppendFlags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;

/** What of the log's end on disk the next line has to see to. */
interface FoundChainEnd {
  /** Lines go there or to one that comes after it. */
  readonly file: string | null;
  /** Whether the last line has no end. */
  readonly open: boolean;
  readonly torn: Torn | null;
  readonly begun: boolean;
  /** Whether the head was as it should be. */
  readonly head: string;
}

interface CurrentFile {
  readonly file: string;
  readonly fd: number;
  size: number;
}

export type AuditChain = ReturnType<typeof openChain>;

/**
 * The end of the log, where lines are added. All is done at once: it goes to memory, and settling brings it to disk.
 * It goes on from `from` where the files end before it, so that lines that are found again fit in.
 */
export function openChain(folder: string, key: string | null, from: ChainPosition = chainStart) {
  let place: ChainPosition = from;
  let current: CurrentFile | null = null;
  let found: FoundChainEnd | null = null;
  let file: string | null = null;
  let settled = 0;
  let settledFile: string | null = null;

  /** Continues from the latest line of three: the last one written here, the one in the head, or the one in the files. */
  function look(): FoundChainEnd {
    const ending = readChainEnding(folder, key);
    const head = readHead(folder, key);
    const known = typeof head === 'string' || head.seq <= place.seq ? place : head;
    if ((ending.last?.seq ?? 0) > known.seq) place = ending.last!;
    else place = known;
    return { ...ending, head: compareHead(head, ending.last) };
  }

  function opened(file: string): CurrentFile {
    if (current?.file === file) return current;
    leave();
    const fd = openRegularSync(join(folder, file), chainAppendFlags, 0o600);
    current = { file, fd, size: fstatSync(fd).size };
    return current;
  }

  /** The day's last lines go to disk before those of the next. */
  function leave(): void {
    const left = current;
    current = null;
    if (left === null) return;
    try {
      fdatasyncSync(left.fd);
    } finally {
      closeSync(left.fd);
    }
  }

  /** All of the entries, or none. */
  function append(day: string, entries: readonly AuditEntry[]): void {
    const first = found === null;
    found ??= look();
    try {
      const target = opened(chooseAuditFile(day, current?.file ?? found.file));
      const isNew = target.size === 0 || (target.file === found.file && !found.begun);
      if (found.head === 'none') beginHead(folder, target.file, key);
      const own = toOwnEntries(entries[0]!.time, isNew ? target.file : null, first ? found : null, key);
      const lines = toChainedLines(place, [...own, ...entries], key);
      const separator = target.file === found.file && found.open ? '\n' : '';
      target.size += appendToChain(target, Buffer.from(separator + lines.text));
      ({ place } = lines);
      ({ file } = target);
      found = { ...found, file, head: 'same', open: false, torn: null, begun: true };
    } catch (error) {
      // Whatever the disk holds by now is looked at again.
      found = null;
      if (current?.size === 0) unlinkSync(join(folder, current.file));
      leaveQuietly();
      throw error;
    }
  }

  function leaveQuietly(): void {
    try {
      leave();
    } catch {
      // It is closed, and its failure is reported already.
    }
  }

  return {
    append,

    /** Resolves with the head once all that was added is on disk, and it says so; with null where nothing is new. */
    async settle(): Promise<ChainHead | null> {
      if (file === null || place.seq === settled) return null;
      const head: ChainHead = { seq: place.seq, hash: place.hash, file };
      await syncFile(folder, file, current?.fd ?? null);
      await writeChainHead(folder, head, key);
      settled = head.seq;
      settledFile = head.file;
      return head;
    },

    /** Whether the file that lines go to was settled before, so that its name and the head are on disk. */
    isKnown: (): boolean => file !== null && file === settledFile,

    /** Resolves once all that was added is on disk; the head follows later. */
    async sync(): Promise<void> {
      const target = current;
      if (target === null) return;
      try {
        await datasync(target.fd);
      } catch (error) {
        // It was left meanwhile, and leaving syncs.
        if (getErrno(error) !== 'EBADF' || current === target) throw error;
      }
    },

    /** The file is opened anew for the next line, after it was moved or removed. */
    leave(): void {
      found = null;
      leaveQuietly();
    },
  };
}

/** Ends as it began where not all could be written. */
function appendToChain({ fd, size }: CurrentFile, bytes: Buffer): number {
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
  } catch (error) {
    ftruncateSync(fd, size);
    throw error;
  }
  return bytes.length;
}

/** By a handle of its own, since the other is closed when the day ends. */
async function syncFile(folder: string, file: string, fd: number | null): Promise<void> {
  const ino = fd === null ? null : fstatSync(fd).ino;
  await using handle = await openRegular(join(folder, file));
  await handle.datasync();
  if (ino !== null && (await handle.stat()).ino !== ino)
    throw new WorkcrateError('storage_failed', `The audit log's file ${file} was replaced while in use.`);
}

function compareHead(head: ChainHead | 'missing' | 'changed', last: ChainPosition | null): string {
  if (head === 'missing' && last === null) return 'none';
  if (typeof head === 'string') return head;
  const { seq, hash } = last ?? chainStart;
  if (head.seq !== seq) return head.seq > seq ? 'ahead' : 'behind';
  return head.hash === hash ? 'same' : 'changed';
}

/** Lines of the log about itself: which file this is, and what was found at the end of the log. */
function toOwnEntries(
  time: number,
  newFile: string | null,
  found: FoundChainEnd | null,
  key: string | null,
): AuditEntry[] {
  const own = (operation: string, details: Record<string, string | number | boolean>): AuditEntry => ({
    time,
    level: 'info',
    operation,
    user: 'workcrate',
    client: null,
    subject: null,
    result: 'ok',
    details,
  });
  const torn = found?.torn ?? {};
  return [
    ...(newFile === null ? [] : [own('audit.file', { file: newFile, keyed: key !== null, ...torn })]),
    ...(found === null ? [] : [own('audit.opened', { head: found.head, ...(newFile === null ? torn : {}) })]),
  ];
}

function toChainedLines(from: ChainPosition, entries: readonly AuditEntry[], key: string | null) {
  let place = from;
  let text = '';
  for (const entry of entries) {
    const line = toNextLine(place, entry, key);
    ({ place } = line);
    text += line.text;
  }
  return { place, text };
}

export interface Remark {
  readonly file: string;
  /** From 1; null for what is about the whole file. */
  readonly line: number | null;
  /** The last of several lines of which the same is true. */
  readonly to?: number;
  readonly what: string;
}

const maxRemarks = 100;

/** Adds one, unless there are enough. What is true of several lines in a row is one remark. */
export function addRemark(remarks: Remark[], remark: Remark): void {
  const at = remarks.findLastIndex(({ file, what }) => file === remark.file && what === remark.what);
  const like = remarks[at];
  if (like !== undefined && like.line !== null && (like.to ?? like.line) + 1 === remark.line)
    remarks[at] = { ...like, to: remark.line };
  else if (remarks.length < maxRemarks) remarks.push(remark);
}

export function formatRemark({ file, line, to, what }: Remark): string {
  if (line === null) return `${file}: ${what}`;
  return `${file}, ${to === undefined ? `line ${line}` : `lines ${line} to ${to}`}: ${what}`;
}
