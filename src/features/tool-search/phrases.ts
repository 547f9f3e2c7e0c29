/**
 * Finds phrases in a request by whole words: "code" is in "write code", and not in "barcode" or "decoder". A word is also
 * found in its plural, past and -ing forms; not by its stem, since "computer" and "compute" have the same. A `*` in a
 * phrase stands for up to three words. No pattern of an operator or a caller becomes a regular expression.
 */
import { foldText } from './words.ts';

const maxRequestLength = 8000;
const maxRequestWords = 1000;
const maxGap = 3;
const anyWords = '*';

/** The words of a request or a phrase as they are written, except for case and accents. */
export function listPhraseForms(text: string): string[] {
  const folded = foldText(text.slice(0, maxRequestLength));
  return (folded.match(/[\p{L}\p{N}]+(?:['’.+#-]+[\p{L}\p{N}]+)*[+#]*|\*/gu) ?? []).slice(0, maxRequestWords);
}

const maxGaps = 2;

/** Whether a text can be a phrase: each further gap would make the search for it longer by a factor. */
export function isPhrase(text: string): boolean {
  const words = listPhraseForms(text);
  const isWord = (word: string | undefined): boolean => word !== undefined && word !== anyWords;
  return (
    isWord(words[0]) && isWord(words.at(-1)) && words.filter((word) => word === anyWords).length <= maxGaps
  );
}

/** Phrases by every form of their first word. */
export type PhraseTable = ReadonlyMap<string, readonly Phrase[]>;

/** For each word of a phrase its forms; null for a gap. */
type Phrase = readonly (ReadonlySet<string> | null)[];

export function createPhraseTable(phrases: readonly string[]): PhraseTable {
  const table = new Map<string, Phrase[]>();
  for (const text of phrases) {
    const phrase = listPhraseForms(text).map((word) => (word === anyWords ? null : listInflections(word)));
    for (const form of phrase[0] ?? []) table.set(form, [...(table.get(form) ?? []), phrase]);
  }
  return table;
}

/** The places of the words of each phrase that is in a request. */
export function* findPhrases(table: PhraseTable, words: readonly string[]): Generator<readonly number[]> {
  for (const [start, word] of words.entries())
    for (const phrase of table.get(word) ?? []) {
      const places = matchFrom(phrase, 1, words, start + 1);
      if (places !== null) yield [start, ...places];
    }
}

/** The places of the rest of a phrase, from this word on; null where it is not there. */
function matchFrom(phrase: Phrase, at: number, words: readonly string[], place: number): number[] | null {
  if (at === phrase.length) return [];
  const forms = phrase[at];
  if (forms === null) return matchAfterGap(phrase, at + 1, words, place);
  if (place >= words.length || !forms!.has(words[place]!)) return null;
  const rest = matchFrom(phrase, at + 1, words, place + 1);
  return rest === null ? null : [place, ...rest];
}

function matchAfterGap(phrase: Phrase, at: number, words: readonly string[], place: number): number[] | null {
  for (let left = 0; left <= maxGap; left++) {
    const rest = matchFrom(phrase, at, words, place + left);
    if (rest !== null) return rest;
  }
  return null;
}

const vowel = /[aeiou]/;

/** A word with its plural, past and -ing forms, by the rules of English spelling; some of them are no words. */
function listInflections(word: string): ReadonlySet<string> {
  const forms = new Set([word]);
  if (!/^[a-z]{3,}$/.test(word) || word.endsWith('s')) return forms;
  const base = word.endsWith('e') ? word.slice(0, -1) : word;
  for (const end of ['ed', 'ing']) forms.add(base + end);
  forms.add(/(?:ch|sh|x|z)$/.test(word) ? `${word}es` : `${word}s`);
  if (/[^aeiou]y$/.test(word)) for (const end of ['ies', 'ied']) forms.add(word.slice(0, -1) + end);
  // plot, plotted; not rain, rained.
  const [before, last, end] = word.slice(-3) as unknown as [string, string, string];
  if (!vowel.test(before) && vowel.test(last) && !/[aeiouwxy]/.test(end))
    for (const ending of ['ed', 'ing']) forms.add(word + end + ending);
  return forms;
}
