import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { computeDigest, type Digest } from '../../files/files.ts';
import { openBelow, rootPath, joinComponents, parseName, type Components } from '../../paths/paths.ts';
import { languages, type Language, type Workspace } from '../../sandbox/sandbox.ts';
import { canRunsRead } from '../../workspaces/workspaces.ts';
import type { CrateMetadata, Entity } from '../crate.ts';
import { fileChangedWhilePackingError } from './archive.ts';
import { entityIdToPath, languageNames } from './entities.ts';
import { stdinFileName } from './packed.ts';

/** A file of the crate: the code, an input or a result. */
export interface PlannedFile {
  /** In the crate. */
  readonly path: string;
  /** Its name for the code: a path in the working folder or in /artifacts, or `stdinFileName`. */
  readonly name: string;
  /** Null if the crate does not record it. */
  readonly sha256: string | null;
}

/** A run that can be repeated from its crate. */
export interface ReplayPlan {
  readonly name: string;
  readonly language: Language;
  /** The interpreter of the original run, if it was recorded. */
  readonly runtime: string | null;
  readonly code: PlannedFile;
  readonly inputs: readonly PlannedFile[];
  /** Its standard input; null if it had none. */
  readonly stdin: PlannedFile | null;
  readonly results: readonly PlannedFile[];
  /** The sha256 of its stdout, if that was kept. */
  readonly stdout: string | null;
  readonly succeeded: boolean;
}

/**
 * Reads the run out of a Process Run Crate, packed here or elsewhere: one CreateAction, whose instrument is a file of the
 * crate in Python, JavaScript or Bash, and whose objects are files of the crate. Anything else is `unsupported`.
 */
export function planReplay(metadata: CrateMetadata): ReplayPlan {
  const action = findOnlyAction(metadata);
  const instrument = findOnlyInstrument(metadata, action);
  const language = detectReplayLanguage(metadata, instrument);
  const path = entityIdToPath(instrument.id);
  if (path === null || !isFileEntity(instrument))
    throw replayUnsupportedError('the instrument of its run is not a file of the crate');
  const inputs = checkDistinctInputs(
    getEntityTargets(metadata, action, 'object').filter(isFileOrGone).map(toPlannedInput),
  );
  return {
    name: getEntityText(action, 'name') ?? action.id,
    language,
    runtime: readRecordedRuntime(metadata, instrument, language),
    code: { path, name: path, sha256: readRecordedHash(instrument) },
    inputs: inputs.filter(({ name }) => name !== stdinFileName),
    stdin: inputs.find(({ name }) => name === stdinFileName) ?? null,
    results: getEntityTargets(metadata, action, 'result').filter(isFileOrGone).map(toPlannedResult),
    stdout: readRecordedStdoutHash(metadata, action),
    succeeded: !getEntityReferences(metadata, action, 'actionStatus').some((id) =>
      id.endsWith('FailedActionStatus'),
    ),
  };
}

const isFileEntity = ({ types }: Entity): boolean => types.includes('File') || types.includes('MediaObject');

/** In RO-Crate 1.1, a file that is gone is described as a work that has a hash. */
const isFileOrGone = (entity: Entity): boolean => isFileEntity(entity) || readRecordedHash(entity) !== null;

function findOnlyAction({ entities }: CrateMetadata): Entity {
  const actions = entities.filter(({ types }) => types.includes('CreateAction'));
  if (actions.length === 1) return actions[0]!;
  throw replayUnsupportedError(
    actions.length === 0 ? 'it describes no run' : `it describes ${actions.length} runs, not one`,
  );
}

function findOnlyInstrument(metadata: CrateMetadata, action: Entity): Entity {
  const instruments = getEntityTargets(metadata, action, 'instrument');
  if (instruments.length === 1) return instruments[0]!;
  throw replayUnsupportedError('its run does not name one instrument that the crate describes');
}

