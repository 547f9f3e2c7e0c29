import { WorkcrateError } from '../../errors.ts';
import { cleaned } from './clean.ts';
import { decode } from './decode.ts';
import type { Issues } from './issues.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What memory allows for: the worst that is let through has to fit into 2 GB with the index beside it. */
export interface Limits {
  readonly bytes: number;
  /** Of any kind, with objects and lists. */
  readonly values: number;
  readonly entities: number;
  /** Of all entities together. */
  readonly properties: number;
  /** Different names of properties and types. */
  readonly names: number;
}

export const limits: Limits = {
  bytes: 256 * 1024 * 1024,
  values: 5_000_000,
  entities: 500_000,
  properties: 3_000_000,
  names: 20_000,
};

/** The JSON of a metadata file. `metadata_invalid` where there is none, `too_large` where it would not fit in memory. */
export function parseDocument(bytes: Uint8Array, issues: Issues, most: Limits = limits): unknown {
  if (bytes.length > most.bytes)
    throw tooLarge(`has ${bytes.length} bytes; at most ${most.bytes} can be read`);
  const text = decode(bytes, issues);
  // A value takes two characters at least, so that nothing is counted in crates of any common size.
  if (text.length > 2 * most.values && separators(text) > most.values) demandFewValues(text, most.values);
  return parse(text);
}

export function tooLarge(reason: string): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The metadata of the crate ${reason}. Split the crate into smaller ones.`,
  );
}

function parse(text: string): unknown {
  if (text.trim() === '') throw notJson('it is empty', null);
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw notJson(cleaned(error.message), error);
  }
}

function notJson(reason: string, cause: unknown): WorkcrateError {
  return new WorkcrateError('metadata_invalid', `The metadata of the crate is not JSON: ${reason}`, {
    cause,
  });
}

/** A comma, or what opens a list or an object. */
function isSeparator(code: number): boolean {
  return code === 0x2c || code === 0x5b || code === 0x7b;
}

/** At least as many as there are values; those within texts are counted too, which makes it quick. */
function separators(text: string): number {
  let count = 1;
  for (let at = 0; at < text.length; at++) if (isSeparator(text.charCodeAt(at))) count++;
  return count;
}

/**
 * Counts values before any of them takes memory: `{},` is three bytes here and eighty when read. Of the text and not
 * of the bytes, in which half a character of UTF-16 may look like a quote.
 */
function demandFewValues(text: string, most: number): void {
  let values = 1;
  let isWithin = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isWithin = !isWithin;
    else if (isWithin) at += code === 0x5c ? 1 : 0;
    else if (isSeparator(code)) values++;
  }
  if (values > most) throw tooLarge(`holds ${values} values; at most ${most} can be read`);
}
