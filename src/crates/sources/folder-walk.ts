import { yieldToEventLoop } from '../../concurrency/yield.ts';
import { isWorkcrateError } from '../../errors.ts';
import { here, joined, parseName, type Components, type TreeEnd } from '../../paths/paths.ts';
import { isOwnName, sourceUnreachable, type SourceObject } from '../../storage/source.ts';
import { componentsOf, objectOf, type Folder } from './folder.ts';

/** One folder is in memory at a time on each level, in some 200 bytes for a file. */
const mostEntries = 500_000;
const mostDepth = 64;
/** How many entries are looked at before others have a turn. */
const atOnce = 256;

/** An object, or how many entries were passed over. */
export type Walked = SourceObject | number;

/** A folder that is to be entered is known by its slash. */
type Found = SourceObject | { readonly name: string };

interface Search {
  readonly folder: Folder;
  readonly prefix: string;
  /** Nothing up to here, this one included. */
  readonly after: string;
}

/**
 * Everything whose name begins with `prefix` and comes after `after`, in the order of whole names by their bytes. What
 * vanishes meanwhile is left out; a folder that may not be read is passed over, since every disk has one.
 */
export async function* walkFolder(folder: Folder, prefix: string, after: string): AsyncGenerator<Walked> {
  const search = { folder, prefix, after };
  folder.root.stat(here);
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  if (start === '') yield* below(search, here, '');
  else if (isPlain(start)) yield* below(search, componentsOf(start.slice(0, -1)), start);
}

const isPlain = (start: string): boolean =>
  start
    .slice(0, -1)
    .split('/')
    .every((part) => part !== '' && !part.startsWith('.'));

async function* below(search: Search, path: Components, parent: string): AsyncGenerator<Walked> {
  const { found, passedOver } = await foundIn(search.folder, path, parent);
  if (passedOver > 0) yield passedOver;
  for (const one of found) {
    if (!one.name.endsWith('/')) {
      if (one.name.startsWith(search.prefix) && isAfter(one.name, search.after)) yield one as SourceObject;
    } else if (mayHold(one.name, search)) {
      if (path.length === mostDepth) yield 1;
      else yield* below(search, joined(path, parseName(one.name.slice(parent.length, -1))), one.name);
    }
  }
}

const mayHold = (name: string, { prefix, after }: Search): boolean =>
  (name.startsWith(prefix) || prefix.startsWith(name)) && (after.startsWith(name) || isAfter(name, after));

/** As stores order names: by the bytes of UTF-8, which is the order of code points. */
const isAfter = (name: string, before: string): boolean => compared(name, before) > 0;

function compared(a: string, b: string): number {
  if (a === b) return 0;
  // Only half pairs stand elsewhere in the order of JavaScript.
  if (halves.test(a) || halves.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return comparedPlainly(a, b);
}

const comparedPlainly = (a: string, b: string): number => (a < b ? -1 : 1);

const halves = /[\ud800-\udfff]/;

async function foundIn(
  folder: Folder,
  path: Components,
  parent: string,
): Promise<{ found: Found[]; passedOver: number }> {
  try {
    return await look(folder, path, parent);
  } catch (error) {
    // The folder of all is demanded; any other may vanish, or be exchanged, or be closed to us.
    if (path.length === 0) throw error;
    if (isWorkcrateError(error, 'path_not_found')) {
      folder.root.stat(here);
      return { found: [], passedOver: 0 };
    }
    if (isWorkcrateError(error, 'path_refused')) return { found: [], passedOver: 1 };
    throw error;
  }
}

async function look(folder: Folder, path: Components, parent: string) {
  const found: Found[] = [];
  let passedOver = 0;
  const entries = folder.root.tree(path, { mostEntries, mostDepth: 0 });
  let [step, seen] = [entries.next(), 0];
  for (; !step.done; step = entries.next()) {
    const { path: name, stats } = step.value;
    if (name !== null && !isOwnName(name)) {
      if (stats.isFile()) found.push(objectOf(parent + name, stats));
      else if (!stats.isDirectory()) passedOver++;
      else if (!name.startsWith('.')) found.push({ name: `${parent}${name}/` });
    }
    if (++seen % atOnce === 0) await yieldToEventLoop();
  }
  refuseCut(folder, parent, step.value);
  const order = found.some(({ name }) => halves.test(name)) ? compared : comparedPlainly;
  found.sort((a, b) => order(a.name, b.name));
  return { found, passedOver: passedOver + step.value.unreadable };
}

/** What was not seen must not be taken for what is not there. */
function refuseCut({ url }: Folder, parent: string, { cut }: TreeEnd): void {
  const where = `The folder ${JSON.stringify(parent)} in it`;
  if (cut)
    throw sourceUnreachable(
      url,
      `${where} holds more than ${mostEntries} entries. Spread them over several.`,
    );
}
