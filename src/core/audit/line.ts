/**
 * The form of a line: its fields and limits, its hash, secrets removed, and the head file that names the last line. It
 * does not decide which events become lines.
 */
import { createHmac, hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { getErrno } from '../../platform/errors.ts';
import { withoutSecrets } from '../../platform/text/secrets.ts';
import { toPlainJson } from '../../platform/text/text.ts';
import { auditLevels, type AuditEvent } from './audit.ts';
import { NotAFile, openRegularSync } from './files.ts';

/** An event with its time, ready to be written. */
export interface AuditEntry extends AuditEvent {
  /** In milliseconds. */
  readonly time: number;
  /** The fields of the event as JSON, where they were made before. */
  readonly json?: string;
}

/** A line of a file. */
export interface AuditLine extends AuditEvent {
  readonly seq: number;
  readonly time: string;
  /** The hash of the line before. */
  readonly prev: string;
  readonly hash: string;
}

/** A place in the chain: that of a line which was written. */
export interface ChainPosition {
  readonly seq: number;
  readonly hash: string;
}

export const chainStart: ChainPosition = { seq: 0, hash: '0'.repeat(64) };

/** Longer lines are never written, so readers need no more memory. */
export const maxLineBytes = 256 * 1024;

/** Anybody can make a chain without a key; with one, only those who know it. */
function seal(bytes: Buffer | string, key: string | null): string {
  return key === null ? hash('sha256', bytes, 'hex') : createHmac('sha256', key).update(bytes).digest('hex');
}

/**
 * The line that comes after a place. What is hashed are its bytes up to the hash, `prev` among them: there is one form
 * only, so nobody has to write a line again to check it.
 */
export function toNextLine(
  place: ChainPosition,
  entry: AuditEntry,
  key: string | null,
): { text: string; place: ChainPosition } {
  const seq = place.seq + 1;
  const fields = entry.json ?? toFieldsJson(entry);
  const body = `{"seq":${seq},"time":"${toLineTime(entry.time)}",${fields},"prev":"${place.hash}"`;
  const sealed = seal(body, key);
  return { text: `${body},"hash":"${sealed}"}\n`, place: { seq, hash: sealed } };
}

/** The fields that say what happened, without the braces around them. */
function toFieldsJson({ level, operation, user, client, subject, result, details }: AuditEvent): string {
  const fields = { level, operation, user, client, subject, result, ...(details && { details }) };
  return toPlainJson(fields).slice(1, -1);
}

let lastTime = { time: 0, text: new Date(0).toISOString() };

/** Lines of one turn of the event loop mostly have the same time. */
function toLineTime(time: number): string {
  if (lastTime.time !== time) lastTime = { time, text: new Date(time).toISOString() };
  return lastTime.text;
}

export interface ChainLink extends ChainPosition {
  readonly prev: string;
}

const lineStart = /^\{"seq":(0|[1-9]\d{0,15}),"time":"/;
const lineEnd = /,"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/;
const endBytes = ',"prev":"","hash":""}'.length + 128;
const hashBytes = ',"hash":""}'.length + 64;

/** What a line says of its place in the chain; null for what is no line of ours. */
export function parseChainLink(line: Buffer): ChainLink | null {
  const [, seq] = lineStart.exec(line.toString('latin1', 0, 40)) ?? [];
  const [, prev, sealed] = lineEnd.exec(line.toString('latin1', Math.max(0, line.length - endBytes))) ?? [];
  if (seq === undefined || prev === undefined || sealed === undefined) return null;
  return { seq: Number(seq), prev, hash: sealed };
}

/** Whether a line is what its hash was made of. */
export function isSealIntact(line: Buffer, { hash }: ChainLink, key: string | null): boolean {
  return seal(line.subarray(0, line.length - hashBytes), key) === hash;
}

const textSchema = z.string();
const sealSchema = textSchema.regex(/^[0-9a-f]{64}$/);

/** Anyone with access to the folder can write anything there: what does not match is not a line of ours. */
const lineSchema = z.strictObject({
  seq: z.int().min(0),
  time: textSchema.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
  level: z.enum(auditLevels),
  operation: textSchema,
  user: textSchema,
  client: textSchema.nullable(),
  subject: textSchema.nullable(),
  result: textSchema,
  details: z.record(textSchema, z.union([textSchema, z.number(), z.boolean(), z.null()])).optional(),
  prev: sealSchema,
  hash: sealSchema,
});

/** The line in full; null for what is no line of ours. */
export function parseAuditLine(line: Buffer): AuditLine | null {
  if (parseChainLink(line) === null) return null;
  try {
    return (lineSchema.safeParse(JSON.parse(line.toString('utf8'))).data as AuditLine | undefined) ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The last line that is known to be on disk, so that it shows when the end of the log is cut off. */
export interface ChainHead extends ChainPosition {
  readonly file: string;
}

export const headFile = 'audit-head.json';

const headForm =
  /^\{"seq":(\d{1,16}),"hash":"([0-9a-f]{64})","file":"(audit-[\d-]{10}(?:\.\d{1,6})?\.jsonl)","seal":"[0-9a-f]{64}"\}\n$/;

function toHeadText({ seq, hash, file }: ChainHead, key: string | null): string {
  const body = JSON.stringify({ seq, hash, file });
  return `${body.slice(0, -1)},"seal":"${seal(body, key)}"}\n`;
}

/** The head; `missing` without a file, `changed` if it was not written with this key. */
export function readHead(folder: string, key: string | null): ChainHead | 'missing' | 'changed' {
  try {
    const text = readShort(join(folder, headFile));
    const [, seq, hash, file] = headForm.exec(text) ?? [];
    if (seq === undefined || hash === undefined || file === undefined) return 'changed';
    const head = { seq: Number(seq), hash, file };
    return toHeadText(head, key) === text ? head : 'changed';
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return 'missing';
    if (error instanceof NotAFile) return 'changed';
    throw error;
  }
}

/** Nothing of what is far longer than a head. */
function readShort(path: string): string {
  const fd = openRegularSync(path, constants.O_RDONLY);
  try {
    return fstatSync(fd).size > 1024 ? '' : readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** Nothing that exists already is opened: a pipe would wait for a reader. */
const createNewFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** Before the first line of all: a log that has lines and no head has lost it. */
export function beginHead(folder: string, file: string, key: string | null): void {
  const temporary = join(folder, `${headFile}.new`);
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, createNewFlags, 0o600);
  try {
    writeFileSync(fd, toHeadText({ ...chainStart, file }, key));
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, join(folder, headFile));
}

/** Whole or not at all, and on disk when it resolves. */
export async function writeChainHead(folder: string, head: ChainHead, key: string | null): Promise<void> {
  const temporary = join(folder, `${headFile}.new`);
  await rm(temporary, { force: true });
  {
    await using file = await open(temporary, createNewFlags, 0o600);
    await file.writeFile(toHeadText(head, key));
    await file.datasync();
  }
  await rename(temporary, join(folder, headFile));
  await using entries = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await entries.sync();
}

/** In bytes of JSON, where a character may take six. */
const maxSubjectBytes = 4096;
const maxAuditNameBytes = 200;
const maxDetails = 20;
const maxDetailBytes = 1000;

/** The event without secrets, and cut to what fits into a line. For a subject that was cut, its length is kept. */
export function toBoundedEntry(event: AuditEvent, time: number): AuditEntry {
  const { level, subject, client } = event;
  const clean = subject === null ? null : withoutSecrets(subject);
  const shown = clean === null ? null : cutToBytesOfJson(clean, maxSubjectBytes);
  const details = {
    ...boundDetails(event.details ?? {}),
    ...(subject !== null && shown !== clean && { subject_bytes: Buffer.byteLength(subject) }),
  };
  return {
    time,
    level,
    // Names that begin with audit. are for lines of the log about itself, which `verify.ts` trusts.
    operation: cutSecretFree(event.operation.replace(/^audit\./, 'audit:'), maxAuditNameBytes),
    user: cutSecretFree(event.user, maxAuditNameBytes),
    client: client === null ? null : cutSecretFree(client, maxAuditNameBytes),
    subject: shown,
    result: cutSecretFree(event.result, maxAuditNameBytes),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

const repeated = new WeakMap<AuditEvent, AuditEntry>();

/**
 * The same for an event that is noted again and again as one object, such as downloads by one link. To clean, bound and
 * format it was most of what its line cost.
 */
export function toRepeatedEntry(event: AuditEvent, time: number): AuditEntry {
  let known = repeated.get(event);
  if (known === undefined) {
    const bounded = toBoundedEntry(event, time);
    known = { ...bounded, json: toFieldsJson(bounded) };
    repeated.set(event, known);
  }
  return { ...known, time };
}

function boundDetails(details: NonNullable<AuditEvent['details']>): NonNullable<AuditEvent['details']> {
  const some = Object.entries(details).slice(0, maxDetails);
  return Object.fromEntries(
    some.map(([name, value]) => [
      cutSecretFree(name, maxAuditNameBytes),
      typeof value === 'string' ? cutSecretFree(value, maxDetailBytes) : value,
    ]),
  );
}

const cutSecretFree = (text: string, most: number): string => cutToBytesOfJson(withoutSecrets(text), most);

const countEscapedBytes = (text: string): number => Buffer.byteLength(toPlainJson(text)) - 2;

/** Whole characters only, and as few as can be looked at: it may be a megabyte. */
function cutToBytesOfJson(text: string, most: number): string {
  if (text.length * 6 <= most || (text.length <= most && countEscapedBytes(text) <= most)) return text;
  const room = most - Buffer.byteLength('…');
  let [fits, fitsNot] = [0, Math.min(text.length, room) + 1];
  while (fitsNot - fits > 1) {
    const middle = (fits + fitsNot) >> 1;
    if (countEscapedBytes(text.slice(0, middle)) <= room) fits = middle;
    else fitsNot = middle;
  }
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(fits - 1)) && /[\udc00-\udfff]/.test(text.charAt(fits));
  return `${text.slice(0, isSplit ? fits - 1 : fits)}…`;
}
