/**
 * Why a path is refused: suspicious forms on Windows and POSIX alike, the project's root, and the errors.
 * `path_refused` is a violation, `path_not_allowed` a mistake. Whether a path is on the allow-list is decided in
 * `allowed.ts`.
 */
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { PathRefusalKind } from '../../../platform/paths/paths.ts';

/** What no path about the client's machine may hold, beyond what none about ours may. */
const policyReasons = {
  hidden:
    'it is hidden, or in a hidden folder, which must be allowed by name; the operator can add it to filesystem.allowed_paths in its config file or to --client-paths',
  control: 'it holds a control character',
  invisible: 'it has characters that are invisible or reverse the text; write the plain name',
  percent: 'it holds a percent encoding; write the path as it is',
  stream: 'it holds ":", which names a drive or a stream within a file on Windows',
  device: 'it names a device on Windows',
  short_name: 'it may be the short form of another name on Windows; write the long one',
  edges: 'a name in it ends with a dot, or begins or ends with a space, which Windows leaves out',
  wildcard:
    'it holds one of * ? < > " | or {a,b}, which Windows does not take in a name; to find files, list the folder with a pattern',
  variable: 'it holds a variable of a shell; write the path itself',
  home: 'it begins in a home folder; name it from the project down',
  alike: 'it becomes a forbidden path when its characters are normalised; use plain characters',
} as const;

export type OddKind = keyof typeof policyReasons;

const fromProject = "name it from the project's folder, such as docs/a.csv";
/** What `platform/paths/` says of roots, in words for somebody who thinks of a project. */
const projectReasons: Readonly<Record<string, string>> = {
  absolute: `it is absolute; ${fromProject}`,
  drive: `it names a drive; ${fromProject}`,
  unc: `it names a network share; ${fromProject}`,
  traversal: `it leads above the project's folder; ${fromProject}`,
};

/** Why a path was refused: the `details.kind` of the error. */
export type PolicyKind = PathRefusalKind | OddKind | 'not_allowed';

/**
 * Kinds that lead out of the project, or would once somebody decodes them: violations, `path_refused`. All others stay
 * inside and are mistakes, `path_not_allowed` (E4).
 */
const kindsLeadingOut: ReadonlySet<string> = new Set<PolicyKind>([
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

/**
 * What is a plain name on Linux and macOS, where it is opened and quoted as it is. It is refused only where the client's
 * system is Windows, or is not known.
 */
const literalKinds: ReadonlySet<string> = new Set<PolicyKind>([
  'device',
  'edges',
  'percent',
  'short_name',
  'stream',
  'variable',
  'wildcard',
]);

const literalHint =
  "If the file is really called that, send it with request_upload, then name it in files of execute_code. Where the project's folder is known to be on Linux or macOS, such names work as they are.";

/** Far more than anybody has to see, and short enough for a log. */
const maxRefusedPath = 4096;

export function oddPathError(kind: OddKind, path: string): WorkcrateError {
  const hint = literalKinds.has(kind) ? ` ${literalHint}` : '';
  return toPolicyError(
    path,
    kind,
    `The path ${quoteClientPath(path)} was refused: ${policyReasons[kind]}.${hint}`,
  );
}

export type PathPurpose = 'read' | 'list';

/** Tells a model what it can do by itself, and what it can ask for, and of whom: `setting` allows more. */
export function pathNotAllowedError(
  path: string,
  purpose: PathPurpose,
  { allowed, setting }: { readonly allowed: readonly string[]; readonly setting: string },
): WorkcrateError {
  const those =
    allowed.length === 0
      ? 'nothing'
      : `${allowed.slice(0, 20).map(quoteClientPath).join(', ')}, and all below them`;
  const instead =
    purpose === 'list'
      ? ''
      : ' Send any other file with request_upload, then name it in files of execute_code.';
  const message = `The path ${quoteClientPath(path)} is not allowed. Allowed in the project: ${those}.${instead} The operator can allow more with ${setting}.`;
  return toPolicyError(path, 'not_allowed', message);
}

/** Whether a path may not be asked for, be it a violation or a mistake. */
export const isRefusal = (error: unknown): error is WorkcrateError =>
  isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'path_not_allowed');

/** Those that were made here. */
const policyRefusals = new WeakSet<WorkcrateError>();

/** The same refusal, as one of the policy: it knows the path as it was given, and whether that began with the root. */
export function toPolicyRefusal(error: unknown, path: string, isBelowRoot: boolean): unknown {
  if (!isRefusal(error) || policyRefusals.has(error)) return error;
  const kind = String(error.details['kind']);
  // `/project/a:` stays in the project; only the path from there on, `a:`, is taken for a drive.
  if (kind === 'drive' && isBelowRoot) return oddPathError('stream', path);
  const words = projectReasons[kind];
  return toPolicyError(
    path,
    kind,
    words === undefined ? error.message : `The path ${quoteClientPath(path)} was refused: ${words}.`,
  );
}

function toPolicyError(path: string, kind: string, message: string): WorkcrateError {
  const details = { kind, path: path.slice(0, maxRefusedPath).toWellFormed() };
  const isViolation = kind === 'backslash' ? leadsOutOnWindows(path) : kindsLeadingOut.has(kind);
  const error = isViolation
    ? new WorkcrateError('path_refused', `SecurityError: ${message}`, { details })
    : new WorkcrateError('path_not_allowed', message, { details });
  policyRefusals.add(error);
  return error;
}

/** `docs\\a.md` is how people on Windows write a path of their project. */
const leadsOutOnWindows = (path: string): boolean =>
  path.startsWith('\\') || path.split(/[/\\]/).some((name) => name.trim() === '..');

/** Escaped and cut, so that a hostile path can neither forge a line nor fill a log. */
function quoteClientPath(path: string): string {
  const start = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return JSON.stringify(start).replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (mark) => {
    return `\\u${mark.codePointAt(0)?.toString(16).padStart(4, '0')}`;
  });
}