const languagePatterns: Readonly<Record<Language, RegExp>> = {
  python: /\bpython\b|\.py$/i,
  node: /\b(?:javascript|node(?:\.?js)?|ecmascript)\b|\.[cm]?js$/i,
  bash: /\b(?:bash|shell)\b|\.(?:ba)?sh$/i,
};

/** By what the crate says about it, else by its file extension. */
function detectReplayLanguage(metadata: CrateMetadata, code: Entity): Language {
  const said = getEntityTargets(metadata, code, 'programmingLanguage').flatMap((entity) =>
    getEntityTexts(entity, 'name'),
  );
  const texts = [...said, ...getEntityTexts(code, 'programmingLanguage')];
  for (const text of texts.length === 0 ? [code.id] : texts) {
    const language = languages.find((name) => languagePatterns[name].test(text));
    if (language !== undefined) return language;
  }
  throw replayUnsupportedError(`its code is in none of the languages ${languages.join(', ')}`);
}

/** The interpreter is named like the language's. Crates of earlier releases call it `#runtime`. */
function readRecordedRuntime(metadata: CrateMetadata, code: Entity, language: Language): string | null {
  const needs = getEntityTargets(metadata, code, 'softwareRequirements');
  const { runtimeUrl } = languageNames[language];
  const runtime = needs.find(({ id }) => id === '#runtime' || id.startsWith(`${runtimeUrl}#`));
  const version = runtime && (getEntityText(runtime, 'version') ?? getEntityText(runtime, 'softwareVersion'));
  return runtime && version ? `${getEntityText(runtime, 'name') ?? ''} ${version}`.trim() : null;
}

function toPlannedInput(entity: Entity): PlannedFile {
  const path = entityIdToPath(entity.id);
  const isStdin = getEntityText(entity, 'alternateName') === stdinFileName;
  if (path !== null)
    return {
      path,
      name: isStdin ? stdinFileName : getPlannedName(entity, path),
      sha256: readRecordedHash(entity),
    };
  throw replayUnsupportedError(
    `it does not contain its input ${JSON.stringify(getEntityText(entity, 'name') ?? entity.id)}`,
  );
}

function toPlannedResult(entity: Entity): PlannedFile {
  const path = entityIdToPath(entity.id) ?? entity.id;
  return { path, name: getPlannedName(entity, path), sha256: readRecordedHash(entity) };
}

/** The original name, if the file was renamed in the crate. Absolute paths count only in /artifacts. */
function getPlannedName(entity: Entity, path: string): string {
  const original = getEntityText(entity, 'alternateName');
  const isUsable = original !== null && (!original.startsWith('/') || original.startsWith('/artifacts/'));
  return isUsable ? original : path.slice(path.lastIndexOf('/') + 1);
}

function checkDistinctInputs(inputs: readonly PlannedFile[]): readonly PlannedFile[] {
  if (new Set(inputs.map(({ name }) => name)).size === inputs.length) return inputs;
  throw replayUnsupportedError('two of its inputs have the same name');
}

function readRecordedStdoutHash(metadata: CrateMetadata, action: Entity): string | null {
  const log = metadata.entities.find(
    (entity) =>
      entity.id === 'logs/stdout.txt' && getEntityTargets(metadata, entity, 'about').includes(action),
  );
  return log === undefined ? null : readRecordedHash(log);
}

function readRecordedHash(entity: Entity): string | null {
  const hash = getEntityText(entity, 'sha256')?.toLowerCase() ?? '';
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
}

function getEntityTexts({ properties }: Entity, name: string): string[] {
  return properties.flatMap((property) =>
    'text' in property && property.name === name ? [property.text] : [],
  );
}

function getEntityText(entity: Entity, name: string): string | null {
  return getEntityTexts(entity, name)[0] ?? null;
}

function getEntityTargets({ entities }: CrateMetadata, { properties }: Entity, name: string): Entity[] {
  return properties.flatMap((property) => {
    const target = 'target' in property && property.name === name ? entities[property.target] : undefined;
    return target === undefined ? [] : [target];
  });
}

