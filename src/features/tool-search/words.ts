/**
 * Splits names, texts and queries into stems. Names are split at case, underscores and digits, and their neighbours are
 * also joined, so that `createGitHubIssue` is found by "github" and `take_screenshot` by "screen shot".
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stemmer } from 'stemmer';

/** Where a name goes on with another word: `aB`, `ABcd`, `a1`, `1a`; not in `PRs`. */
const caseBoundary =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu;

export interface Word {
  readonly stem: string;
  /** As it was written, except for case and accents. */
  readonly form: string;
}

/** Unicode compatibility form, no case, no accents. */
export const foldText = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase();

/** Longer ones are not words. */
const maxWordLength = 64;

function toWord(text: string): Word {
  const form = foldText(text).slice(0, maxWordLength);
  // English words are stemmed; words with digits and of other scripts are not.
  return { form, stem: /^[a-z]{3,}$/.test(form) ? stemmer(form) : form };
}

const stemToolWord = (text: string): string => toWord(text).stem;

/** Scripts without spaces between words: pairs of letters are used instead of words. */
const unspacedScript = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function listPairs(text: string): Word[] {
  const letters = Array.from(foldText(text));
  const pairs = letters.slice(1).map((letter, at) => letters[at]! + letter);
  return (pairs.length === 0 ? letters : pairs).map((pair) => ({ stem: pair, form: pair }));
}

function tokenize(text: string): Word[] {
  const parts = text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return parts
    .flatMap((part) => (unspacedScript.test(part) ? listPairs(part) : [toWord(part)]))
    .filter(({ stem }) => stem !== '');
}

/** The words of a name or a text, in order: stop words too, since neighbours are joined over none of them. */
export const splitWords = (text: string): Word[] => tokenize(text.replaceAll(caseBoundary, ' '));

/** English words that say how a sentence is built, and not what it is about. */
const toolStopWords = new Set(
  `a about above after again all also although am among an and any are as at be became because become been
  before being below between both but by can cannot could did do does doing done down due during each either else etc
  ever every few for from further had has have having he hence her here hers him his how however i if in into is it its
  itself just less made make many may me might more most much must my neither no nor not of off on once one only onto or
  other our out over own per quite rather same shall she should since so some such than that the their them then there
  thereby therefore these they this those though through thus to too toward under until up upon us use used using very
  via was we were what when where whether which while who whom whose why will with within without would yet you your`
    .split(/\s+/)
    .map(stemToolWord),
);

/** Words by which people ask for anything. They are rare in descriptions, and would count as telling. */
const fillers = new Set(
  `please kindly want wants wanted need needs needed like help give tell know let lets thanks thank hi hey hello ok okay
  actually really maybe perhaps currently somehow something anything everything thing things stuff someone somebody
  try going gonna got wanna able possible way ways quick quickly simply easily sure don doesn didn isn aren ll ve re
  im id ive tool tools`.split(/\s+/),
);

/** Whether a word says nothing of what a tool does or of what is asked for. */
export const isFiller = ({ stem, form }: Word): boolean =>
  (form.length === 1 && /[a-z]/.test(form)) || toolStopWords.has(stem) || fillers.has(form);

/** The stems that say something, in order. */
export const listStems = (text: string): string[] =>
  splitWords(text)
    .filter((word) => !isFiller(word))
    .map(({ stem }) => stem);

/** Neighbours as one word: "screen shot" is `screenshot`. Written together, it would have been stemmed as one. */
export function joinNeighbours(words: readonly Word[]): string[] {
  const joined: string[] = [];
  for (let at = 1; at < words.length; at++) {
    const [left, right] = [words[at - 1]!, words[at]!];
    if (left.form.length < 2 || right.form.length < 2) continue;
    for (const { stem } of tokenize(left.form + right.form)) joined.push(stem);
  }
  return joined;
}

/** What is shown by its form alone, and what it is. The forms are looked for in a query, which is short. */
const valueKinds: readonly (readonly [RegExp, readonly string[]])[] = [
  [/https?:\/\/|\bwww\.\w/i, ['url']],
  [/[\w.+-]@[\w-]+\.\w/, ['email']],
  [
    /(?<![\w/:.@])(?:[\w~.-]*\/)*[\w-]+\.(?!com\b|org\b|net\b|io\b)[a-z]{1,4}[0-9]?\b(?!\/)/i,
    ['file', 'path'],
  ],
  [/(?:^|\s)#[a-z][\w-]*/i, ['channel']],
  [/(?:^|\s)@[a-z][\w-]*/i, ['user']],
];

/** The stems of what a text shows without saying it: `config/app.yaml` is a file. */
export const listKinds = (text: string): string[] =>
  valueKinds.flatMap(([form, names]) => (form.test(text) ? names : [])).flatMap(listStems);

/** Whether somebody asks about something rather than for something to be done. */
export const isQuestionText = (text: string): boolean =>
  /^\W*(?:which|what|who|whose|when|where|how|is|are|was|were|do|does|did|has|have|any)\b/i.test(text);

/**
 * Words that people use for what tools name otherwise: general English and the jargon of software, of no particular
 * server. `same` has spellings and abbreviations of one thing, `related` words that often mean the same, and `besides` a
 * word and what it may be called besides, which does not hold the other way round.
 */
const synonyms = JSON.parse(readFileSync(join(import.meta.dirname, 'synonyms.json'), 'utf8')) as Readonly<
  Record<'same' | 'related' | 'besides', readonly string[]>
>;

/** What people ask about rather than for: tools that read are meant. */
const readingWords = 'list get search find read show retrieve fetch query view';
export const readingStems: readonly string[] = readingWords.split(' ').map(stemToolWord);

export interface RelatedWord {
  readonly stem: string;
  readonly isSame: boolean;
}

/** By stem: what else may be meant by it. */
export const relatedWords: ReadonlyMap<string, readonly RelatedWord[]> = readLines();

function readLines(): ReadonlyMap<string, readonly RelatedWord[]> {
  const related = new Map<string, Map<string, boolean>>();
  const relate = (from: string, to: string, isSame: boolean): void => {
    if (from === to) return;
    const known = related.get(from) ?? new Map<string, boolean>();
    known.set(to, isSame || known.get(to) === true);
    related.set(from, known);
  };
  for (const kind of ['same', 'related', 'besides'] as const)
    for (const line of synonyms[kind]) {
      const stems = line.split(' ').map(stemToolWord);
      const sources = kind === 'besides' ? stems.slice(0, 1) : stems;
      for (const from of sources) for (const to of stems) relate(from, to, kind === 'same');
    }
  return new Map(
    [...related].map(([stem, known]) => [stem, [...known].map(([to, isSame]) => ({ stem: to, isSame }))]),
  );
}
