/**
 * Tokenizes text into words and stems, the same for what is indexed and for what is searched. It knows no fields, no
 * stop words and no synonyms.
 */
import { stemmer } from 'stemmer';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';

/** What is longer is hardly a word that comes again. */
const maxCachedLength = 64;

const tokenPattern = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts without spaces between words: pairs of letters (bigrams) are used instead of words. */
const unspacedScriptPattern = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const asciiPattern = /^\p{ASCII}*$/u;

/** Normalizes text for comparison: Unicode compatibility form, no case, no accents. */
export function foldCaseAndAccents(text: string): string {
  if (asciiPattern.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase();
}

/** A word with its position in the text. */
export interface WordToken {
  /** What is left without English endings. */
  readonly stem: string;
  /** As it was written, except for case and accents. */
  readonly form: string;
  readonly start: number;
  readonly end: number;
}

/** The words of a text, in order. */
export function* tokenizeWords(text: string): Generator<WordToken> {
  for (const match of text.matchAll(tokenPattern)) {
    const [whole] = match;
    const known = lookUpWordForms(whole);
    if (known === null) yield* tokenizeBigrams(whole, match.index);
    else if (known.stem !== '') {
      const { stem, form } = known;
      yield { stem, form, start: match.index, end: match.index + whole.length };
    }
  }
}

/** Between texts of a field: a phrase does not go from one to the next. FTS5 takes it for a word that nobody asks for. */
const textSeparator = ' \ue000 ';

/**
 * The texts of a field as one that FTS5 tokenizes into the same words: what is not ASCII has neither case nor accents, and
 * scripts without spaces are pairs of letters.
 */
export function normalizeForIndex(texts: readonly string[]): string {
  const joined = texts.map((text) => (asciiPattern.test(text) ? text : foldWords(text))).join(textSeparator);
  return joined.replaceAll('\0', ' ').toWellFormed();
}

const foldWords = (text: string): string =>
  text.replaceAll(tokenPattern, (whole) =>
    unspacedScriptPattern.test(whole)
      ? Array.from(tokenizeBigrams(whole, 0), ({ form }) => form).join(' ')
      : foldCaseAndAccents(whole),
  );

function* tokenizeBigrams(text: string, offset: number): Generator<WordToken> {
  const letters = Array.from(text);
  let start = offset;
  for (let at = 0; at < letters.length; at++) {
    const pair = letters[at]! + (letters[at + 1] ?? '');
    const stem = foldCaseAndAccents(pair);
    if (at === 0 || at + 1 < letters.length) yield { stem, form: stem, start, end: start + pair.length };
    start += letters[at]!.length;
  }
}

/** A word without its position in a text. */
type WordForms = Pick<WordToken, 'stem' | 'form'>;

const wordFormsCache = new BoundedMap<string, WordForms | null>({ mostEntries: 100_000, whenFull: 'clear' });

/** Null for scripts without spaces. */
function lookUpWordForms(text: string): WordForms | null {
  const known = wordFormsCache.get(text);
  if (known !== undefined) return known;
  const forms = unspacedScriptPattern.test(text) ? null : computeWordForms(text);
  if (text.length <= maxCachedLength) wordFormsCache.set(text, forms);
  return forms;
}

/** English words are stemmed; words with digits and of other scripts are not. */
function computeWordForms(text: string): WordForms {
  const form = foldCaseAndAccents(text);
  return { form, stem: /^[a-z]{3,}$/.test(form) ? stemmer(form) : form };
}

/** A word without its English endings, nearly as FTS5's porter tokenizer has it. */
export const stemWord = (text: string): string => computeWordForms(text).stem;
