/** What the record of a run knows of where its data came from and went: files that it read, and those that it made. */
import { z } from 'zod';
import { describeUnknownInputs } from '../../core/runs/describe-run.ts';
import type { RunRecordPart } from '../../core/runs/extension.ts';
import {
  hideField,
  makeFlagField,
  makeJsonField,
  makePlainField,
  type DerivedField,
} from '../../core/runs/fields.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';

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
export interface InputKnowledge {
  readonly knownInputs: readonly KnownInput[];
  /** True as long as nobody can tell, and in rows of earlier releases. */
  readonly inputsMayBeIncomplete: boolean;
  /** Why there may be more inputs, in a sentence each. */
  readonly inputNotes: readonly string[];
  /** The versions of the libraries that it used, by their names. */
  readonly libraries: Readonly<Record<string, string>>;
}

/** Of a run that has not ended, or was not seen to. */
export const unknownInputs: InputKnowledge = {
  knownInputs: [],
  inputsMayBeIncomplete: true,
  inputNotes: [],
  libraries: {},
};

const knownInputShape = z.object({
  path: z.string(),
  size: z.number(),
  sha256: z.string().nullable().describe('As it was at the start; null where that is not known'),
  how: z.enum(ways).describe('found: it was in the working directory'),
  made_by: z.string().nullable().describe('The execution_id that made it, where known'),
});

function showKnownInput(input: KnownInput): z.input<typeof knownInputShape> {
  const { path, size, sha256, how, madeBy } = input;
  return { path, size, sha256, how, made_by: madeBy };
}

const maxNamedInputs = 20;

/** What it may have read beside what it was given, in a line each. */
function toKnownInputLines(execution: InputKnowledge): string[] {
  const { knownInputs, inputsMayBeIncomplete, inputNotes, libraries } = execution;
  const more = knownInputs.length - maxNamedInputs;
  const versions = Object.entries(libraries).map(
    ([name, version]) => `${quoteName(name)} ${quoteName(version)}`,
  );
  return [
    ...knownInputs.slice(0, maxNamedInputs).map(describeKnownInput),
    ...(more > 0 ? [`Found or opened: and ${more} more`] : []),
    ...describeUnknownInputs(inputsMayBeIncomplete, inputNotes),
    ...(versions.length === 0 ? [] : [`Libraries: ${versions.join(', ')}`]),
  ];
}

function describeKnownInput({ path, size, sha256, how, madeBy }: KnownInput): string {
  const what = how === 'opened' ? 'Opened' : 'Found';
  const maker = madeBy === null ? '' : `, made by ${madeBy}`;
  const hash = sha256 === null ? 'not hashed' : `sha256 ${sha256}`;
  return `${what}: ${quoteName(path)}, ${formatBytes(size)}${maker}, ${hash}`;
}

/** Of one run. What is beyond is not hashed. */
export const maxResultBytes = 1024 ** 3;
export const maxResultFiles = 10_000;

/** Why a result has no hash, or why its bytes were not kept. */
export type ResultGap = 'changed' | 'unreadable' | 'hash_limit' | 'keep_limit' | 'hidden' | 'no_room';

const gapTexts: Readonly<Record<ResultGap, string>> = {
  changed: 'it was being changed when the run ended',
  unreadable: 'it was gone, or could not be read, when the run ended',
  hash_limit: `of the results of a run, ${formatBytes(maxResultBytes)} are hashed`,
  keep_limit: 'the results of the run were larger than what is kept of a run (--keep-results)',
  hidden: 'hidden files are not kept',
  no_room: 'there was no room for it when the run ended',
};

/** A file that a run made or changed, as it was when the run ended. */
export interface ResultFile {
  /** As seen inside, such as `/artifacts/plot.png`. */
  readonly path: string;
  readonly size: number;
  /** Null where it was not hashed. */
  readonly sha256: string | null;
  /** Whether the run made it, and not only changed it. */
  readonly isNew: boolean;
  /** Where its bytes were kept: in which file of the run's kept bytes, and from which byte on. */
  readonly kept: { readonly part: number; readonly at: number } | null;
  /** Why it was not hashed or not kept; null where it was both. */
  readonly gap: ResultGap | null;
}

/** All results of a run. */
export interface ResultFiles {
  readonly files: readonly ResultFile[];
  /** How many there are beyond these, which were not hashed. */
  readonly more: number;
}

/** What is recorded of the results of a run. */
export interface RecordedResults {
  /** Null where the end of the run was not seen, and in records of earlier releases: nothing was hashed. */
  readonly resultFiles: ResultFiles | null;
  /** What is kept of their bytes; 0 where nothing was, or where it is gone. */
  readonly keptBytes: number;
  /** When that was kept; 0 where it is in a crate. */
  readonly keptSince: number;
}

/** Of a run that has not ended, or was not seen to. */
export const unknownResults: RecordedResults = { resultFiles: null, keptBytes: 0, keptSince: 0 };

/** Why there are no bytes of a result, in words; null where they are kept. */
export function describeGap({ sha256, kept, gap }: ResultFile, keptBytes: number): string | null {
  if (sha256 === null) return `not hashed: ${gapTexts[gap ?? 'unreadable']}`;
  // Of an empty file everything is known.
  if (kept === null) return gap && `not kept: ${gapTexts[gap]}`;
  return keptBytes > 0 ? null : 'not kept any more: the oldest kept results go first, to make room';
}

const maxShownResults = 100;

