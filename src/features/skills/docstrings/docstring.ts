/** What the documentation of a source file is, whatever its language. */

export const documentedLanguages = ['python', 'javascript', 'typescript'] as const;
export type DocumentedLanguage = (typeof documentedLanguages)[number];

export interface Documentation {
  /** Of the file as a whole; empty where there is none. */
  readonly module: string;
  /** In the order of the file. */
  readonly items: readonly DocumentedItem[];
  /** What could not be read, with its line, as a sentence; null where all of it could. */
  readonly problem: string | null;
}

export interface DocumentedItem {
  /** With the class before a method: `Plot.draw`. */
  readonly name: string;
  readonly kind: 'function' | 'class' | 'method';
  /** As it is written, on one line, without the body. */
  readonly signature: string;
  /** Empty where there is none. */
  readonly doc: string;
  readonly line: number;
}

/** What is wrong, and where. */
export interface SourceProblem {
  readonly what: string;
  /** The offset in the text. */
  readonly at: number;
}

export const describeProblem = (text: string, { what, at }: SourceProblem): string =>
  `Line ${createLineCounter(text)(at)}: ${what}. What follows may be missing.`;

/** More are not listed: a file of a megabyte may have a hundred thousand. */
export const maxItems = 1000;
const maxSignatureLength = 500;

export function toSignature(source: string): string {
  const line = source.replaceAll(/\s+/g, ' ').trim();
  return line.length > maxSignatureLength ? `${line.slice(0, maxSignatureLength - 1).toWellFormed()}…` : line;
}

/** Finds the line of an offset. It goes through the text once, as long as offsets do not fall. */
export function createLineCounter(text: string): (offset: number) => number {
  let [at, line] = [0, 1];
  return (offset) => {
    if (offset < at) [at, line] = [0, 1];
    for (let next = text.indexOf('\n', at); next !== -1 && next < offset; next = text.indexOf('\n', at)) {
      line++;
      at = next + 1;
    }
    return line;
  };
}
