import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { tornOf, type Torn } from './ending.ts';
import { auditFiles } from './file-names.ts';
import { forwards } from './forwards.ts';
import { headFile, readHead, type Head } from './head.ts';
import { beginning, isIntact, linkOf, parseLine, type AuditLine, type Link, type Place } from './line.ts';

export interface Remark {
  readonly file: string;
  /** From 1; null for what is about the whole file. */
  readonly line: number | null;
  readonly what: string;
}

export interface Verified {
  /** Whether nothing was changed, removed, added or moved. */
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

const mostRemarks = 100;

/** How far the reading has come. */
interface Reading {
  readonly key: string | null;
  readonly head: Head | null;
  place: Place | null;
  /** What was no line, until the next line tells whether it was left by a crash. */
  torn: (Torn & { readonly open: boolean; readonly remark: Remark }) | null;
  lines: number;
  first: Verified['first'];
  last: Buffer | null;
  headSeen: boolean;
  /** A file without lines before the first that has some. */
  emptied: Remark | null;
  readonly problems: Remark[];
  readonly notes: Remark[];
}

/** Reads the whole log and checks its chain. Works beside a running server. */
export async function verifyAudit(folder: string, key: string | null): Promise<Verified> {
  // Before the files: lines may be added meanwhile, and none is taken away.
  const head = readHead(folder, key);
  const files = await auditFiles(folder);
  const reading = begun(key, typeof head === 'string' ? null : head);
  for (const file of files) await readFile(reading, folder, file);
  endReading(reading, head, files.at(-1) ?? null);
  const { lines, first, problems, notes } = reading;
  const last = reading.last === null ? null : seqAndTime(reading.last);
  return { ok: problems.length === 0, files: files.length, lines, first, last, problems, notes };
}

const begun = (key: string | null, head: Head | null): Reading => ({
  key,
  head,
  place: null,
  torn: null,
  lines: 0,
  first: null,
  last: null,
  emptied: null,
  headSeen: head === null || head.seq === 0,
  problems: [],
  notes: [],
});

async function readFile(reading: Reading, folder: string, file: string): Promise<void> {
  let number = 0;
  let isFirst = true;
  try {
    for await (const { lines, open } of forwards(join(folder, file)))
      for (const line of lines) {
        const remark = (what: string): Remark => ({ file, line: number, what });
        number++;
        if (readLine(reading, line, { file, open, isFirst, remark })) isFirst = false;
      }
  } catch (error) {
    // Its time had come while the others were read; a hole shows in the next.
    if (errnoOf(error) !== 'ENOENT') throw error;
    return;
  }
  // Later on the chain tells; the oldest file expires as a whole.
  if (isFirst && reading.place === null)
    reading.emptied ??= { file, line: null, what: 'its lines were removed' };
}

interface Where {
  readonly file: string;
  readonly open: boolean;
  /** Whether no line of this file was read before. */
  readonly isFirst: boolean;
  remark(what: string): Remark;
}

/** Whether it is a line at all. */
function readLine(reading: Reading, line: Buffer, where: Where): boolean {
  const link = linkOf(line);
  if (link === null || (where.open && !isIntact(line, link, reading.key))) {
    giveUpTorn(reading);
    reading.torn = { ...tornOf(line), open: where.open, remark: where.remark('this is no line of the log') };
    return false;
  }
  if (where.open) told(reading.notes, where.remark('the last line has no end'));
  reading.lines++;
  reading.first ??= seqAndTime(line);
  checkPlace(reading, line, link, where);
  checkOwn(reading, line, where);
  checkHead(reading, link, where);
  reading.place = link;
  reading.last = line;
  return true;
}

/** What was no line, and no line tells of, is none that a crash has left. */
function giveUpTorn(reading: Reading): void {
  if (reading.torn !== null) told(reading.problems, reading.torn.remark);
  reading.torn = null;
}

function checkPlace(
  { key, place, emptied, problems, notes }: Reading,
  line: Buffer,
  link: Link,
  where: Where,
): void {
  const before = place ?? (link.seq === 1 ? beginning : null);
  if (before === null && emptied !== null) told(problems, emptied);
  if (before === null)
    told(notes, where.remark(`the log begins at seq ${link.seq}: what was before has expired`));
  else if (link.seq !== before.seq + 1)
    told(problems, where.remark(`seq ${link.seq} follows ${before.seq}: lines were removed, added or moved`));
  else if (link.prev !== before.hash)
    told(problems, where.remark('it does not go on from the line before: one of the two was changed'));
  if (!isIntact(line, link, key)) told(problems, where.remark(changed(key)));
}

const changed = (key: string | null): string =>
  `its hash is not that of its content: it was changed, or written with ${key === null ? 'a key' : 'another key or none'}`;

const opened = '"operation":"audit.opened"';

/** How a server that goes on with a log must not find it. Only what is on disk is named by the head. */
const badStates: Readonly<Record<string, string>> = {
  missing: `${headFile} was missing`,
  changed: `${headFile} did not fit the log`,
  ahead: `the log had ended before the line that ${headFile} names`,
};

/** Lines that the log tells of itself. */
function checkOwn(reading: Reading, line: Buffer, where: Where): void {
  const { problems, notes, torn } = reading;
  if (!where.isFirst && torn === null && !line.includes(opened)) return;
  const { operation, details = {} } = parseLine(line) ?? {};
  if (where.isFirst && (operation !== 'audit.file' || details['file'] !== where.file))
    told(problems, where.remark('the file does not begin with the line that names it'));
  const isOwn = operation === 'audit.file' || operation === 'audit.opened';
  if (isOwn && torn?.torn_bytes === details['torn_bytes'] && torn?.torn_sha256 === details['torn_sha256']) {
    if (torn !== null)
      told(notes, { ...torn.remark, what: 'a line that was not written to its end: the server crashed' });
    reading.torn = null;
  }
  giveUpTorn(reading);
  const state = operation === 'audit.opened' ? String(details['head']) : 'same';
  if (Object.hasOwn(badStates, state))
    told(problems, where.remark(`${badStates[state]} when this was written`));
}

function checkHead(reading: Reading, { seq, hash }: Link, where: Where): void {
  const { head, problems } = reading;
  if (head === null || seq !== head.seq) return;
  reading.headSeen = true;
  if (hash !== head.hash || where.open || where.file !== head.file)
    told(problems, where.remark(`it is not the line that ${headFile} names`));
}

function endReading(reading: Reading, head: Head | string, lastFile: string | null): void {
  const { torn, problems, notes, place } = reading;
  // At the very end nothing can tell of it yet.
  if (torn?.open) told(notes, { ...torn.remark, what: 'the last line was not written to its end' });
  else giveUpTorn(reading);
  const about = (what: string): Remark => ({ file: headFile, line: null, what });
  if (head === 'changed') told(problems, about('it was changed, or written with another key'));
  if (head === 'missing' && lastFile !== null) told(problems, about('it is missing'));
  if (typeof head === 'string' || reading.headSeen) return;
  const end = place === null ? 'there is no line' : `the log ends at ${place.seq}`;
  told(problems, about(`it names seq ${head.seq}, but ${end}: lines were cut off or removed`));
}

function told(remarks: Remark[], remark: Remark): void {
  if (remarks.length < mostRemarks) remarks.push(remark);
}

function seqAndTime(line: Buffer): Verified['first'] {
  const parsed = parseLine(line);
  return parsed === null ? null : { seq: parsed.seq, time: parsed.time };
}
