import { WorkcrateError } from '../../errors.ts';
import { cleaned } from './clean.ts';
import { decode } from './decode.ts';
import type { Issues } from './issues.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What memory allows for: a value takes about a hundred bytes once it is read. */
export interface Limits {
  readonly bytes: number;
  readonly values: number;
  readonly entities: number;
}

export const limits: Limits = { bytes: 256 * 1024 * 1024, values: 12_000_000, entities: 2_000_000 };

/** The JSON of a metadata file. `metadata_invalid` where there is none, `too_large` where it would not fit in memory. */
export function parseDocument(bytes: Uint8Array, issues: Issues, most: Limits = limits): unknown {
  if (bytes.length > most.bytes)
    throw tooLarge(`has ${bytes.length} bytes; at most ${most.bytes} can be read`);
  // A value takes two bytes at least, so that nothing is counted in crates of any common size.
  if (bytes.length > 2 * most.values && separators(bytes) > most.values) demandFewValues(bytes, most.values);
  return parse(decode(bytes, issues));
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

const isSeparator = new Uint8Array(256);
for (const separator of ',[{') isSeparator[separator.charCodeAt(0)] = 1;

/** At least as many as there are values; those within texts are counted too, which makes it quick. */
function separators(bytes: Uint8Array): number {
  let count = 1;
  for (let at = 0; at < bytes.length; at++) count += isSeparator[bytes[at]!]!;
  return count;
}

/** Counts values before any of them takes memory: `{},` is three bytes here and eighty when read. */
function demandFewValues(bytes: Uint8Array, most: number): void {
  let values = 1;
  let isWithin = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === 0x22) isWithin = !isWithin;
    else if (isWithin) at += byte === 0x5c ? 1 : 0;
    else values += isSeparator[byte]!;
  }
  if (values > most) throw tooLarge(`holds ${values} values; at most ${most} can be read`);
}
