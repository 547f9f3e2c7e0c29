import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { computeDigest, type Digest } from '../../files/files.ts';
import { openBelow, here, joinComponents, parseName, type Components } from '../../paths/paths.ts';
import { languages, type Language, type Workspace } from '../../sandbox/sandbox.ts';
import { canRunsRead } from '../../workspaces/workspaces.ts';
import type { CrateMetadata, Entity } from '../crate.ts';
import { changed } from './archive.ts';
import { pathOfId } from './entities.ts';
import { stdinName } from './packed.ts';

/** A file of the crate that the run is given. */
export interface PlannedFile {
  /** In the crate. */
  readonly path: string;
  /** What the code calls it: a path in its working folder or in /artifacts, or `stdinName`. */
  readonly name: string;
  /** Null where the crate does not say. */
  readonly sha256: string | null;
}

/** A run that can be done again from what its crate holds. */
export interface ReplayPlan {
  readonly name: string;
  readonly language: Language;
  /** The interpreter of the first time, where it was noted. */
  readonly runtime: string | null;
  readonly code: PlannedFile;
  readonly inputs: readonly PlannedFile[];
  /** What it reads from its standard input; null where that is nothing. */
  readonly stdin: PlannedFile | null;
  readonly results: readonly PlannedFile[];
  /** Of what it wrote to stdout, where that was kept. */
  readonly stdout: string | null;
  readonly succeeded: boolean;
}

/**
 * Reads the run out of a Process Run Crate, packed here or elsewhere: one CreateAction, whose instrument is a file of the
 * crate in Python, JavaScript or Bash, and whose objects are files of the crate. Anything else is `unsupported`.
 */
export function planReplay(metadata: CrateMetadata): ReplayPlan {
  const action = onlyAction(metadata);
  const instrument = onlyInstrument(metadata, action);
  const language = languageOf(metadata, instrument);
  const path = pathOfId(instrument.id);
  if (path === null || !isFile(instrument))
    throw unsupported('the instrument of its run is not a file of the crate');
  const inputs = distinct(targetsOf(metadata, action, 'object').filter(isFile).map(inputOf));
  return {
    name: textOf(action, 'name') ?? action.id,
    language,
    runtime: runtimeOf(metadata, instrument),
    code: { path, name: path, sha256: hashOf(instrument) },
    inputs: inputs.filter(({ name }) => name !== stdinName),
    stdin: inputs.find(({ name }) => name === stdinName) ?? null,
    results: targetsOf(metadata, action, 'result').filter(isFile).map(resultOf),
    stdout: stdoutOf(metadata, action),
    succeeded: !referencesOf(metadata, action, 'actionStatus').some((id) =>
      id.endsWith('FailedActionStatus'),
    ),
  };
}

const isFile = ({ types }: Entity): boolean => types.includes('File') || types.includes('MediaObject');

function onlyAction({ entities }: CrateMetadata): Entity {
  const actions = entities.filter(({ types }) => types.includes('CreateAction'));
  if (actions.length === 1) return actions[0]!;
  throw unsupported(
    actions.length === 0 ? 'it tells of no run' : `it tells of ${actions.length} runs, not one`,
  );
}

function onlyInstrument(metadata: CrateMetadata, action: Entity): Entity {
  const instruments = targetsOf(metadata, action, 'instrument');
  if (instruments.length === 1) return instruments[0]!;
  throw unsupported('its run does not name one instrument that the crate describes');
}

const spellings: Readonly<Record<Language, RegExp>> = {
  python: /\bpython\b|\.py$/i,
  node: /\b(?:javascript|node(?:\.?js)?|ecmascript)\b|\.[cm]?js$/i,
  bash: /\b(?:bash|shell)\b|\.(?:ba)?sh$/i,
};

/** By what the crate says of it, and by the ending of its name where it says nothing. */
function languageOf(metadata: CrateMetadata, code: Entity): Language {
  const said = targetsOf(metadata, code, 'programmingLanguage').flatMap((entity) => textsOf(entity, 'name'));
  const texts = [...said, ...textsOf(code, 'programmingLanguage')];
  for (const text of texts.length === 0 ? [code.id] : texts) {
    const language = languages.find((name) => spellings[name].test(text));
    if (language !== undefined) return language;
  }
  throw unsupported(`its code is not in ${languages.join(', ')}`);
}

function runtimeOf(metadata: CrateMetadata, code: Entity): string | null {
  const needs = targetsOf(metadata, code, 'softwareRequirements');
  const runtime = needs.find(({ id }) => id === '#runtime');
  const version = runtime && textOf(runtime, 'softwareVersion');
  return runtime && version ? `${textOf(runtime, 'name') ?? ''} ${version}`.trim() : null;
}

function inputOf(entity: Entity): PlannedFile {
  const path = pathOfId(entity.id);
  const isStdin = textOf(entity, 'alternateName') === stdinName;
  if (path !== null)
    return { path, name: isStdin ? stdinName : nameOf(entity, path), sha256: hashOf(entity) };
  throw unsupported(`it does not hold its input ${JSON.stringify(textOf(entity, 'name') ?? entity.id)}`);
}

