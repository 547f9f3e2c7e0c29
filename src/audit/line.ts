import { createHmac, hash } from 'node:crypto';
import { z } from 'zod';
import { auditLevels, type AuditEvent } from './audit.ts';
import { plainJson } from './escape.ts';

/** An event with the moment at which it was told, ready to be written. */
export interface Entry extends AuditEvent {
  /** In milliseconds. */
  readonly time: number;
}

/** A line as it stands in a file. */
export interface AuditLine extends AuditEvent {
  readonly seq: number;
  readonly time: string;
  /** The hash of the line before. */
  readonly prev: string;
  readonly hash: string;
}

/** A place in the chain: that of a line which was written. */
export interface Place {
  readonly seq: number;
  readonly hash: string;
}

export const beginning: Place = { seq: 0, hash: '0'.repeat(64) };

/** Longer ones are never written, so whoever reads need not hold them. */
export const mostLineBytes = 256 * 1024;

/** Anybody can make a chain without a key; with one, only those who know it. */
export function seal(bytes: Buffer | string, key: string | null): string {
  return key === null ? hash('sha256', bytes, 'hex') : createHmac('sha256', key).update(bytes).digest('hex');
}

/**
 * The line that comes after a place. What is hashed are its bytes up to the hash, `prev` among them: there is one form
 * only, so nobody has to write a line again to check it.
 */
export function lineAfter(place: Place, entry: Entry, key: string | null): { text: string; place: Place } {
  const { time, level, operation, user, client, subject, result, details } = entry;
  const seq = place.seq + 1;
  const told = { seq, time: new Date(time).toISOString(), level, operation, user, client, subject, result };
  const body = plainJson({ ...told, ...(details && { details }), prev: place.hash }).slice(0, -1);
  const sealed = seal(body, key);
  return { text: `${body},"hash":"${sealed}"}\n`, place: { seq, hash: sealed } };
}

export interface Link extends Place {
  readonly prev: string;
}

const start = /^\{"seq":(0|[1-9]\d{0,15}),"time":"/;
const end = /,"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/;
const endBytes = ',"prev":"","hash":""}'.length + 128;
const hashBytes = ',"hash":""}'.length + 64;

/** What a line says of its place in the chain; null for what is no line of ours. */
export function linkOf(line: Buffer): Link | null {
  const [, seq] = start.exec(line.toString('latin1', 0, 40)) ?? [];
  const [, prev, sealed] = end.exec(line.toString('latin1', Math.max(0, line.length - endBytes))) ?? [];
  if (seq === undefined || prev === undefined || sealed === undefined) return null;
  return { seq: Number(seq), prev, hash: sealed };
}

/** Whether a line is what its hash was made of. */
export function isIntact(line: Buffer, { hash }: Link, key: string | null): boolean {
  return seal(line.subarray(0, line.length - hashBytes), key) === hash;
}

const text = z.string();
const sealForm = text.regex(/^[0-9a-f]{64}$/);

/** Whoever can write to the folder can write anything there; what is not of this form is no line of ours. */
const lineForm = z.strictObject({
  seq: z.int().min(0),
  time: text.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
  level: z.enum(auditLevels),
  operation: text,
  user: text,
  client: text.nullable(),
  subject: text.nullable(),
  result: text,
  details: z.record(text, z.union([text, z.number(), z.boolean(), z.null()])).optional(),
  prev: sealForm,
  hash: sealForm,
});

/** The line in full; null for what is no line of ours. */
export function parseLine(line: Buffer): AuditLine | null {
  if (linkOf(line) === null) return null;
  try {
    return (lineForm.safeParse(JSON.parse(line.toString('utf8'))).data as AuditLine | undefined) ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
