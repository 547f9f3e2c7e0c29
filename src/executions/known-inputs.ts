/**
 * The files that a run may have read beside those that it was given, as they are recorded and told. It looks at no
 * files.
 */
import { z } from 'zod';
import { formatBytes, quoteName } from '../text.ts';
import type { Execution } from './fields.ts';

/** `opened`: Python said that it opened it to read. `found`: it was in the working folder when the run started. */
const ways = ['opened', 'found'] as const;

/** A file that a run may have read, as it was when the run started. */
export interface KnownInput {
  /** As seen inside, such as `/workspace/a.csv`. */
  readonly path: string;
  readonly size: number;
  /** Null where nobody hashed it before it could change. */
  readonly sha256: string | null;
  readonly how: (typeof ways)[number];
  /** The execution that made it, where that is known. */
  readonly madeBy: string | null;
}

/** What is known of the inputs and libraries of a run. */
export type InputKnowledge = Pick<
  Execution,
  'knownInputs' | 'inputsMayBeIncomplete' | 'inputNotes' | 'libraries'
>;

/** Of a run that has not ended, or was not seen to. */
export const unknownInputs: InputKnowledge = {
  knownInputs: [],
  inputsMayBeIncomplete: true,
  inputNotes: [],
  libraries: {},
};

export const knownInputShape = z.object({
  path: z.string(),
  size: z.number(),
  sha256: z.string().nullable().describe('As it was at the start; null where that is not known'),
  how: z.enum(ways).describe('found: it was in the working directory'),
  made_by: z.string().nullable().describe('The execution_id that made it, where known'),
});

export function showKnownInput(input: KnownInput): z.input<typeof knownInputShape> {
  const { path, size, sha256, how, madeBy } = input;
  return { path, size, sha256, how, made_by: madeBy };
}

const maxNamed = 20;

/** What it may have read beside what it was given, in a line each. */
export function toKnownInputLines(execution: InputKnowledge): string[] {
  const { knownInputs, inputsMayBeIncomplete, inputNotes, libraries } = execution;
  const more = knownInputs.length - maxNamed;
  const versions = Object.entries(libraries).map(
    ([name, version]) => `${quoteName(name)} ${quoteName(version)}`,
  );
  return [
    ...knownInputs.slice(0, maxNamed).map(describeKnownInput),
    ...(more > 0 ? [`Found or opened: and ${more} more`] : []),
    ...(inputsMayBeIncomplete ? [`It may have read more files. ${inputNotes.join(' ')}`.trimEnd()] : []),
    ...(versions.length === 0 ? [] : [`Libraries: ${versions.join(', ')}`]),
  ];
}

function describeKnownInput({ path, size, sha256, how, madeBy }: KnownInput): string {
  const what = how === 'opened' ? 'Opened' : 'Found';
  const maker = madeBy === null ? '' : `, made by ${madeBy}`;
  const hash = sha256 === null ? 'not hashed' : `sha256 ${sha256}`;
  return `${what}: ${quoteName(path)}, ${formatBytes(size)}${maker}, ${hash}`;
}
