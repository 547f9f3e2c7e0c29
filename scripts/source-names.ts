import { readFileSync } from 'node:fs';

/** What a module declares at its top level. */
export interface Declaration {
  readonly name: string;
  readonly isExported: boolean;
  readonly isFunction: boolean;
}

/** Formatted code has declarations of the top level, and nothing else, at the beginning of a line. */
const declarations =
  /^(export )?(?:abstract )?(?:async )?(function\*?|const|let|class|interface|type) ([\w$]+)/gm;

const arrowFunction =
  /^(?:export )?const [\w$]+(?::(?:[^=]|=>)+?)?\s*=\s*(?:async\s*)?(?:<[^(]*>)?(?:\((?:[^()]|\([^()]*\))*\)(?:\s*:\s*[^=]+?)?\s*=>|[\w$]+\s*=>)/;

const longestHead = 600;

export function listDeclarations(text: string): Declaration[] {
  return [...text.matchAll(declarations)].map(({ 1: exported, 2: kind, 3: name, index }) => {
    const head = text.slice(index, index + longestHead);
    const isFunction = kind!.startsWith('function') || arrowFunction.test(head);
    return { name: name!, isExported: exported !== undefined, isFunction };
  });
}

export interface Names {
  /** Declared in more than one file. */
  readonly ambiguous: string[];
  readonly ambiguousExports: string[];
  /** Functions that are called after what was done and not after what they do. */
  readonly participles: string[];
  readonly endingInOf: string[];
}

export function measureNames(files: readonly string[]): Names {
  const all = files.flatMap((file) =>
    listDeclarations(readFileSync(file, 'utf8')).map((declaration) => ({ ...declaration, file })),
  );
  const functions = listNames(all.filter(({ isFunction }) => isFunction));
  return {
    ambiguous: listRepeated(all),
    ambiguousExports: listRepeated(all.filter(({ isExported }) => isExported)),
    participles: functions.filter(isBareParticiple),
    endingInOf: functions.filter((name) => name.endsWith('Of')),
  };
}

const listNames = (list: readonly { readonly name: string }[]): string[] => [
  ...new Set(list.map(({ name }) => name)),
];

function listRepeated(list: readonly { readonly name: string; readonly file: string }[]): string[] {
  const files = Map.groupBy(list, ({ name }) => name);
  return [...files].filter(([, own]) => new Set(own.map(({ file }) => file)).size > 1).map(([name]) => name);
}

const irregular = new Set(
  'begun bound broken brought built caught chosen done drawn driven fallen felt forgotten found given gone heard held hidden kept known laid led left lent lost made meant met paid said seen sent shown sold spent spoken stood taken taught thought thrown told understood woken won worn written'.split(
    ' ',
  ),
);

const nouns = new Set('nothing setting string thing'.split(' '));

/** One word alone. A verb whose participle looks the same, such as `read` or `put`, is none. */
export function isBareParticiple(name: string): boolean {
  if (!/^[a-z]+$/.test(name) || nouns.has(name)) return false;
  return /(?:ed|ing)$/.test(name) || irregular.has(name);
}
