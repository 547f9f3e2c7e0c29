/**
 * Verifies the hash chain of the whole log: hashes, order, the head, and what the database remembers. It reads beside a running server and
 * changes nothing. What is found are remarks: problems (tampering) and notes (a crash, an expired beginning).
 */
import { join } from 'node:path';
import { getErrno } from '../../platform/errors.ts';
import { addRemark, type Remark } from './chain.ts';
import type { Torn } from './ending.ts';
import { listAuditFiles, matchesTorn, NotAFile, addStrayPiece, type Stray } from './files.ts';
import {
  chainStart,
  headFile,
  isSealIntact,
  parseChainLink,
  parseAuditLine,
  readHead,
  type AuditLine,
  type ChainHead,
  type ChainLink,
  type ChainPosition,
} from './line.ts';
import { readForwards, describeMissingLines, type RememberedHead } from './read.ts';

export interface VerifyResult {
  /** Whether there is a log, and nothing in it was changed, removed, added or moved. */
  readonly ok: boolean;
  readonly files: number;
  readonly lines: number;
  readonly first: Pick<AuditLine, 'seq' | 'time'> | null;
  readonly last: Pick<AuditLine, 'seq' | 'time'> | null;
  /** What looks like tampering; the first hundred. */
  readonly problems: readonly Remark[];
  /** What is worth knowing and no tampering: a beginning that has expired, a crash. */
  readonly notes: readonly Remark[];
}

/** How far the reading has come. */
interface VerifyState {
  readonly key: string | null;
  readonly head: ChainHead | null;
  /** The line that the database remembers, if it was asked and knows one. */
  readonly remembered: RememberedHead | null;
  /** What there is instead of that line; null where it was found. */
  rememberedAs: 'unseen' | 'other' | null;
  place: ChainPosition | null;
  /** Bytes that are not a line, until the next line says whether a crash left them. */
  stray: Stray | null;
  lines: number;
  /** Lines whose hash is not that of their content. */
  unsealed: number;
  first: VerifyResult['first'];
  last: Buffer | null;
  headSeen: boolean;
  /** A file without lines before the first that has some. */
  emptied: Remark | null;
  problems: Remark[];
  readonly notes: Remark[];
}

/** A server that removes files all the time is none. */
const maxVerifyLooks = 5;

/**
 * Reads the whole log and checks its chain. Works beside a running server. What the database remembers has to be read
 * before: the log may go on meanwhile.
 */
export async function verifyAudit(
  folder: string,
  key: string | null,
  remembered: RememberedHead | null = null,
): Promise<VerifyResult> {
  for (let looks = 1; ; looks++) {
    const before = await listAuditFiles(folder);
    const result = await verifyOnce(folder, key, remembered);
    if (result.ok || looks === maxVerifyLooks) return result;
    const after = new Set(await listAuditFiles(folder));
    // What expires while it is read looks like a hole. One that is there stays there.
    if (before.every((file) => after.has(file))) return result;
  }
}

async function verifyOnce(
  folder: string,
  key: string | null,
  remembered: RememberedHead | null,
): Promise<VerifyResult> {
  // Before the files: lines may be added meanwhile, and none is taken away.
  const head = readHead(folder, key);
  const files = await listAuditFiles(folder);
  const reading = createVerifyState(key, typeof head === 'string' ? null : head, remembered);
  for (const file of files) await verifyFile(reading, folder, file);
  verifyEnd(reading, head, files.length);
  const { lines, first, problems, notes } = reading;
  const last = reading.last === null ? null : toSeqAndTime(reading.last);
  return { ok: problems.length === 0, files: files.length, lines, first, last, problems, notes };
}

const createVerifyState = (
  key: string | null,
  head: ChainHead | null,
  remembered: RememberedHead | null,
): VerifyState => ({
  key,
  head,
  remembered,
  rememberedAs: remembered === null ? null : 'unseen',
  place: null,
  stray: null,
  lines: 0,
  unsealed: 0,
  first: null,
  last: null,
  emptied: null,
  headSeen: head === null || head.seq === 0,
  problems: [],
  notes: [],
});

async function verifyFile(reading: VerifyState, folder: string, file: string): Promise<void> {
  try {
    if ((await verifyLines(reading, join(folder, file), file)) || reading.place !== null) return;
  } catch (error) {
    if (error instanceof NotAFile)
      return addRemark(reading.problems, {
        file,
        line: null,
        what: 'it is a link, a folder or a pipe, not a file',
      });
    // Its time had come while the others were read. A hole shows in the next, and is looked at again.
    if (getErrno(error) === 'ENOENT') return;
    throw error;
  }
  // In later files the chain shows it; the oldest file expires as a whole.
  reading.emptied ??= { file, line: null, what: 'its lines were removed' };
}

