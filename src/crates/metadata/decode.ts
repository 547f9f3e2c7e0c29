import type { Issues } from './issues.ts';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a metadata file, which should be UTF-8 and is taken in any case. */
export function decode(bytes: Uint8Array, issues: Issues): string {
  const wide = wideEncoding(bytes);
  if (wide !== null) {
    issues.add('not_utf8', wide);
    return new TextDecoder(wide).decode(bytes);
  }
  const text = decodeNarrow(bytes, issues);
  if (!text.startsWith('\u{feff}')) return text;
  issues.add('byte_order_mark');
  return text.slice(1);
}

/** UTF-16 is known by its mark, or by the NUL beside the first character, which JSON allows in ASCII only. */
function wideEncoding(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return null;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return 'utf-16be';
  return null;
}

function decodeNarrow(bytes: Uint8Array, issues: Issues): string {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    issues.add('not_utf8');
    return decodeDamaged(bytes);
  }
}

/** UTF-8 with some damage where other letters of it are whole; what has none was written by an old Windows. */
function decodeDamaged(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return /[^\p{ASCII}\u{fffd}]/u.test(text) ? text : new TextDecoder('windows-1252').decode(bytes);
}