function resultOf(entity: Entity): PlannedFile {
  const path = pathOfId(entity.id) ?? entity.id;
  return { path, name: nameOf(entity, path), sha256: hashOf(entity) };
}

/** A file that was renamed in the crate tells its first name. A way out of where code runs is none. */
function nameOf(entity: Entity, path: string): string {
  const told = textOf(entity, 'alternateName');
  const isPlace = told !== null && (!told.startsWith('/') || told.startsWith('/artifacts/'));
  return isPlace ? told : path.slice(path.lastIndexOf('/') + 1);
}

function distinct(inputs: readonly PlannedFile[]): readonly PlannedFile[] {
  if (new Set(inputs.map(({ name }) => name)).size === inputs.length) return inputs;
  throw unsupported('two of its inputs have the same name');
}

function stdoutOf(metadata: CrateMetadata, action: Entity): string | null {
  const log = metadata.entities.find(
    (entity) => entity.id === 'logs/stdout.txt' && targetsOf(metadata, entity, 'about').includes(action),
  );
  return log === undefined ? null : hashOf(log);
}

function hashOf(entity: Entity): string | null {
  const hash = textOf(entity, 'sha256')?.toLowerCase() ?? '';
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
}

function textsOf({ properties }: Entity, name: string): string[] {
  return properties.flatMap((property) =>
    'text' in property && property.name === name ? [property.text] : [],
  );
}

function textOf(entity: Entity, name: string): string | null {
  return textsOf(entity, name)[0] ?? null;
}

function targetsOf({ entities }: CrateMetadata, { properties }: Entity, name: string): Entity[] {
  return properties.flatMap((property) => {
    const target = 'target' in property && property.name === name ? entities[property.target] : undefined;
    return target === undefined ? [] : [target];
  });
}

/** Also of what the crate does not describe. */
function referencesOf(metadata: CrateMetadata, entity: Entity, name: string): string[] {
  return [...textsOf(entity, name), ...targetsOf(metadata, entity, name).map(({ id }) => id)];
}

function unsupported(reason: string): WorkcrateError {
  return new WorkcrateError(
    'unsupported',
    `This crate cannot be run again: ${reason}. What can is a Process Run Crate of one run of a Python, JavaScript or Bash file that it holds.`,
  );
}

const readAt = promisify(read);
const pieceBytes = 256 * 1024;

/** A file of a user's place by the name that a run has for it. */
export interface PlaceFile {
  readonly place: Workspace;
  readonly folder: string;
  readonly path: Components;
  readonly name: string;
}

/** Null where the name says a place that is gone with its run. */
export function placeFile(place: Workspace, workingDir: string, name: string): PlaceFile | null {
  const isAbsolute = name.startsWith('/');
  const [root, ...below] = componentsOf(isAbsolute ? name : `${workingDir}/${name}`);
  if (root !== 'workspace' && root !== 'artifacts') return null;
  return { place, folder: place[root], path: joinComponents(here, ...below.map(parseName)), name };
}

/** Names as they stand on the disk, each taken literally: no part of them is decoded. */
function componentsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

export interface Measured extends Digest {
  readonly modified: number;
}

/** Reads a file once and says what it is, or why it cannot be had. */
export async function measure(file: PlaceFile, signal: AbortSignal): Promise<Measured | string> {
  try {
    using opened = open(file);
    const stats = fstatSync(opened.fd, { bigint: true });
    if (!canRunsRead(file.place, stats)) return 'is not a file of this user';
    const digest = await computeDigest(piecesOf(file, opened.fd, stats, signal));
    return { ...digest, modified: Number(stats.mtimeMs) };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return 'is gone';
    if (isWorkcrateError(error, 'path_refused')) return 'is a link, hidden or no file';
    throw error;
  }
}

/** The bytes of a file that was measured before; `crate_changed` where it is another by now. */
export async function* readAgain(file: PlaceFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  using opened = openAgain(file);
  const stats = fstatSync(opened.fd, { bigint: true });
  if (!canRunsRead(file.place, stats)) throw changed(file.name);
  yield* piecesOf(file, opened.fd, stats, signal);
}

function open({ folder, path }: PlaceFile) {
  return openBelow(folder, { links: 'refuse', hidden: 'refuse' }).open(path);
}

function openAgain(file: PlaceFile) {
  try {
    return open(file);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused'))
      throw changed(file.name);
    throw error;
  }
}

async function* piecesOf(
  { name }: PlaceFile,
  fd: number,
  stats: BigIntStats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = Number(stats.size);
  for (let done = 0; done < size;) {
    signal.throwIfAborted();
    // A new one each time: whoever takes it may gather several.
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, size - done));
    const { bytesRead } = await readAt(fd, piece, 0, piece.length, done);
    if (bytesRead === 0) throw changed(name);
    done += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
  const now = fstatSync(fd, { bigint: true });
  if (now.size !== stats.size || now.mtimeNs !== stats.mtimeNs) throw changed(name);
}