/** Whether there was one. */
async function verifyLines(reading: VerifyState, path: string, file: string): Promise<boolean> {
  let number = 0;
  let isFirst = true;
  for await (const { lines, starts, end, open } of readForwards(path))
    for (const [at, line] of lines.entries()) {
      const own = ++number;
      const remark = (what: string): Remark => ({ file, line: own, what });
      const where: LineLocation = { file, path, start: starts[at]!, end, open, isFirst, remark };
      const link = parseChainLink(line);
      if (link === null || (open && !isSealIntact(line, link, reading.key))) addStray(reading, where);
      else {
        verifyLine(reading, line, link, where);
        const mayTell = isFirst || reading.stray !== null || line.includes(ownOperationMark);
        if (mayTell) await verifyOwnLine(reading, line, link, where);
        reading.place = link;
        isFirst = false;
      }
    }
  return !isFirst;
}

interface LineLocation {
  readonly file: string;
  readonly path: string;
  /** Where the line begins. */
  readonly start: number;
  /** How far the file was read. */
  readonly end: number;
  readonly open: boolean;
  /** Whether no line of this file was read before. */
  readonly isFirst: boolean;
  remark(what: string): Remark;
}

function addStray(reading: VerifyState, { path, start, end, open, remark }: LineLocation): void {
  const piece = { path, from: start, to: end };
  reading.stray = addStrayPiece(reading.stray, piece, open, remark('this is not a line of the log'));
}

function verifyLine(reading: VerifyState, line: Buffer, link: ChainLink, where: LineLocation): void {
  if (where.open) addRemark(reading.notes, where.remark('the last line has no end'));
  reading.lines++;
  reading.first ??= toSeqAndTime(line);
  checkPlace(reading, link, where);
  if (!isSealIntact(line, link, reading.key)) {
    reading.unsealed++;
    addRemark(reading.problems, where.remark(describeChangedLine(reading.key)));
  }
  checkHead(reading, link, where);
  if (link.seq === reading.remembered?.seq)
    reading.rememberedAs = link.hash === reading.remembered.hash ? null : 'other';
  reading.last = line;
}

function checkPlace(
  { place, emptied, problems, notes }: VerifyState,
  link: ChainLink,
  where: LineLocation,
): void {
  const before = place ?? (link.seq === 1 ? chainStart : null);
  if (before === null && emptied !== null) addRemark(problems, emptied);
  if (before === null)
    addRemark(
      notes,
      where.remark(`the log begins at seq ${link.seq}: earlier lines have expired or were removed`),
    );
  else if (link.seq !== before.seq + 1)
    addRemark(
      problems,
      where.remark(`seq ${link.seq} follows ${before.seq}: lines were removed, added or moved`),
    );
  else if (link.prev !== before.hash)
    addRemark(problems, where.remark('it does not continue the line before: one of the two was changed'));
}

const describeChangedLine = (key: string | null): string =>
  `its hash does not match its content: it was changed, or written with ${key === null ? 'a key' : 'another key or none'}`;

const ownOperationMark = '"operation":"audit.';

/** How a server that goes on with a log must not find it. Only what is on disk is named by the head. */
const badStates: Readonly<Record<string, string>> = {
  none: `all files and ${headFile} were missing`,
  missing: `${headFile} was missing`,
  changed: `${headFile} did not match the log`,
  ahead: `the log ended before the line that ${headFile} names`,
};

/** Checks a line of the log about itself. */
async function verifyOwnLine(
  reading: VerifyState,
  line: Buffer,
  link: ChainLink,
  where: LineLocation,
): Promise<void> {
  const { problems } = reading;
  const { operation, details = {} } = parseAuditLine(line) ?? {};
  if (where.isFirst && (operation !== 'audit.file' || details['file'] !== where.file))
    addRemark(problems, where.remark('the file does not begin with the line that names it'));
  if (!where.isFirst && operation === 'audit.file')
    addRemark(problems, where.remark('a file begins here within another: lines were moved'));
  const isOwn = operation === 'audit.file' || operation === 'audit.opened';
  await checkStray(reading, isOwn ? readTorn(details) : null, where);
  const state = operation === 'audit.opened' ? String(details['head']) : 'same';
  // The first line of all names the file, and the second finds nothing.
  if (Object.hasOwn(badStates, state) && !(state === 'none' && link.seq === 2))
    addRemark(problems, where.remark(`${badStates[state]} when this was written`));
  if (operation === 'audit.lines_missing') addRemark(problems, where.remark(describeMissedLines(details)));
}

