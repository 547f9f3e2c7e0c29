import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { findNearest } from '../src/platform/text/edit-distance.ts';
import { testParts, type TestPart } from './test-parts.ts';

export const usage = `Runs the tests, and ends with \`N passed, N failed, N skipped\`.

  npm test                     the usual part: SQLite, disk, bubblewrap; needs next to nothing
  npm run test:quick           what starts no server and no sandbox, with layers, contract and budgets
  npm run test:rest            what is neither usual nor long: other back ends, attacks, faults, clients, deploy
  npm run test:all             the usual part and the rest; demands a proof of every requirement
  npm run test:long            chaos and soaks, which take very long
  npm test -- links paths      files of any part whose path has one of the words
  npm test -- behaviour        the same, and once more on PostgreSQL with S3 and with Azure Blob

  --verbose    prints every test; without it, only files, what failed and why something was skipped
  --help       prints this

What the chosen files need is installed and started, and nothing else; WORKCRATE_NO_INSTALL=1 keeps it from
installing. CONTRIBUTING.md says more.
`;

export interface TestArguments {
  /** Whether files are chosen that start nothing, whichever part they belong to. */
  readonly quick: boolean;
  readonly parts: readonly TestPart[];
  /** Files whose path has one of these; all where there are none. */
  readonly words: readonly string[];
  readonly verbose: boolean;
  readonly help: boolean;
}

/** Throws an Error with one line for people where an option is unknown. */
export function parseTestArguments(args: readonly string[]): TestArguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean' },
      rest: { type: 'boolean' },
      all: { type: 'boolean' },
      long: { type: 'boolean' },
      verbose: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  return {
    quick: values.quick === true,
    parts: chooseParts(values, positionals.length > 0),
    words: positionals,
    verbose: values.verbose === true,
    help: values.help === true,
  };
}

function chooseParts(
  { all, rest, long }: { all?: boolean; rest?: boolean; long?: boolean },
  hasWords: boolean,
): readonly TestPart[] {
  if (all === true) return ['usual', 'rest'];
  if (rest === true) return ['rest'];
  if (long === true) return ['long'];
  return hasWords ? testParts : ['usual'];
}

/** One line for each word that no path of a test file contains, with a word that was probably meant. */
export function describeMisses(words: readonly string[], files: readonly string[]): string[] {
  const known = new Set(
    files.flatMap((file) => [
      ...file.split('/').slice(0, -1),
      basename(file, '.test.ts'),
      basename(file, '.long.test.ts'),
    ]),
  );
  return words
    .filter((word) => !files.some((file) => file.includes(word)))
    .map((word) => {
      const nearest = findNearest(word, known);
      return `No test file has "${word}" in its path.${nearest === null ? '' : ` Did you mean ${nearest}?`}`;
    });
}
