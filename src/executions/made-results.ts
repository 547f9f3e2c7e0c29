/**
 * The files that a run made or changed, as they are recorded when it ends and told later: hashes, where their bytes are
 * kept, and why that is not so. It looks at no files: `take-results.ts` does.
 */
import { z } from 'zod';
import { formatBytes, quoteName } from '../text.ts';

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

/** How a record shows them: as a field that is worked out of two others. */
export const shownResultFiles = {
  column: null,
  json: 'result_files' as const,
  schema: resultFilesShape,
  derive: showResultFiles,
};

const maxNamedResults = 5;

/** What of its results was not hashed, in a line for each reason; most runs have none. */
export function toUnhashedLines({ resultFiles }: RecordedResults): string[] {
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
export function toUnkeptLines({ resultFiles, keptBytes }: RecordedResults): string[] {
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
