import type { BibEntry } from './bibtex-entries.ts';
import { loopIn } from './loops.ts';
import { invalid } from './reference.ts';

/** Entries that take over from each other in a circle have Pandoc eat up all memory. */
export function demandNoLoops(text: string, entries: readonly BibEntry[]): void {
  const byKey = new Map(entries.map((entry) => [entry.key?.toLowerCase() ?? '', entry]));
  const loop = loopIn(byKey.keys(), (key) =>
    parentsOf(text, byKey.get(key)!).filter((one) => byKey.has(one)),
  );
  if (loop === null) return;
  const { key, line } = byKey.get(loop)!;
  throw invalid(`the entry \`${key}\` takes over from itself by crossref or xdata.`, line);
}

const parentFields = /[,\s](?:crossref|xdata)\s{0,100}=\s{0,100}(?:\{([^{}]{0,4000})\}|"([^"]{0,4000})")/gi;

function parentsOf(text: string, { fieldsAt, end }: BibEntry): string[] {
  return [...text.slice(fieldsAt - 1, end).matchAll(parentFields)].flatMap(([, braced, quoted]) =>
    (braced ?? quoted ?? '').split(',').map((key) => key.trim().toLowerCase()),
  );
}

/** Those of the keys that are wanted, and those that they take over from. */
export function withParents(
  text: string,
  entries: readonly BibEntry[],
  wanted: ReadonlySet<string>,
): ReadonlySet<BibEntry> {
  const byKey = Map.groupBy(entries, ({ key }) => key?.toLowerCase() ?? '');
  const found = new Set<BibEntry>();
  const ahead = entries.filter(({ key }) => key !== null && wanted.has(key));
  for (let entry = ahead.pop(); entry !== undefined; entry = ahead.pop()) {
    if (found.has(entry)) continue;
    found.add(entry);
    for (const key of parentsOf(text, entry)) ahead.push(...(byKey.get(key) ?? []));
  }
  return found;
}
