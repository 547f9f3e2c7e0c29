import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { RefusalKind } from '../../paths/paths.ts';

/** What no path about the client's machine may hold, beyond what none about ours may. */
const reasons = {
  hidden:
    'it is hidden, or in a hidden folder, which must be allowed by name; the operator can add it to filesystem.allowed_paths in its config file or to --client-paths',
  control: 'it holds a control character',
  invisible: 'it has characters that are invisible or reverse the text; write the plain name',
  percent: 'it holds a percent encoding; write the path as it is',
  stream: 'it holds ":", which names a drive or a stream within a file on some systems',
  device: 'it names a device on Windows',
  short_name: 'it may be the short form of another name on Windows; write the long one',
  edges: 'a name in it ends with a dot, or begins or ends with a space, which some systems leave out',
  wildcard: 'it holds a wildcard; name one file, or list the folder with a pattern',
  variable: 'it holds a variable of a shell; write the path itself',
  home: 'it begins in a home folder; name it from the project down',
  alike: 'it becomes a forbidden path when its characters are normalised; use plain characters',
} as const;

export type OddKind = keyof typeof reasons;

const fromProject = "name it from the project's folder, such as docs/a.csv";
/** What `paths/` says of roots, in words for somebody who thinks of a project. */
const ownWords: Readonly<Record<string, string>> = {
  absolute: `it is absolute; ${fromProject}`,
  drive: `it names a drive; ${fromProject}`,
  unc: `it names a network share; ${fromProject}`,
  traversal: `it leads above the project's folder; ${fromProject}`,
};

/** Why a path was refused; stands in the `details.kind` of the error. */
export type PolicyKind = RefusalKind | OddKind | 'not_allowed';

/**
 * Kinds that lead out of the project, or would once somebody decodes them: violations, `path_refused`. All others stay
 * inside and are mistakes, `path_not_allowed` (E4).
 */
const leadsOut: ReadonlySet<string> = new Set<PolicyKind>([
  'absolute',
  'alike',
  'drive',
  'encoded',
  'home',
  'look_alike',
  'nul',
  'traversal',
  'unc',
  'variable',
]);

/** Far more than anybody has to see, and short enough for a log. */
const mostShown = 4096;

export function refused(kind: OddKind, path: string): WorkcrateError {
  return refusal(path, kind, `The path ${quoted(path)} was refused: ${reasons[kind]}.`);
}

export type Purpose = 'read' | 'list';

/** Tells a model what it can do by itself, and what it can ask for, and of whom: `setting` allows more. */
export function notAllowed(
  path: string,
  purpose: Purpose,
  { allowed, setting }: { readonly allowed: readonly string[]; readonly setting: string },
): WorkcrateError {
  const those =
    allowed.length === 0 ? 'nothing' : `${allowed.slice(0, 20).map(quoted).join(', ')}, and all below them`;
  const instead =
    purpose === 'list'
      ? ''
      : ' Send any other file with request_upload, then name it in files of execute_code.';
  const message = `The path ${quoted(path)} is not allowed. Allowed in the project: ${those}.${instead} The operator can allow more with ${setting}.`;
  return refusal(path, 'not_allowed', message);
}

/** Whether a path may not be asked for, be it a violation or a mistake. */
export const isRefusal = (error: unknown): error is WorkcrateError =>
  isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'path_not_allowed');

/** Those that were made here. */
const own = new WeakSet<WorkcrateError>();

/** The same refusal, as one of the policy: it knows the path as it was given. */
export function asRefusal(error: unknown, path: string): unknown {
  if (!isRefusal(error) || own.has(error)) return error;
  const kind = String(error.details['kind']);
  // A drive stands first. Elsewhere a colon is part of a name, such as `docs/a:b.md`.
  if (kind === 'drive' && !/^(?:\.?\/)*[a-z]:/i.test(path)) return refused('stream', path);
  const words = ownWords[kind];
  return refusal(
    path,
    kind,
    words === undefined ? error.message : `The path ${quoted(path)} was refused: ${words}.`,
  );
}

function refusal(path: string, kind: string, message: string): WorkcrateError {
  const details = { kind, path: path.slice(0, mostShown).toWellFormed() };
  const isViolation = kind === 'backslash' ? leadsOutOnWindows(path) : leadsOut.has(kind);
  const error = isViolation
    ? new WorkcrateError('path_refused', `SecurityError: ${message}`, { details })
    : new WorkcrateError('path_not_allowed', message, { details });
  own.add(error);
  return error;
}

/** `docs\\a.md` is how people on Windows write a path of their project. */
const leadsOutOnWindows = (path: string): boolean =>
  path.startsWith('\\') || path.split(/[/\\]/).some((name) => name.trim() === '..');

/** Escaped and cut, so that a hostile path can neither forge a line nor fill a log. */
function quoted(path: string): string {
  const start = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return JSON.stringify(start).replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (mark) => {
    return `\\u${mark.codePointAt(0)?.toString(16).padStart(4, '0')}`;
  });
}