/** The project's folder on the client's machine, which may be of another system. */
export interface ProjectRoot {
  /** As its system writes it, without a slash at its end. */
  readonly text: string;
  /** Whether it is on Linux, macOS or the like, where nearly every name is taken as it is. */
  readonly isPosix: boolean;
  /** What follows the folder in an absolute path, with `/` between names; null for a path that is not below it. */
  after(path: string): string | null;
  join(relative: string): string;
}

const maxRootLength = 4096;

/** An absolute path of POSIX, a drive's or a share's. The root of a whole filesystem is no project. */
export function parseRoot(text: string): ProjectRoot {
  const isWindows = /^(?:[a-z]:[/\\]|\\\\[^/\\])/i.test(text);
  const root = (isWindows ? toForwardSlashes(text) : text).replace(/(?<!\/)\/+$/, '');
  if (text.length > maxRootLength || !isBelowFileSystemRoot(root, isWindows)) throw invalidRootError();
  return isWindows ? createWindowsRoot(root) : createPosixRoot(root);
}

function createPosixRoot(root: string): ProjectRoot {
  return {
    text: root,
    isPosix: true,
    after: (path) => cutFolderPrefix(root, path),
    join: (relative) => (relative === '' ? root : `${root}/${relative}`),
  };
}

/** Backslashes are separators in absolute paths alone, which say by their beginning what system they are of. */
function createWindowsRoot(root: string): ProjectRoot {
  const text = root.replaceAll('/', '\\');
  return {
    text,
    isPosix: false,
    // Long ones are refused anyway.
    after: (path) => (path.length > 2 * maxRootLength ? null : cutFolderPrefix(root, toForwardSlashes(path))),
    join: (relative) => (relative === '' ? text : `${text}\\${relative.replaceAll('/', '\\')}`),
  };
}

/** Letter by letter, but for that of a drive, which programs write as they like. */
const toForwardSlashes = (path: string): string =>
  path.replaceAll('\\', '/').replace(/^[a-z]:/, (drive) => drive.toUpperCase());

function cutFolderPrefix(root: string, path: string): string | null {
  if (path === root) return '';
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
}

function isBelowFileSystemRoot(root: string, isWindows: boolean): boolean {
  const below = isWindows
    ? /^(?:[A-Z]:|\/\/[^/]+\/[^/]+)\/(.+)$/s.exec(root)?.[1]
    : /^\/(.+)$/s.exec(root)?.[1];
  if (below === undefined || !root.isWellFormed() || /\p{Cc}/u.test(root)) return false;
  return below.split('/').every((name) => !['', '.', '..'].includes(name.trim()));
}

const invalidRootError = () =>
  new WorkcrateError(
    'invalid_input',
    'The project\'s folder has to be an absolute path without "..", and not the root of a filesystem. Name the folder that the project lies in.',
  );

interface OddForm {
  readonly kind: OddKind;
  readonly form: RegExp;
  /** Whether a path that takes this form once its characters are made plain is refused too. */
  readonly plain: boolean;
}

