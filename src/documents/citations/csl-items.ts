import { isWorkcrateError } from '../../errors.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { demandFew, invalid, lineAt, type CslItem } from './reference.ts';

/** Reads CSL JSON: a list of works, an object with such a list, or one work. */
export function readCslJson(text: string): CslItem[] {
  const list = listIn(parseJson(text));
  demandFew(list.length);
  return list.map((value, at) => itemOf(value, at, () => lineOfItem(text, at)));
}

/** What Pandoc takes for CSL, as it understands it; it refuses names and dates of a wrong shape. */
export async function convertCsl(
  pandoc: Pandoc,
  items: readonly CslItem[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const input = JSON.stringify(items);
  try {
    return (await pandoc.convert({ options: { from: 'csljson', to: 'csljson' }, input }, signal)).output;
  } catch (error) {
    if (!isWorkcrateError(error, 'document_invalid')) throw error;
    const item = items[Number(/\$\[(\d+)\]/.exec(error.message)?.[1] ?? NaN)];
    const which = item === undefined ? 'an entry' : `the entry \`${item.id.slice(0, 100)}\``;
    throw invalid(
      `a name, a date or a field of ${which} has not the shape that CSL wants, as in "issued": {"date-parts": [[2020, 3]]}. Pandoc says: ${error.message.slice(0, 300)}`,
      null,
      error,
    );
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = error as SyntaxError;
    const [, place] = /at position (\d+)/.exec(message) ?? [];
    const at = place === undefined ? text.trimEnd().length : Number(place);
    const column = at - text.lastIndexOf('\n', at - 1);
    const what = message.replace(/(?:,? \.{0,3}".*"\.{0,3} is not valid JSON| in JSON at position.*)$/s, '');
    throw invalid(`this is no JSON at column ${column}. ${what}.`, lineAt(text, at), error);
  }
}

function listIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  const { references, items, id } = isObject(value) ? value : {};
  if (Array.isArray(references)) return references;
  if (Array.isArray(items)) return items;
  if (id !== undefined) return [value];
  throw invalid('it has to be a list of entries, each with an `id` and a `type`.', 1);
}

/** Far deeper than anything that CSL has. */
const mostDepth = 12;

function itemOf(value: unknown, at: number, line: () => number | null): CslItem {
  const which = `entry ${at + 1}`;
  if (!isObject(value)) throw invalid(`${which} is no object with an \`id\` and a \`type\`.`, line());
  const { id, type } = value;
  if ((typeof id !== 'string' && typeof id !== 'number') || String(id).trim() === '')
    throw invalid(`${which} has no \`id\`. It is the key by which the entry is cited.`, line());
  if (typeof type !== 'string')
    throw invalid(
      `${which} (\`${String(id).slice(0, 100)}\`) has no \`type\`, such as "article-journal" or "book".`,
      line(),
    );
  if (isDeeper(value, mostDepth)) throw invalid(`${which} is nested too deeply for CSL.`, line());
  const known = Object.entries(value).filter(([, field]) => field !== null);
  return { ...Object.fromEntries(known), id: String(id) };
}

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return most === 0 || Object.values(value).some((inner) => isDeeper(inner, most - 1));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The line in which an entry of a list begins; null where the list is not all that there is. */
function lineOfItem(text: string, wanted: number): number | null {
  const start = text.search(/\S/);
  if (text[start] !== '[') return null;
  let [depth, item] = [0, 0];
  for (const { 0: sign, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s"[\]{},]+/g)) {
    if (index === start) continue;
    if (item === wanted && depth === 0 && sign !== ',') return lineAt(text, index);
    if (sign === '[' || sign === '{') depth += 1;
    else if (sign === ']' || sign === '}') depth -= 1;
    else if (sign === ',' && depth === 0) item += 1;
  }
  return null;
}
