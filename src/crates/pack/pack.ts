import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { WorkcrateError } from '../../errors.ts';
import type { Executions } from '../../executions/executions.ts';
import type { Files } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Source, SourceObject } from '../../storage/source.ts';
import { packageVersion } from '../../version.ts';
import type { Places } from '../../workspaces/workspaces.ts';
import { archiveOf, type Archive } from './archive.ts';
import { languageNames } from './entities.ts';
import { addStored, gatherRun, startGathering, textMember, type Gathering } from './gather.ts';
import {
  metadataName,
  metadataOf,
  objectName,
  previewName,
  type About,
  type Author,
  type PackedCrate,
  type PackedFile,
  type PackedRun,
} from './packed.ts';
import { previewOf } from './preview.ts';
import type { ReserveRoom } from './quota.ts';

export { ownerOfObject, type Author } from './packed.ts';
export { createPackQuota } from './quota.ts';

export interface PackingOptions {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly places: Pick<Places, 'find'>;
  readonly executions: Pick<Executions, 'get'>;
  /** Where packed crates go. */
  readonly target: Source;
  /** The most bytes that one crate may take. */
  readonly maxBytes: number;
  /** Rejects with `quota_exceeded` where a crate of this size is too much for its owner, or for all; null is everybody. */
  readonly reserveRoom: ReserveRoom;
  readonly clock: Clock;
}

/** A run, files of the store, or both. */
export interface PackRequest {
  readonly executionId?: string | null | undefined;
  readonly fileIds?: readonly string[] | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** A URL, an SPDX identifier or a text. */
  readonly license?: string | undefined;
  readonly keywords?: readonly string[] | undefined;
  readonly authors?: readonly Author[] | undefined;
  /** Everybody on this server may see it, and not only who packed it. */
  readonly shared?: boolean | undefined;
  /** Files that the run changed in its working folder go along, which is the rule. */
  readonly includeWorkspace?: boolean | undefined;
}

export interface PackWatching {
  readonly signal: AbortSignal;
  progress(done: number, total: number | null, message?: string): void;
}

/** A crate that is in its source. Dispose of it once the index knows it: until then its room is reserved. */
export interface Packed extends AsyncDisposable {
  readonly object: SourceObject;
  /** Who alone may see it; null for everybody. */
  readonly owner: string | null;
  readonly sha256: string;
  readonly title: string;
  /** How many files it holds, its metadata and page included. */
  readonly fileCount: number;
  /** What is left out and what is odd, in sentences. */
  readonly notes: readonly string[];
}

/** Makes crates of what users ran and keep. */
export function createPacking(options: PackingOptions) {
  return {
    target: options.target,

    /**
     * Writes the crate to the source, whole or not at all. `not_found` where the run or a file is not the caller's,
     * `crate_changed` where a file changes under way.
     */
    async pack(caller: Caller, request: PackRequest, watching: PackWatching): Promise<Packed> {
      const { crate, gathering } = await gather(options, caller, request, watching.signal);
      const archive = archiveOf(await withPages(crate, gathering));
      demandSize(archive.size, options.maxBytes);
      const owner = request.shared === true ? null : caller.user;
      await using reserved = new AsyncDisposableStack();
      reserved.use(await options.reserveRoom(owner, archive.size));
      const name = await freeName(options.target, owner, crate, watching.signal);
      const object = await write(options.target, name, archive, watching);
      const room = reserved.move();
      return {
        object,
        [Symbol.asyncDispose]: () => room.disposeAsync(),
        owner,
        sha256: archive.sha256(),
        title: crate.about.title,
        fileCount: gathering.members.length + 2,
        notes: bounded(gathering.notes),
      };
    },
  };
}

export type Packing = ReturnType<typeof createPacking>;

async function gather(
  options: PackingOptions,
  caller: Caller,
  request: PackRequest,
  signal: AbortSignal,
): Promise<{ crate: PackedCrate; gathering: Gathering }> {
  const { executionId, fileIds = [], includeWorkspace = true } = request;
  if (!executionId && fileIds.length === 0)
    throw new WorkcrateError('invalid_input', 'Say what to pack: an execution_id, file_ids, or both.');
  const execution = executionId ? await options.executions.get(caller, executionId) : null;
  const place = await options.places.find(caller.user);
  const now = options.clock();
  const gathering = startGathering({ files: options.files, caller, place, signal, now });
  const run = execution && (await gatherRun(gathering, execution, { includeWorkspace }));
  const files = await gatherFiles(gathering, fileIds);
  return { crate: { about: aboutOf(caller, request, run, files, now), run, files }, gathering };
}

