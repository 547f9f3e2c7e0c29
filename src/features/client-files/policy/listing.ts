/**
 * Filters what a client listed, against the allow-list: bounded in entries, characters and time, and it yields to the
 * event loop. Nothing that a client says is believed. How a listing is written as text is in `requests/commands.ts`.
 */
import { startTimeSlices, type TimeSlices } from '../../../platform/concurrency/yield.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { createGlob } from '../../../platform/text/glob.ts';
import type { ClientEntry, ClientListing, ClientPath } from '../client-file.ts';
import { afterFolder, isWithinFolder, toRelativePath, type AllowList } from './allowed.ts';
import { isRefusal, type ProjectRoot } from './refusal.ts';

export interface ListingOptions {
  readonly recursive: boolean;
  /** About paths from the folder on that was asked for; null for all. */
  readonly pattern: string | null;
  /** From where on the client tells paths; from the project's folder where nothing is said. */
  readonly from?: PathBase;
  /** How many entries are kept. */
  readonly most?: number;
  /** How many slices of time the work may take, each about ten milliseconds. */
  readonly mostSlices?: number;
  readonly signal?: AbortSignal;
}

export interface FilteredListing extends Omit<ClientListing, 'rung' | 'localPath'> {
  /** How many of the hidden were not below the folder at all: a client that lists such does not keep to the question. */
  readonly outside: number;
  /** The first of those, as the client wrote it, cut for the log. */
  readonly firstOutside: string | null;
}

const maxListedEntries = 100_000;
/** How many are judged for each that is kept: whoever sends more of what is not to be seen sends it for nothing. */
const maxCheckedPerKept = 10;
/** Of all paths together: a hundred thousand of the longest would fill memory. */
const maxClientListingCharacters = 32 * 1024 * 1024;
const maxGlobLength = 1024;
/** Ten times what a hundred thousand take. Only paths and patterns that are made for it take longer. */
const maxTimeSlices = 1000;

interface KeptEntries {
  readonly entries: Map<string, ClientEntry>;
  /** Those as well that do not fit the pattern. */
  readonly links: Set<string>;
  /** Folders of listed entries, whether or not they were listed themselves: browsers list only files. */
  readonly folders: Set<string>;
  characters: number;
  /** How many may be seen, whether or not they fit the pattern. */
  seen: number;
  hidden: number;
  outside: number;
  firstOutside: string | null;
}

/** The allowed entries of a client's listing, each once, sorted by path. It stops reading at its limits. */
export async function filterListing(
  grounds: AnswerRules,
  asked: ClientPath,
  raw: RawEntries,
  {
    recursive,
    pattern,
    from = 'root',
    most = maxListedEntries,
    mostSlices = maxTimeSlices,
    signal,
  }: ListingOptions,
): Promise<FilteredListing> {
  const kept = createKeptEntries();
  const isWanted = createPathFilter(asked, recursive, pattern);
  let judged = 0;
  const { end, hidden } = await readEach(raw, startTimeSlices(signal), mostSlices, (one) => {
    const entry = checkListedEntry(grounds, asked, one, from, kept);
    if (++judged > most * maxCheckedPerKept) return false;
    if (entry === null) return true;
    if (!keepEntry(kept, entry, isWanted(entry.path), most)) return false;
    noteFolders(kept, asked, entry.path);
    return true;
  });
  if (end === 'unknown' && kept.seen + kept.outside === 0) throw notAListingError();
  kept.hidden += hidden;
  const hasRoom = addFolders(kept, isWanted, most);
  return { path: asked.relative, ...toOrderedListing(kept), cut: end !== 'whole' || !hasRoom };
}

const createKeptEntries = (): KeptEntries => ({
  entries: new Map(),
  links: new Set(),
  folders: new Set(),
  characters: 0,
  seen: 0,
  hidden: 0,
  outside: 0,
  firstOutside: null,
});

/** Whoever sends an error page, or a command that failed, has not said that the folder is empty. */
const notAListingError = (): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    'This is not a listing, or it ended before its first entry. Call again and run the command that you get; it prints what is wrong. A listing made by hand ends with the line {"end":true}.',
  );

