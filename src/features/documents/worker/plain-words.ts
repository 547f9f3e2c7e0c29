/**
 * Keeps plain words of a text away from Pandoc's Markdown reader, which tries every kind of markup on each of them. A
 * run of words becomes one word that nobody can guess, and is put back into the tree as Pandoc would have read it. It
 * touches only what is prose for certain; if anything is doubtful afterwards, the whole text is read.
 */
import { makeSecretWord } from '../marks.ts';

export interface WordsSetAside {
  readonly text: string;
  /** Pandoc's JSON with the words; null if a mark is not a word of its own, exactly once. */
  restore(json: string): string | null;
}

/** Shorter runs are not worth a mark. */
const minRunLength = 30;

/** Formulas without square brackets, signs that can hide a bracket, brackets, and runs of words between spaces.
 * Runs are limited, so that no text takes long. */
const partsOfLine =
  /\$[^$\s](?:[^$\n[\]`<]*[^$\s\\])?\$|[`\\<$]|[[\](){}]|(?<=^| )(?:\p{L}{1,40},? ){3,60}\p{L}{1,40}(?= |$)/gu;

/** A line of prose, or the first line of an item of a list. Other marks at the start have other meanings. */
const proseLine = /^(?: {0,3}| *(?:[-*+]|\d{1,9}[.)]) +)\p{L}/u;
/** What it stands below makes a line a heading, or the name of a definition. */
const changesLineAbove = /^\s*(?:-+\s*$|=+\s*$|[:~]|\+[-=])/;

const codeFence = /^\s*(?:`{3}|~{3})/;

/** In tables of this kind, the place of a word in its line decides which column it belongs to. */
const dashedColumns = /^[ \t]*-+(?:[ \t]+-+)+[ \t]*$/m;

/** Null: there is nothing to gain, or it is not safe. */
export function setWordsAside(text: string): WordsSetAside | null {
  if (dashedColumns.test(text)) return null;
  const nonce = makeSecretWord();
  const runs: string[] = [];
  const short = replaceRuns(text, (run) => `${nonce}${runs.push(run) - 1}r`);
  if (runs.length === 0) return null;
  return { text: short, restore: (json) => restoreRuns(json, nonce, runs) };
}

function replaceRuns(text: string, mark: (run: string) => string): string {
  const lines = text.split('\n');
  const context = createLineContext();
  return lines
    .map((line, at) => {
      const isProse =
        context.enter(line, lines[at + 1] ?? '', at) &&
        proseLine.test(line) &&
        !line.includes('|') &&
        !changesLineAbove.test(lines[at + 1] ?? '');
      return line.replaceAll(partsOfLine, (part) => {
        if (part.length === 1) context.see(part);
        return part.length >= minRunLength && isProse && context.isOutside() && !part.startsWith('$')
          ? mark(part)
          : part;
      });
    })
    .join('\n');
}

const closingBrackets: Readonly<Record<string, string>> = { ']': '[', ')': '(', '}': '{' };

/** What came before in the same paragraph: open brackets, and whether they can be trusted. */
function createLineContext() {
  let open: Record<string, number> = {};
  let isTrusted = true;
  let isMetadata = false;
  let isCode = false;

  /** Whether the line is neither metadata nor code. */
  function enter(line: string, next: string, at: number): boolean {
    if (isMetadata) {
      isMetadata = !/^(?:---|\.\.\.)\s*$/.test(line);
      return false;
    }
    if (/^---\s*$/.test(line) && (at === 0 || next.trim() !== '')) isMetadata = true;
    if (codeFence.test(line)) isCode = !isCode;
    if (line.trim() === '') [open, isTrusted] = [{}, true];
    return !isMetadata && !isCode;
  }

  const isOutside = (): boolean => isTrusted && Object.values(open).every((count) => count === 0);

  /** Code, escapes, HTML and an open formula can hide a bracket: from there on, no bracket is trusted. */
  function see(sign: string): void {
    const opening = closingBrackets[sign];
    const name = opening ?? sign;
    if ('`\\<$'.includes(sign)) isTrusted = false;
    else open[name] = Math.max(0, (open[name] ?? 0) + (opening === undefined ? 1 : -1));
  }

  return { enter, isOutside, see };
}

/** Every mark has to be a word of its own, once. In code, in maths or in an address, Pandoc treats spaces in other ways. */
function restoreRuns(json: string, nonce: string, runs: readonly string[]): string | null {
  const seen = new Set<number>();
  const words = new RegExp(`\\{"t":"Str","c":"${nonce}(\\d+)r"\\}`, 'g');
  let count = 0;
  const whole = json.replaceAll(words, (_, at: string) => {
    count++;
    seen.add(Number(at));
    return toWordNodes(runs[Number(at)]!);
  });
  return count === runs.length && seen.size === count && !whole.includes(nonce) ? whole : null;
}

/** Letters, commas and spaces mean nothing in JSON. */
const toWordNodes = (run: string): string =>
  run
    .split(' ')
    .map((word) => `{"t":"Str","c":"${word}"}`)
    .join(',{"t":"Space"},');