async function gatherFiles(gathering: Gathering, ids: readonly string[]): Promise<PackedFile[]> {
  const files: PackedFile[] = [];
  for (const id of new Set(ids)) {
    const stored = await gathering.files.find(gathering.caller, id);
    if (stored === null)
      throw new WorkcrateError(
        'not_found',
        `No file of yours has the id ${id}. list_files shows what there is.`,
      );
    const labels = { folder: 'files', name: stored.name, knownAs: null, description: `A file of the user's` };
    const file = await addStored(gathering, stored, labels);
    if (file === null)
      throw new WorkcrateError('bytes_gone', `The bytes of ${stored.name} are gone. Pack without it.`);
    files.push(file);
  }
  return files;
}

/** The metadata stands first, where a reader of the stream finds it. */
async function withPages(crate: PackedCrate, { members, now }: Gathering) {
  const metadata = `${JSON.stringify(metadataOf(crate), wellFormed, 2)}\n`;
  return [
    await textMember(metadataName, metadata, now),
    await textMember(previewName, previewOf(crate), now),
    ...members,
  ];
}

/** Half of a surrogate pair is no Unicode, and JSON would carry it on. */
function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function demandSize(size: number, most: number): void {
  if (size <= most) return;
  throw new WorkcrateError(
    'too_large',
    `The crate would take ${size} bytes; it may take ${most}. Pack less.`,
  );
}

/** A run may be packed again, under another title or with more said of it. */
const mostAttempts = 100;

async function freeName(
  target: Source,
  owner: string | null,
  { about, run }: PackedCrate,
  signal: AbortSignal,
): Promise<string> {
  const id = run?.id ?? `files_${randomBytes(6).toString('hex')}`;
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const name = objectName(owner, about.title.replace(id, ''), id, attempt);
    if ((await target.stat(name, signal)) === null) return name;
  }
  throw new WorkcrateError(
    'already_exists',
    `${id} has been packed ${mostAttempts} times. Use one of those.`,
  );
}

function write(
  target: Source,
  name: string,
  archive: Archive,
  { signal, progress }: PackWatching,
): Promise<SourceObject> {
  const bytes = archive.bytes(signal, (done) => progress(done, archive.size, 'packing'));
  return target.put(name, archive.size, bytes, signal);
}

const mostNotes = 50;

function bounded(notes: readonly string[]): string[] {
  if (notes.length <= mostNotes) return [...notes];
  return [...notes.slice(0, mostNotes), `There are ${notes.length - mostNotes} more such remarks.`];
}

/** What is said of a crate: what the caller says, and what can be told without. */
function aboutOf(
  { user }: Caller,
  request: PackRequest,
  run: PackedRun | null,
  files: readonly PackedFile[],
  published: number,
): About {
  const { title, description, license, keywords = [], authors = [] } = request;
  return {
    title: title?.trim() || usualTitle(run, files),
    description: description?.trim() || usualDescription(run, files),
    license: license ?? null,
    keywords,
    authors,
    user,
    published,
    version: packageVersion,
  };
}

function usualTitle(run: PackedRun | null, files: readonly PackedFile[]): string {
  if (run !== null) return `${languageNames[run.language].name} run ${run.id}`;
  return `${counted(files.length, 'file')} from Workcrate`;
}

function usualDescription(run: PackedRun | null, files: readonly PackedFile[]): string {
  if (run === null) return `${listed(files.map(nameOf), 'file')}, packed as kept.`;
  const { name } = languageNames[run.language];
  const given = listed([...run.inputs.map(nameOf), ...run.missing.map((file) => file.name)], 'input');
  const made = listed(run.results.map(nameOf), 'result');
  const day = new Date(run.startedAt).toISOString().slice(0, 10);
  return `A run of ${name} code on ${day}: ${made} from ${given}; ${run.outcome}.`;
}

const mostListed = 3;
const longestName = 60;

/** As people know a file: by its last name. */
const nameOf = ({ path }: PackedFile): string => path.slice(path.lastIndexOf('/') + 1);

/** The first names, and how many more there are: crates are told apart by them. */
function listed(names: readonly string[], what: string): string {
  if (names.length === 0) return `no ${what}s`;
  const few = names.slice(0, mostListed).map(shortened);
  const more = names.length - few.length;
  if (more > 0) return `${few.join(', ')} and ${counted(more, `more ${what}`)}`;
  return few.length === 1 ? few[0]! : `${few.slice(0, -1).join(', ')} and ${few.at(-1)}`;
}

const shortened = (name: string): string =>
  name.length > longestName ? `${name.slice(0, longestName).toWellFormed()}…` : name;

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