const resultFilesShape = z
  .object({
    files: z.array(
      z.object({
        path: z.string(),
        size: z.number(),
        sha256: z.string().nullable().describe('As it was at the end; null where it was not hashed'),
        note: z.string().nullable().describe('Why it was not hashed, or its bytes are not kept'),
      }),
    ),
    more: z.number().int().describe('Files that are not listed here'),
  })
  .nullable()
  .describe('Files that it made or changed, as they were at its end; null where nobody hashed them');

function showResultFiles({ resultFiles, keptBytes }: RecordedResults): z.input<typeof resultFilesShape> {
  if (resultFiles === null) return null;
  const { files, more } = resultFiles;
  const shown = files.slice(0, maxShownResults);
  return {
    files: shown.map((file) => {
      const { path, size, sha256 } = file;
      return { path, size, sha256, note: describeGap(file, keptBytes) };
    }),
    more: files.length - shown.length + more,
  };
}

const maxNamedResults = 5;

/** What of its results was not hashed, in a line for each reason; most runs have none. */
function toUnhashedLines({ resultFiles }: RecordedResults): string[] {
  if (resultFiles === null) return [];
  const { files, more } = resultFiles;
  const unhashed = files.filter(({ sha256 }) => sha256 === null);
  const reasons = new Set(unhashed.map((file) => describeGap(file, 0)!));
  return [
    ...[...reasons].map((reason) => nameFiles(unhashed, reason, 0)),
    ...(more === 0
      ? []
      : [
          `Not hashed: ${more} more files. Of the results of a run, ${maxResultFiles} are hashed that can be named.`,
        ]),
  ];
}

/** Of results whose bytes are not kept, in a line for each reason. */
function toUnkeptLines({ resultFiles, keptBytes }: RecordedResults): string[] {
  if (resultFiles === null) return [];
  const unkept = resultFiles.files.filter(
    (file) => file.sha256 !== null && describeGap(file, keptBytes) !== null,
  );
  const reasons = new Set(unkept.map((file) => describeGap(file, keptBytes)!));
  return [...reasons].map((reason) => nameFiles(unkept, reason, keptBytes));
}

function nameFiles(files: readonly ResultFile[], reason: string, keptBytes: number): string {
  const of = files.filter((file) => describeGap(file, keptBytes) === reason);
  const names = of.slice(0, maxNamedResults).map(({ path }) => quoteName(path));
  const more = of.length > names.length ? ` and ${of.length - names.length} more` : '';
  const [what, why] = [reason.slice(0, reason.indexOf(':')), reason.slice(reason.indexOf(':') + 2)];
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}: ${names.join(', ')}${more}: ${why}.`;
}

const resultFilesField: DerivedField<'result_files', typeof resultFilesShape, RecordedResults> = {
  column: null,
  json: 'result_files',
  schema: resultFilesShape,
  derive: showResultFiles,
};

/** What a result takes in a row: its path, its hash and the rest, roughly. */
const resultFileBytes = 300;

const provenanceFields = {
  /** Files that it may have read beside those that it was given. */
  knownInputs: {
    after: 'inputs',
    initial: unknownInputs.knownInputs,
    isLong: true,
    sizeSql: 'OCTET_LENGTH(known_inputs)',
    ...makeJsonField(
      'known_inputs',
      'end',
      z.array(knownInputShape).describe('Files that it read or found, beside inputs'),
      (parsed: readonly KnownInput[]) => parsed,
      (files) => files.map(showKnownInput),
    ),
  },
  inputsMayBeIncomplete: {
    after: 'inputs',
    initial: unknownInputs.inputsMayBeIncomplete,
    ...makeFlagField('inputs_may_be_incomplete', 'end'),
  },
  inputNotes: {
    after: 'inputs',
    initial: unknownInputs.inputNotes,
    ...makeJsonField(
      'input_notes',
      'end',
      z.array(z.string()),
      (parsed: readonly string[]) => parsed,
      (notes) => [...notes],
    ),
  },
  libraries: {
    after: 'inputs',
    initial: unknownInputs.libraries,
    isLong: true,
    ...makeJsonField(
      'libraries',
      'end',
      z.record(z.string(), z.string()),
      (parsed: Readonly<Record<string, string>>) => parsed,
      (versions) => ({ ...versions }),
    ),
  },
  /** Files that it made or changed, with their hashes. */
  resultFiles: {
    after: 'endedAt',
    initial: unknownResults.resultFiles,
    sizeSql: 'OCTET_LENGTH(result_files)',
    countBytes: (results: ResultFiles | null): number => (results?.files.length ?? 0) * resultFileBytes,
    ...hideField(
      makeJsonField(
        'result_files',
        'end',
        z.custom<ResultFiles | null>(),
        (parsed: ResultFiles | null) => parsed,
        (results) => results,
      ),
    ),
  },
  shownResultFiles: { after: 'endedAt', isLong: true, ...resultFilesField },
  keptBytes: {
    after: 'endedAt',
    initial: unknownResults.keptBytes,
    isForgotten: true,
    ...hideField(makePlainField('kept_bytes', 'end', z.number())),
  },
  keptSince: {
    after: 'endedAt',
    initial: unknownResults.keptSince,
    ...hideField(makePlainField('kept_since', 'end', z.number())),
  },
} satisfies RunRecordPart['fields'];

declare module '../../core/runs/fields.ts' {
  interface FieldTables {
    readonly provenance: typeof provenanceFields;
  }
}

export const provenanceRecord: RunRecordPart = {
  fields: provenanceFields,
  describe(execution, section) {
    if (section === 'inputs') return toKnownInputLines(execution);
    if (section === 'end') return toUnhashedLines(execution);
    return section === 'record' ? toUnkeptLines(execution) : [];
  },
};