/** Includes ids of entities that the crate does not describe. */
function getEntityReferences(metadata: CrateMetadata, entity: Entity, name: string): string[] {
  return [...getEntityTexts(entity, name), ...getEntityTargets(metadata, entity, name).map(({ id }) => id)];
}

function replayUnsupportedError(reason: string): WorkcrateError {
  return new WorkcrateError(
    'unsupported',
    `This crate cannot be run again: ${reason}. Only a Process Run Crate can be: one run of a Python, JavaScript or Bash file that is in the crate.`,
  );
}

const readWorkspaceFileAt = promisify(read);
const workspaceChunkBytes = 256 * 1024;

/** A file of a user's workspace, by the name that a run has for it. */
export interface WorkspaceFile {
  readonly place: Workspace;
  readonly folder: string;
  readonly path: Components;
  readonly name: string;
}

/** Null if the name is in a folder that is gone with its run. */
export function locateWorkspaceFile(
  place: Workspace,
  workingDir: string,
  name: string,
): WorkspaceFile | null {
  const isAbsolute = name.startsWith('/');
  const [root, ...below] = splitPathParts(isAbsolute ? name : `${workingDir}/${name}`);
  if (root !== 'workspace' && root !== 'artifacts') return null;
  return { place, folder: place[root], path: joinComponents(rootPath, ...below.map(parseName)), name };
}

/** Names as on the disk: nothing is decoded. */
function splitPathParts(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

export interface MeasuredFile extends Digest {
  readonly modified: number;
}

/** Reads a file once for its digest, or gives the reason why it cannot be read. */
export async function measureWorkspaceFile(
  file: WorkspaceFile,
  signal: AbortSignal,
): Promise<MeasuredFile | string> {
  try {
    using opened = openWorkspaceFile(file);
    const stats = fstatSync(opened.fd, { bigint: true });
    if (!canRunsRead(file.place, stats)) return 'is not a file of this user';
    const digest = await computeDigest(readWorkspaceChunks(file, opened.fd, stats, signal));
    return { ...digest, modified: Number(stats.mtimeMs) };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return 'is gone';
    if (isWorkcrateError(error, 'path_refused')) return 'is a link, hidden or not a file';
    throw error;
  }
}

/** The bytes of a file that was measured before; `crate_changed` if it has changed. */
export async function* rereadWorkspaceFile(
  file: WorkspaceFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  using opened = reopenWorkspaceFile(file);
  const stats = fstatSync(opened.fd, { bigint: true });
  if (!canRunsRead(file.place, stats)) throw fileChangedWhilePackingError(file.name);
  yield* readWorkspaceChunks(file, opened.fd, stats, signal);
}

function openWorkspaceFile({ folder, path }: WorkspaceFile) {
  return openBelow(folder, { links: 'refuse', hidden: 'refuse' }).open(path);
}

function reopenWorkspaceFile(file: WorkspaceFile) {
  try {
    return openWorkspaceFile(file);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused'))
      throw fileChangedWhilePackingError(file.name);
    throw error;
  }
}

async function* readWorkspaceChunks(
  { name }: WorkspaceFile,
  fd: number,
  stats: BigIntStats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = Number(stats.size);
  for (let done = 0; done < size;) {
    signal.throwIfAborted();
    // A new buffer each time, since the consumer may keep several.
    const piece = Buffer.allocUnsafe(Math.min(workspaceChunkBytes, size - done));
    const { bytesRead } = await readWorkspaceFileAt(fd, piece, 0, piece.length, done);
    if (bytesRead === 0) throw fileChangedWhilePackingError(name);
    done += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
  const now = fstatSync(fd, { bigint: true });
  if (now.size !== stats.size || now.mtimeNs !== stats.mtimeNs) throw fileChangedWhilePackingError(name);
}
