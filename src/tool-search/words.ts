/**
 * Splits names, texts and queries into stems. Names are split at case, underscores and digits, and their neighbours are
 * also joined, so that `createGitHubIssue` is found by "github" and `take_screenshot` by "screen shot".
 */
import { isStopWord } from '../crates/text/stop-words.ts';
import { tokenizeWords } from '../crates/text/words.ts';

/** Where a name goes on with another word: `aB`, `ABcd`, `a1`, `1a`; not in `PRs`. */
const caseBoundary =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu;

/** Words by which people ask for anything. They are rare in descriptions, and would count as telling. */
const fillers = new Set(
  `please kindly want wants wanted need needs needed like help give tell know let lets thanks thank hi hey hello ok okay
  actually really maybe perhaps currently somehow something anything everything thing things stuff someone somebody
  try going gonna got wanna able possible way ways quick quickly simply easily sure don doesn didn isn aren ll ve re
  im id ive tool tools`.split(/\s+/),
);

export interface Word {
  readonly stem: string;
  /** As it was written, except for case and accents. */
  readonly form: string;
}

/** The words of a name or a text, in order: stop words too, since neighbours are joined over none of them. */
export function splitWords(text: string): Word[] {
  return [...tokenizeWords(text.replaceAll(caseBoundary, ' '))].map(({ stem, form }) => ({ stem, form }));
}

/** Whether a word says nothing of what a tool does or of what is asked for. */
export const isFiller = ({ stem, form }: Word): boolean =>
  (form.length === 1 && /[a-z]/.test(form)) || isStopWord(stem) || fillers.has(form);

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
    for (const { stem } of tokenizeWords(left.form + right.form)) joined.push(stem);
  }
  return joined;
}

/** What is shown by its form alone, and what it is. The forms are looked for in a query, which is short. */
const kinds: readonly (readonly [RegExp, readonly string[]])[] = [
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
  kinds.flatMap(([form, names]) => (form.test(text) ? names : [])).flatMap(listStems);

/** Whether somebody asks about something rather than for something to be done. */
export const isQuestionText = (text: string): boolean =>
  /^\W*(?:which|what|who|whose|when|where|how|is|are|was|were|do|does|did|has|have|any)\b/i.test(text);