/** What the server found when it was started. */
function describeMissedLines(details: NonNullable<AuditLine['details']>): string {
  const { remembered_seq, remembered_at, log_ended_at, replaced } = details;
  const found = replaced === true ? 'the log had another line there' : `the log ended at ${log_ended_at}`;
  return `the database had recorded line ${remembered_seq} on ${remembered_at} when this was written, but ${found}`;
}

function readTorn({ torn_bytes, torn_sha256 }: NonNullable<AuditLine['details']>): Torn | null {
  if (typeof torn_bytes !== 'number' || typeof torn_sha256 !== 'string') return null;
  return { torn_bytes, torn_sha256 };
}

/** Bytes that are not a line, and that no line recorded, were not left by a crash. */
async function checkStray(reading: VerifyState, torn: Torn | null, where: LineLocation): Promise<void> {
  const { stray, place, problems, notes } = reading;
  reading.stray = null;
  if (stray === null) {
    // The bytes that it recorded may have expired with their file.
    if (torn !== null && place !== null)
      addRemark(problems, where.remark('an incomplete line from a crash was removed before this line'));
  } else if (torn !== null && (await matchesTorn(stray, torn, where.path, where.start)))
    addRemark(notes, { ...stray.remark, what: 'an incomplete line: the server crashed' });
  else addRemark(problems, stray.remark);
}

function checkHead(reading: VerifyState, { seq, hash }: ChainLink, where: LineLocation): void {
  const { head, problems } = reading;
  if (head === null || seq !== head.seq) return;
  reading.headSeen = true;
  if (hash !== head.hash || where.open || where.file !== head.file)
    addRemark(problems, where.remark(`it is not the line that ${headFile} names`));
}

function verifyEnd(reading: VerifyState, head: ChainHead | string, files: number): void {
  const { stray, problems, notes, place } = reading;
  // At the very end no line can have recorded it yet.
  if (stray?.open) addRemark(notes, { ...stray.remark, what: 'the last line is incomplete' });
  else if (stray !== null) addRemark(problems, stray.remark);
  const about = (what: string): Remark => ({ file: headFile, line: null, what });
  if (head === 'changed') addRemark(problems, about('it was changed, or written with another key'));
  if (head === 'missing') addRemark(problems, about(files === 0 ? 'there is no log' : 'it is missing'));
  if (reading.lines > 0 && reading.unsealed === reading.lines) foldUnsealed(reading);
  checkRemembered(reading);
  if (typeof head === 'string' || reading.headSeen) return;
  const end = place === null ? 'there is no line' : `the log ends at ${place.seq}`;
  addRemark(reading.problems, about(`it names seq ${head.seq}, but ${end}: lines were removed from the end`));
}

/** The database's own word: a log that was lost or replaced as a whole fits itself. */
function checkRemembered({ remembered, rememberedAs, first, place, problems, notes }: VerifyState): void {
  if (remembered === null || rememberedAs === null) return;
  const file = 'the database';
  const endsAt = place?.seq ?? 0;
  if (rememberedAs === 'unseen' && first !== null && first.seq > remembered.seq)
    addRemark(notes, {
      file,
      line: null,
      what: `it recorded line ${remembered.seq}, which has expired here`,
    });
  else
    addRemark(problems, {
      file,
      line: null,
      what: describeMissingLines({ remembered, endsAt, isOther: rememberedAs === 'other' }),
    });
}

/** Where no line fits the key, it is the key that is wrong. */
function foldUnsealed(reading: VerifyState): void {
  const { key } = reading;
  const what =
    key === null
      ? 'no line matches: all were written with a key; give it with --audit-key'
      : 'no line matches this key: all were written with another key, or with none';
  const others = reading.problems.filter((problem) => problem.what !== describeChangedLine(key));
  reading.problems = [{ file: 'the log', line: null, what }, ...others];
}

function toSeqAndTime(line: Buffer): VerifyResult['first'] {
  const parsed = parseAuditLine(line);
  return parsed === null ? null : { seq: parsed.seq, time: parsed.time };
}
