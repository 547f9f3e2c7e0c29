import { getErrno, WorkcrateError, type ErrorCode } from '../errors.ts';

const refusalReasons = {
  empty: 'it names nothing; name a file or folder',
  nul: 'it holds a NUL character',
  not_unicode: 'it holds half of a surrogate pair, which no file name can hold',
  absolute: 'it is absolute; name it from the root down',
  traversal: 'it holds "..", and nothing above the root can be reached',
  backslash: 'it holds a backslash; folders are separated by "/"',
  separator: 'it is a path; give a single name without "/"',
  drive: 'it names a drive; name it from the root down',
  unc: 'it names a network share; name it from the root down',
  encoded: 'it is another path when decoded; write the plain path',
  look_alike: 'it has characters that look like "/", ".", ":" or a backslash; use the plain ones',
  too_long: 'a name may have at most 255 bytes and a path 4096',
  too_deep: 'it passes through more than 256 folders',
  link: 'it leads through a link that may not be followed; name the file itself',
  hidden: 'it is hidden, or leads to what is; copy the file to a plain name',
  link_loop: 'its links form a loop',
  not_regular: 'it is not a regular file',
  not_folder: 'it is not a folder',
  not_empty: 'the folder is not empty',
  changed: 'it was replaced while it was being opened; try again',
  busy: 'another program uses it; try again',
  denied: 'the server has no permission to use it',
} as const;

/** Why a path was refused: the `details.kind` of a `path_refused`. */
export type PathRefusalKind = keyof typeof refusalReasons;

/** A refusal by code that does not know the path as the caller wrote it. `toPathError` adds that. */
export class PathRefusal extends Error {
  readonly kind: PathRefusalKind;

  constructor(kind: PathRefusalKind) {
    super(refusalReasons[kind]);
    this.kind = kind;
  }
}

const refusalKindsByErrno: Readonly<Record<string, PathRefusalKind>> = {
  ELOOP: 'link',
  ENXIO: 'not_regular',
  EISDIR: 'not_regular',
  ENOTEMPTY: 'not_empty',
  ENAMETOOLONG: 'too_long',
  EAGAIN: 'busy',
  EBUSY: 'busy',
  EACCES: 'denied',
  EPERM: 'denied',
};

const pathFailuresByErrno: Readonly<Record<string, [ErrorCode, string]>> = {
  ENOENT: ['path_not_found', 'there is no such file or folder'],
  ENOTDIR: ['path_not_found', 'there is no such file or folder'],
  EEXIST: ['already_exists', 'something of that name already exists'],
  EINVAL: ['invalid_input', 'the filesystem has no such names, or a folder was to be moved into itself'],
  EILSEQ: ['invalid_input', 'the filesystem has no such names'],
  EXDEV: ['invalid_input', 'it cannot be moved to another filesystem; copy it'],
  EMFILE: ['out_of_descriptors', 'the server has no file descriptors left; try again later'],
  ENFILE: ['out_of_descriptors', 'the machine has no file descriptors left; try again later'],
  ENOSPC: ['storage_full', 'the disk is full; free some space'],
  EDQUOT: ['storage_full', 'the disk quota is used up; free some space'],
  EROFS: ['storage_read_only', 'the filesystem is read-only'],
};

export function pathRefusedError(kind: PathRefusalKind, path: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'path_refused',
    `The path ${quotePath(path)} was refused: ${refusalReasons[kind]}.`,
    {
      cause,
      details: { kind },
    },
  );
}

/** The error that a caller sees for one that came up at `path`. */
export function toPathError(error: unknown, path: string): unknown {
  if (error instanceof PathRefusal) return pathRefusedError(error.kind, path);
  const errno = getErrno(error);
  if (errno === null) return error;
  const kind = refusalKindsByErrno[errno];
  if (kind !== undefined) return pathRefusedError(kind, path, error);
  const [code, reason] = pathFailuresByErrno[errno] ?? ['storage_failed', `the filesystem answered ${errno}`];
  return new WorkcrateError(code, `The path ${quotePath(path)} cannot be used: ${reason}.`, { cause: error });
}

/** Escaped and cut, so that a hostile name can neither forge a log line nor fill the log. */
function quotePath(path: string): string {
  const start = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return JSON.stringify(start).replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (mark) => {
    return `\\u${mark.codePointAt(0)?.toString(16).padStart(4, '0')}`;
  });
}