const deviceForm =
  /(?:^|\/)(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])\s*(?:\.[^/]*)?(?:\/|$)/i;

const shortNameForm = /(?:^|\/)[^./]{1,7}~\d+(?:\.[^./]{0,3})?(?:\/|$)/;

/** Whether a disk of Windows, which other systems mount too, may know another name of it by this one. */
export const mayBeShortName = (path: string): boolean => shortNameForm.test(path);

/**
 * Forms of a path in which some system, shell or careless program takes a name for another one. Where it is not known
 * which system the client has, the rules of all of them hold. Brackets are left: frameworks name files `[id].ts`. So are
 * `：` and `？`, which are honest in Chinese and Japanese, and lead to no other folder where they are taken for plain ones.
 */
const oddForms: readonly OddForm[] = [
  { kind: 'control', form: /[\p{Cc}\p{Zl}\p{Zp}]/u, plain: false },
  // HFS+ leaves some of them out when it compares names. A heart may be a red one.
  {
    kind: 'invisible',
    form: /[\p{Cf}\p{Default_Ignorable_Code_Point}](?<!\p{Extended_Pictographic}\ufe0f)/u,
    plain: false,
  },
  { kind: 'stream', form: /:/, plain: false },
  // Not `$id` within a path, which is a name of routes.
  { kind: 'variable', form: /^\$|%[A-Za-z_][^%/]*%|\$[({]|`|\$[A-Z_][A-Z0-9_]+(?![a-z])/, plain: true },
  { kind: 'percent', form: /%(?:[0-9a-f]{2}|u[0-9a-f]{4})/i, plain: true },
  { kind: 'home', form: /^~/, plain: true },
  { kind: 'device', form: deviceForm, plain: true },
  { kind: 'short_name', form: shortNameForm, plain: true },
  { kind: 'edges', form: /(?:^|\/)\s|[\s.](?:\/|$)/, plain: false },
  // Windows takes < > and " for wildcards as well.
  { kind: 'wildcard', form: /[*?<>"|]|\{[^/{]*(?:,|\.\.)/, plain: false },
];

/**
 * Whether a path is short, and of nothing but letters, digits, `_` and `-`, with single dots and slashes between them.
 * Most of a long listing are, and there is nothing in them to be decoded or normalised.
 */
export const isPlainPath = (path: string): boolean => /^(?=.{1,255}$)[\w-]+(?:[./][\w-]+)*$/.test(path);

/** Why a path of names with single slashes between them may not be asked for. */
export function findOddKind(path: string, isPosix: boolean): OddKind | null {
  if (isPlainPath(path)) return !isPosix && deviceForm.test(path) ? 'device' : null;
  const odd = oddForms.find(
    ({ kind, form }) => form.test(path) && !(isPosix && isLiteralRefusal(kind, path)),
  );
  return odd?.kind ?? (becomesOdd(path) ? 'alike' : null);
}

/** A path that begins with a variable leads out once a program fills it in; `%2eenv` is hidden once it is decoded. */
function isLiteralRefusal(kind: OddKind, path: string): boolean {
  if (!literalKinds.has(kind)) return false;
  if (kind === 'variable') return !/^(?:[$`]|%[A-Za-z_][^%/]*%)/.test(path);
  // Two bytes for one of ASCII are how a careless decoder is led to read a dot.
  return (
    kind !== 'percent' || (!/%(?:c[01]|e0|f0)/i.test(path) && countHidden(decode(path)) === countHidden(path))
  );
}

/** However often it was encoded: paths that were more than some times are refused before. */
function decode(path: string): string {
  const form = path.replace(/%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi, (_, wide?: string, byte?: string) =>
    String.fromCharCode(parseInt(wide ?? byte!, 16)),
  );
  return form === path ? path : decode(form);
}

export const hasHiddenName = (path: string): boolean => path.startsWith('.') || path.includes('/.');

/** Whether a path takes an odd form, or a name becomes a hidden one, once its characters are made plain. */
function becomesOdd(path: string): boolean {
  const made = path.replace(/(?<=^|\/)[\u0701\u0702\u3002\ua4f8\ua60e]/g, '.').normalize('NFKC');
  if (made === path) return false;
  if (oddForms.some(({ form, plain }) => plain && form.test(made) && !form.test(path))) return true;
  return hasHiddenName(made) && countHidden(made) > countHidden(path);
}

const countHidden = (path: string): number => path.split('/').filter(hasHiddenName).length;
