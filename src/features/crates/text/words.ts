/**
 * Tokenizes text into words and stems, the same for what is indexed and for what is searched. It knows no fields, no
 * stop words and no synonyms.
 */
import { stemmer } from 'stemmer';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';

/** Words are cut to this length: what is longer is not a word. */
const maxTokenLength = 64;

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
  /** The form that is indexed. */
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

/**
 * Numbers the words of many texts from 0, for indexing: what `tokenizeWords` gives, but a word that was met before costs
 * neither a string nor a look into a map.
 */
export class WordNumbers {
  /** By number: the word, without its position. */
  readonly words: WordForms[] = [];
  readonly #numbers = new Map<string, number>();
  /** A hash table of ASCII words as they were written: numbers in `#written`, from 1. */
  #slots = new Int32Array(1 << 12);
  readonly #written: string[] = [];
  readonly #numberOf: number[] = [];

  /** Calls for each word of a text, in order. */
  each(text: string, call: (number: number) => void): void {
    if (!asciiPattern.test(text)) {
      for (const { stem, form } of tokenizeWords(text)) call(this.#number({ stem, form }));
      return;
    }
    for (let at = 0; at < text.length;) {
      const start = at;
      let hash = 0;
      for (; at < text.length; at++) {
        const code = text.charCodeAt(at);
        if (isAsciiWord[code] === 0) break;
        hash = (Math.imul(hash, 31) + code) | 0;
      }
      if (at > start) call(this.#find(text, start, at, hash));
      else at++;
    }
  }

  #find(text: string, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = mixHash(hash) & mask; ; slot = (slot + 1) & mask) {
      const known = this.#slots[slot]!;
      if (known === 0) return this.#add(text.slice(start, end), slot);
      if (isWordAt(this.#written[known - 1]!, text, start, end)) return this.#numberOf[known - 1]!;
    }
  }

  #add(written: string, slot: number): number {
    const number = this.#number(lookUpWordForms(written)!);
    this.#slots[slot] = this.#written.push(written);
    this.#numberOf.push(number);
    if (this.#written.length * 2 > this.#slots.length) this.#grow();
    return number;
  }

  #grow(): void {
    this.#slots = new Int32Array(this.#slots.length * 4);
    const mask = this.#slots.length - 1;
    for (const [at, written] of this.#written.entries()) {
      let hash = 0;
      for (let index = 0; index < written.length; index++)
        hash = (Math.imul(hash, 31) + written.charCodeAt(index)) | 0;
      let slot = mixHash(hash) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = at + 1;
    }
  }

  #number(forms: WordForms): number {
    const key = forms.form === forms.stem ? forms.form : `${forms.form} ${forms.stem}`;
    let number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, (number = this.words.push(forms) - 1));
    return number;
  }
}

const mixHash = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x9e37_79b1) >>> 8;

function isWordAt(word: string, text: string, start: number, end: number): boolean {
  if (word.length !== end - start) return false;
  for (let at = 0; at < word.length; at++)
    if (word.charCodeAt(at) !== text.charCodeAt(start + at)) return false;
  return true;
}

const isAsciiWord = Uint8Array.from({ length: 128 }, (_, code) =>
  /[a-z0-9]/i.test(String.fromCharCode(code)) ? 1 : 0,
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
export type WordForms = Pick<WordToken, 'stem' | 'form'>;

const wordFormsCache = new BoundedMap<string, WordForms | null>({ mostEntries: 100_000, whenFull: 'clear' });

/** Null for scripts without spaces. */
function lookUpWordForms(text: string): WordForms | null {
  const known = wordFormsCache.get(text);
  if (known !== undefined) return known;
  const forms = unspacedScriptPattern.test(text) ? null : computeWordForms(text);
  wordFormsCache.set(text, forms);
  return forms;
}

/** English words are stemmed; words with digits and of other scripts are not. */
function computeWordForms(text: string): WordForms {
  const form = foldCaseAndAccents(text).slice(0, maxTokenLength);
  return { form, stem: /^[a-z]{3,}$/.test(form) ? stemmer(form) : form };
}

/** The form in which a word is indexed. */
export const stemWord = (text: string): string => computeWordForms(text).stem;
