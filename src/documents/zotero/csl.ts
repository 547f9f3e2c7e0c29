import type { CslItem, CslValue } from './library.ts';
import { plainText } from './text.ts';

const mostText = 20_000;
const mostFields = 200;
const mostValues = 2000;
const mostDepth = 6;

/** CSL JSON as the API gave it, freed of what CSL does not know and under our own id. Null where it is none. */
export function cslOf(given: unknown, id: string): CslItem | null {
  const one = single(given);
  if (!isObject(one) || typeof one['type'] !== 'string' || !/^[a-z][a-z_-]{0,40}$/.test(one['type']))
    return null;
  const { note, ...others } = fields(one, 1);
  const kept = typeof note === 'string' ? noteOf(note) : '';
  return { ...others, ...(kept === '' ? {} : { note: kept }), id, type: one['type'] };
}

/** Some styles print notes; the line that names the citation key is not meant for print. */
function noteOf(note: string): string {
  const lines = note.split('\n').filter((line) => !/^\s*citation[ -]key:/i.test(line));
  return lines.join('\n').trim();
}

/** The web API gives an object, Zotero on this machine the text of a list, and both have other ways elsewhere. */
function single(given: unknown): unknown {
  const value = typeof given === 'string' ? parsed(given) : given;
  const list = isObject(value) && Array.isArray(value['items']) ? (value['items'] as unknown[]) : value;
  return Array.isArray(list) ? (list[0] as unknown) : list;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Names that begin with a letter: `__proto__` is none of them. */
const isName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9-]{0,60}$/.test(name);

function fields(object: Readonly<Record<string, unknown>>, depth: number): Record<string, CslValue> {
  const named = Object.entries(object).filter(([name]) => isName(name));
  return Object.fromEntries(
    named.slice(0, mostFields).flatMap(([name, value]) => {
      const kept = cleaned(value, depth + 1);
      return kept === null ? [] : [[name, kept]];
    }),
  );
}

function cleaned(value: unknown, depth: number): CslValue | null {
  if (typeof value === 'string') return plainText(value, mostText);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (depth > mostDepth) return null;
  if (Array.isArray(value))
    return value.slice(0, mostValues).flatMap((one: unknown) => {
      const kept = cleaned(one, depth + 1);
      // Wrapped, since a list within a list, as dates have it, is to stay one.
      return kept === null ? [] : [kept];
    });
  return isObject(value) ? fields(value, depth) : null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
