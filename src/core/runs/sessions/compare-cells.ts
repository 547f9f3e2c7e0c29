/**
 * Compares a cell with the same cell in a replay, by their records: how it ended, what it printed and showed, and every
 * file that it made, by the sha256 that each had at the end. It opens no files.
 */
import type { Execution } from '../executions.ts';
import type { Workspace } from '../../../ports/sandbox/sandbox.ts';
import { quoteName } from '../../../platform/text/text.ts';

export interface ComparedCells {
  /** What differs. */
  readonly fields: readonly string[];
  /** Files that differ, as the replay names them. */
  readonly files: readonly string[];
  /** What could not be compared. */
  readonly notes: readonly string[];
}

/** What runs made, with the hashes that the files had at the end. */
export interface MadeFiles {
  /** Null where nobody hashed them. */
  listMade(execution: Execution): {
    readonly files: readonly { readonly path: string; readonly sha256: string | null }[];
    /** How many there are beyond these. */
    readonly more: number;
  } | null;
}

/** `place` has the folders of the replay, beside those of the first time. */
export function compareCells(
  files: MadeFiles,
  before: Execution,
  after: Execution,
  place: Workspace,
): ComparedCells {
  const plain = (text: string): string => toPlainPaths(text, place);
  const read = {
    end_reason: ({ reason }: Execution) => reason,
    exit_code: ({ exitCode }: Execution) => exitCode,
    stdout: ({ stdout }: Execution) => plain(stdout),
    stderr: ({ stderr }: Execution) => plain(stderr),
  };
  const fields = Object.entries(read).flatMap(([field, take]) =>
    take(before) === take(after) ? [] : [field],
  );
  const compared = compareFiles(files, before, after);
  return {
    fields: [
      ...fields,
      ...(haveSameResults(before, after, plain) ? [] : ['results']),
      ...(compared.files.length === 0 ? [] : ['files']),
    ],
    ...compared,
  };
}

/** The folder of a session may have its id in its name; and where nothing is mounted, code sees real folders. */
function toPlainPaths(text: string, place: Workspace): string {
  const real = [place, ...(place.beside === undefined ? [] : [place.beside])];
  return real
    .reduce(
      (shown, { workspace, artifacts }) =>
        shown.replaceAll(workspace, '/workspace').replaceAll(artifacts, '/artifacts'),
      text,
    )
    .replaceAll(/sess_[0-9a-f]{12}/g, 'sess_');
}

/** Ids of files differ every time. Where a release before kept no hash, the size has to do. */
function haveSameResults(before: Execution, after: Execution, plain: (text: string) => string): boolean {
  if (before.results.length !== after.results.length || before.moreResults !== after.moreResults)
    return false;
  return before.results.every((result, index) => {
    const other = after.results[index]!;
    return (
      plain(result.text) === plain(other.text) &&
      result.parts.length === other.parts.length &&
      result.parts.every((part, at) => isSamePart(part, other.parts[at]!))
    );
  });
}

type Part = Execution['results'][number]['parts'][number];

const isSamePart = (one: Part, other: Part): boolean =>
  one.mime === other.mime &&
  (one.sha256 === null || other.sha256 === null ? one.size === other.size : one.sha256 === other.sha256);

const maxNamedFiles = 20;

function compareFiles(
  { listMade }: MadeFiles,
  before: Execution,
  after: Execution,
): Pick<ComparedCells, 'files' | 'notes'> {
  const [madeThen, madeNow] = [listMade(before), listMade(after)];
  if (madeThen === null || madeNow === null)
    return { files: [], notes: [`The files of cell ${before.cell} were not compared: nobody hashed them.`] };
  const [then, now] = [toHashes(before, madeThen.files), toHashes(after, madeNow.files)];
  const paths = [...new Set([...then.keys(), ...now.keys()])];
  const isUnknown = (path: string): boolean => then.get(path) === null || now.get(path) === null;
  const unknown = paths.filter(isUnknown);
  const files = paths.filter((path) => !isUnknown(path) && then.get(path) !== now.get(path));
  const more = madeThen.more + madeNow.more;
  return {
    files: files.slice(0, maxNamedFiles).map((path) => toPathOf(after, path)),
    notes: [
      ...(unknown.length === 0
        ? []
        : [
            `Not compared of cell ${before.cell}, since nobody hashed them: ${unknown.slice(0, maxNamedFiles).map(quoteName).join(', ')}${unknown.length > maxNamedFiles ? ` and ${unknown.length - maxNamedFiles} more` : ''}.`,
          ]),
      ...(more === 0
        ? []
        : [`Cell ${before.cell} made more files than are hashed, which were not compared.`]),
    ],
  };
}

const ownFolderMark = './';

/** The hashes by path; from the working folder on for what is in there. */
function toHashes(
  { workingDir }: Execution,
  files: readonly { readonly path: string; readonly sha256: string | null }[],
): Map<string, string | null> {
  const folder = `${workingDir.replace(/\/+$/, '')}/`;
  const toKey = (path: string): string =>
    path.startsWith(folder) ? `${ownFolderMark}${path.slice(folder.length)}` : path;
  return new Map(files.map(({ path, sha256 }) => [toKey(path), sha256]));
}

const toPathOf = ({ workingDir }: Execution, key: string): string =>
  key.startsWith(ownFolderMark)
    ? `${workingDir.replace(/\/+$/, '')}/${key.slice(ownFolderMark.length)}`
    : key;
