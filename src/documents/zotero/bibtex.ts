import type { BibtexEntry } from './library.ts';
import { plainText } from './text.ts';

const mostBibtexText = 100_000;
/** What BibTeX takes in a key. */
const isKey = (id: string): boolean => /^[^\s{}(),"'#%~\\=@]{1,200}$/.test(id);

/** The entry under the key that is cited, in place of the one that Zotero made up. Null where it is none. */
export function bibtexOf(given: unknown, id: string, itemKey: string): BibtexEntry | null {
  if (typeof given !== 'string' || given.length > mostBibtexText) return null;
  const text = plainText(given, mostBibtexText).trim();
  const head = /^@([A-Za-z]{1,40})\s*\{[^,{}\s]{0,300},/.exec(text);
  if (head === null) return null;
  const cited = isKey(id) ? id : itemKey;
  return { id: cited, text: `@${head[1]}{${cited},${text.slice(head[0].length)}` };
}