function checkListedEntry(
  grounds: AnswerRules,
  asked: ClientPath,
  one: unknown,
  from: PathBase,
  kept: KeptEntries,
): ClientEntry | null {
  const path = readEntryPath(one);
  // A path alone may be a line of an error page: whoever says what it is has looked at a file.
  const rules = readEntryField(one, 'type') === null ? toStrictRules(grounds) : grounds;
  const verdict = path === null ? null : checkAnswer(rules, asked, path, from);
  if (verdict?.is === 'seen') {
    kept.seen++;
    return toClientEntry(one, verdict.relative);
  }
  kept.hidden++;
  if (verdict?.is === 'outside') {
    kept.outside++;
    kept.firstOutside ??= path!.slice(0, 4096).toWellFormed();
  }
  return null;
}

/** The pattern was for the client to apply; it is applied again, since nobody knows whether that did. */
function createPathFilter(
  asked: ClientPath,
  recursive: boolean,
  pattern: string | null,
): (path: string) => boolean {
  if (pattern !== null && pattern.length > maxGlobLength)
    throw new WorkcrateError('invalid_input', `A pattern may have at most ${maxGlobLength} characters.`);
  const fits = pattern === null ? () => true : createGlob(pattern);
  return (path) => {
    const below = path === asked.relative ? '' : afterFolder(asked.relative, path);
    return below !== '' && (recursive || !below.includes('/')) && fits(below);
  };
}

/** The first that tells of a path holds. False once there is no room. */
function keepEntry(kept: KeptEntries, entry: ClientEntry, isWanted: boolean, most: number): boolean {
  const { entries, links } = kept;
  if (entry.type === 'link' && !links.has(entry.path)) {
    links.add(entry.path);
    kept.characters += entry.path.length;
  }
  if (isWanted && !entries.has(entry.path)) {
    if (entries.size >= most) return false;
    entries.set(entry.path, entry);
    kept.characters += entry.path.length;
  }
  return links.size <= maxListedEntries && kept.characters <= maxClientListingCharacters;
}

function noteFolders(kept: KeptEntries, asked: ClientPath, path: string): void {
  const { folders } = kept;
  for (let at = path.lastIndexOf('/'); at > asked.relative.length; at = path.lastIndexOf('/', at - 1)) {
    const folder = path.slice(0, at);
    if (folders.has(folder)) return;
    folders.add(folder);
    kept.characters += folder.length;
  }
}

/** False where there is no room for all. */
function addFolders(
  { entries, folders, links }: KeptEntries,
  isWanted: (path: string) => boolean,
  most: number,
): boolean {
  for (const path of folders) {
    if (entries.has(path) || links.has(path) || !isWanted(path) || isBehindLink(links, path)) continue;
    if (entries.size >= most) return false;
    entries.set(path, { path, type: 'folder', size: null, mtime: null });
  }
  return true;
}

/** What lies behind a link lies elsewhere: a client that lists it has followed the link. */
function toOrderedListing(kept: KeptEntries): Omit<FilteredListing, 'path' | 'cut'> {
  const { entries, links, hidden, outside, firstOutside } = kept;
  const own = [...entries.values()].filter(({ path }) => links.size === 0 || !isBehindLink(links, path));
  own.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { entries: own, hidden: hidden + entries.size - own.length, outside, firstOutside };
}

function isBehindLink(links: ReadonlySet<string>, path: string): boolean {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
    if (links.has(path.slice(0, at))) return true;
  return false;
}

/** As a client sent them: anything at all. Whoever reads them for us may return how they ended. */
export type RawEntries = Iterable<unknown, RawEnd | void> | AsyncIterable<unknown, RawEnd | void>;

export interface RawEnd {
  /** `unknown` where it broke off without a word, so that it may have been anything. */
  readonly end: 'whole' | 'cut' | 'unknown';
  /** How many entries have names that cannot be shown. */
  readonly hidden: number;
}

/** Where nobody says otherwise. */
const wholeEnd: RawEnd = { end: 'whole', hidden: 0 };
const truncatedEnd: RawEnd = { end: 'cut', hidden: 0 };

/**
 * Gives each to `take` until that has its fill, or the work has taken too many slices. What a generator returns would be
 * lost on a `for await`, and another generator around it takes half as long again.
 */
async function readEach(
  raw: RawEntries,
  slices: TimeSlices,
  mostSlices: number,
  take: (one: unknown) => boolean,
): Promise<RawEnd> {
  const entries = getRawIterator(raw);
  let [taken, hasEnded] = [0, false];
  try {
    for (;;) {
      const step = await entries.next();
      hasEnded = step.done === true;
      if (step.done) return step.value ?? wholeEnd;
      if (slices.isOver()) {
        if (++taken > mostSlices) return truncatedEnd;
        await slices.next();
      }
      if (!take(step.value)) return truncatedEnd;
    }
  } finally {
    if (!hasEnded) await entries.return?.();
  }
}

