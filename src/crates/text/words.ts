import { stemmer } from 'stemmer';
import { BoundedMap } from '../../concurrency/bounded-map.ts';

/** The longest word that is told apart from others: what is longer is no word. */
const mostLetters = 64;

const word = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts that are written without spaces: pairs of letters stand for words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const plainLetters = /^\p{ASCII}*$/u;

/** Text as it is compared: one form for what looks alike, no case, no accents. */
export function folded(text: string): string {
  if (plainLetters.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase();
}

/** A word where it stands in the text that it was found in. */
export interface FoundWord {
  /** The form that is looked up. */
  readonly stem: string;
  /** As it was written, but for case and accents. */
  readonly form: string;
  readonly start: number;
  readonly end: number;
}

/** The words of a text, in order, each in the form in which it is looked up. */
export function* wordsOf(text: string): Generator<FoundWord> {
  for (const match of text.matchAll(word)) {
    const [whole] = match;
    const known = lookUp(whole);
    if (known === null) yield* pairsOf(whole, match.index);
    else if (known.stem !== '') {
      const { stem, form } = known;
      yield { stem, form, start: match.index, end: match.index + whole.length };
    }
  }
}

function* pairsOf(text: string, offset: number): Generator<FoundWord> {
  const letters = Array.from(text);
  let start = offset;
  for (let at = 0; at < letters.length; at++) {
    const pair = letters[at]! + (letters[at + 1] ?? '');
    const stem = folded(pair);
    if (at === 0 || at + 1 < letters.length) yield { stem, form: stem, start, end: start + pair.length };
    start += letters[at]!.length;
  }
}

interface Forms {
  readonly stem: string;
  readonly form: string;
}

const remembered = new BoundedMap<string, Forms | null>({ mostEntries: 100_000, whenFull: 'clear' });

/** Null for what is written without spaces. */
function lookUp(text: string): Forms | null {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const forms = unspaced.test(text) ? null : formsOf(text);
  remembered.set(text, forms);
  return forms;
}

/** English endings are taken off; words with digits and of other scripts stay as they are. */
function formsOf(text: string): Forms {
  const form = folded(text).slice(0, mostLetters);
  return { form, stem: /^[a-z]{3,}$/.test(form) ? stemmer(form) : form };
}

/** The form in which a word is looked up. */
export const stemOf = (text: string): string => formsOf(text).stem;
