/** An entry as it stands in the text of a .bib file. */
export interface BibEntry {
  readonly type: string;
  /** Null where the fields begin at once. */
  readonly key: string | null;
  readonly line: number;
  readonly closed: boolean;
  readonly start: number;
  /** Behind the comma that follows the key; the end where there is none. */
  readonly fieldsAt: number;
  readonly end: number;
}

const commands = new Set(['comment', 'preamble', 'string']);
/** From an `@` that begins something up to its key; spaces are bounded, so that no text takes long. */
const opening =
  /@[ \t]{0,20}([a-z][a-z0-9_-]{0,60})\s{0,100}\{\s{0,100}([^\s,{}()="#%]{0,1000})\s{0,100}(,?)/giy;
const nextLineOpens = /\n[ \t]{0,20}@[a-z]{2,60}[ \t]{0,20}\{/iy;

/** Finds the entries of BibTeX or BibLaTeX; what stands between them means nothing. */
export function bibEntries(text: string): BibEntry[] {
  const entries: BibEntry[] = [];
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf('@'); at !== -1;) {
    opening.lastIndex = at;
    const found = opening.exec(text);
    if (found === null) {
      at = text.indexOf('@', at + 1);
      continue;
    }
    for (; counted < at; counted += 1) if (text[counted] === '\n') line += 1;
    const [all, type, key, comma] = found as unknown as [string, string, string, string];
    const { end, closed } = endOf(text, at + all.indexOf('{') + 1);
    const hasKey = key !== '' && (comma === ',' || end === at + all.length + 1);
    if (!commands.has(type.toLowerCase()))
      entries.push({
        type,
        key: hasKey ? key : null,
        line,
        closed,
        start: at,
        fieldsAt: at + all.length,
        end,
      });
    at = text.indexOf('@', end);
  }
  return entries;
}

/** Behind the brace that closes an entry; where there is none, in front of the next line that begins an entry. */
function endOf(text: string, from: number): { end: number; closed: boolean } {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '{') depth += 1;
    else if (char === '}') depth -= 1;
    else if (char === '\n' && opensEntry(text, at)) return { end: at + 1, closed: false };
    if (depth === 0) return { end: at + 1, closed: true };
  }
  return { end: text.length, closed: false };
}

function opensEntry(text: string, newline: number): boolean {
  nextLineOpens.lastIndex = newline;
  return nextLineOpens.test(text);
}

/** The text with each entry exchanged for what is made of it. */
export function rewritten(
  text: string,
  entries: readonly BibEntry[],
  make: (own: string, entry: BibEntry) => string,
): string {
  const parts: string[] = [];
  let from = 0;
  for (const entry of entries) {
    parts.push(text.slice(from, entry.start), make(text.slice(entry.start, entry.end), entry));
    from = entry.end;
  }
  return [...parts, text.slice(from)].join('');
}