type RawIterator = Iterator<unknown, RawEnd | void> | AsyncIterator<unknown, RawEnd | void>;

const getRawIterator = (raw: RawEntries): RawIterator =>
  Symbol.asyncIterator in raw ? raw[Symbol.asyncIterator]() : raw[Symbol.iterator]();

type EntryType = ClientEntry['type'];

/** As programs call them, among them the letters of find(1). */
const entryTypes: ReadonlyMap<unknown, EntryType> = new Map<unknown, EntryType>([
  ['file', 'file'],
  ['f', 'file'],
  ['folder', 'folder'],
  ['directory', 'folder'],
  ['dir', 'folder'],
  ['d', 'folder'],
  ['link', 'link'],
  ['symlink', 'link'],
  ['l', 'link'],
]);

/** The last moment that a Date can hold. */
const lastMoment = 8.64e15;

/** A path alone, or something with a path; null for anything else. */
function readEntryPath(raw: unknown): string | null {
  const path = typeof raw === 'string' ? raw : readEntryField(raw, 'path');
  return typeof path === 'string' && path !== '' ? path : null;
}

/** What a client said, as far as it can be true. */
function toClientEntry(raw: unknown, path: string): ClientEntry {
  const type = readEntryType(raw);
  const [size, mtime] = [readEntryField(raw, 'size'), readEntryField(raw, 'mtime')];
  return {
    path,
    type,
    size: type === 'file' && isEntryCount(size) ? size : null,
    mtime: typeof mtime === 'number' && mtime >= 0 && mtime <= lastMoment ? Math.trunc(mtime) : null,
  };
}

/** Without a type, a slash at the end means a folder. */
function readEntryType(raw: unknown): EntryType {
  const type = readEntryField(raw, 'type') ?? null;
  if (type !== null) return entryTypes.get(type) ?? 'other';
  return readEntryPath(raw)?.endsWith('/') ? 'folder' : 'file';
}

const isEntryCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** Own fields only: what came as JSON has no others. */
function readEntryField(raw: unknown, name: 'path' | 'type' | 'size' | 'mtime'): unknown {
  if (typeof raw !== 'object' || raw === null || !Object.hasOwn(raw, name)) return null;
  return (raw as Record<string, unknown>)[name];
}

/** From where on a client tells paths: the project's folder, or the folder that was asked for. */
export type PathBase = 'root' | 'folder';

export interface AnswerRules {
  readonly root: ProjectRoot | null;
  readonly allowed: AllowList;
}

/** Where odd names are refused, whatever the client's system takes. */
const toStrictRules = ({ root, allowed }: AnswerRules): AnswerRules => ({
  root: root && { ...root, isPosix: false },
  allowed,
});

/** The verdict about a path that a client sent back. */
export type AnswerVerdict =
  | { readonly is: 'seen'; readonly relative: string }
  /** It may not be seen, which the client need not know. */
  | { readonly is: 'hidden' }
  /** It is not below what was asked for, or written to lead elsewhere. */
  | { readonly is: 'outside' };

const hiddenVerdict: AnswerVerdict = { is: 'hidden' };
const outsideVerdict: AnswerVerdict = { is: 'outside' };
const outsideKinds = new Set<unknown>([
  'absolute',
  'backslash',
  'drive',
  'encoded',
  'look_alike',
  'nul',
  'traversal',
  'unc',
]);

export function checkAnswer(
  { root, allowed }: AnswerRules,
  asked: ClientPath,
  answered: string,
  from: PathBase,
): AnswerVerdict {
  try {
    const relative = toRelativePath(root, toProjectPath(root, asked, answered, from));
    if (!isWithinFolder(asked.relative, relative)) return outsideVerdict;
    return allowed.refuses(relative) === null ? { is: 'seen', relative } : hiddenVerdict;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return outsideKinds.has(error.details['kind']) ? outsideVerdict : hiddenVerdict;
  }
}

/** An absolute path never starts from a folder, whatever the client says. */
function toProjectPath(
  root: ProjectRoot | null,
  asked: ClientPath,
  answered: string,
  from: PathBase,
): string {
  const absolute = root?.isPosix === true ? /^\// : /^(?:[/\\]|[a-z]:)/i;
  const isWhole = from === 'root' || asked.relative === '' || absolute.test(answered);
  return isWhole ? answered : `${asked.relative}/${answered}`;
}
