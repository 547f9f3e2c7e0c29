/**
 * Reads from the metadata of a crate what to run again: its runs as steps, in order, with their code, inputs and
 * results. It opens no file. Everything in the metadata is untrusted.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { parsePath } from '../../platform/paths/paths.ts';
import { languages, type Language } from '../../ports/sandbox/sandbox.ts';
import type { CrateMetadata, Entity } from '../crates/crate.ts';
import { entityIdToPath, missingMark } from '../crates/metadata/metadata.ts';
import { maxPackedRuns, toPathInRun } from './chain.ts';
import { shownFolder, stdinFileName } from './packed.ts';
import { languageEntities, runPropertyNames } from './run-entities.ts';

/** A file of a step. */
export interface PlannedFile {
  /** In the crate; null if it is only described there. */
  readonly path: string | null;
  /** Its paths inside the sandbox. */
  readonly names: readonly string[];
  /** Null if the crate does not record it. */
  readonly sha256: string | null;
  /** Why the crate has no bytes of it, as it says; null if it has them, or does not say. */
  readonly missing: string | null;
}

export interface PlannedInput extends PlannedFile {
  /** The paths inside at which an earlier step made it; empty if none did. */
  readonly madeAt: readonly string[];
}

/** A file of the crate that is read, and not put into the workspace. */
export interface PlannedText {
  readonly path: string;
  readonly sha256: string | null;
}

/** A run that can be repeated from its crate. */
export interface ReplayStep {
  /** What the crate describes it by. */
  readonly action: Entity;
  readonly name: string;
  readonly language: Language;
  /** The interpreter of the original run, if it was recorded. */
  readonly runtime: string | null;
  /** The working folder, as seen inside. */
  readonly folder: string;
  /** The session that it was a cell of; null if it was a run of its own. */
  readonly session: string | null;
  /** The number of the cell; undefined if the crate does not say. */
  readonly cell: number | undefined;
  /** When the original run started, in milliseconds; undefined if the crate does not say. */
  readonly startedAt: number | undefined;
  readonly code: PlannedText;
  readonly inputs: readonly PlannedInput[];
  /** Its standard input; null if it had none. */
  readonly stdin: PlannedText | null;
  readonly results: readonly PlannedFile[];
  /** What the crate says of results that nobody hashed or saw, as sentences. */
  readonly notes: readonly string[];
  /** The sha256 of its stdout, if that was kept. */
  readonly stdout: string | null;
  readonly succeeded: boolean;
}

/**
 * Reads the runs out of a Process Run Crate, packed here or elsewhere: CreateActions, each with one instrument that is a
 * file of the crate in Python, JavaScript or Bash, and with objects that are files of the crate or results of an earlier
 * one. Anything else is `unsupported`.
 */
export function planReplay(metadata: CrateMetadata): ReplayStep[] {
  const actions = findActions(metadata);
  const made = new Map<Entity, readonly string[]>();
  return actions.map((action) => {
    const step = planStep(metadata, action, made);
    for (const { entity, names } of step.results) made.set(entity, names);
    return step;
  });
}

/** In the order of their start, where that is told, else as they are listed. */
function findActions({ entities }: CrateMetadata): Entity[] {
  const actions = entities.filter(({ types }) => types.includes('CreateAction'));
  if (actions.length === 0) throw replayUnsupportedError('it describes no run');
  if (actions.length > maxPackedRuns)
    throw replayUnsupportedError(`it describes ${actions.length} runs, and ${maxPackedRuns} are the limit`);
  const getStart = (action: Entity): number => readStart(action) ?? 0;
  return actions.toSorted((one, other) => getStart(one) - getStart(other));
}

const readStart = (action: Entity): number | undefined =>
  keepPositive(Date.parse(getEntityText(action, 'startTime') ?? ''));

const readCell = (metadata: CrateMetadata, action: Entity): number | undefined =>
  keepPositive(Number(/^\d{1,6}$/.exec(readRunProperty(metadata, action, runPropertyNames.cell) ?? '')?.[0]));

const keepPositive = (number: number): number | undefined => (number > 0 ? number : undefined);

function planStep(metadata: CrateMetadata, action: Entity, made: ReadonlyMap<Entity, readonly string[]>) {
  const instrument = findOnlyInstrument(metadata, action);
  const language = detectReplayLanguage(metadata, instrument);
  const path = entityIdToPath(instrument.id);
  if (path === null || !isFileEntity(instrument))
    throw replayUnsupportedError('the instrument of a run is not a file of the crate');
  const folder = readWorkingFolder(metadata, action);
  const objects = getEntityTargets(metadata, action, 'object').filter(isFileOrGone);
  const isLog = (entity: Entity): boolean => getEntityTargets(metadata, entity, 'about').includes(action);
  const results = getEntityTargets(metadata, action, 'result')
    .filter((entity) => isFileOrGone(entity) && !isLog(entity))
    .map((entity) => ({ entity, ...toPlannedFile(entity, folder) }));
  return {
    action,
    name: getEntityText(action, 'name') ?? action.id,
    language,
    runtime: readRecordedRuntime(metadata, instrument, language),
    folder,
    session: readRunProperty(metadata, action, runPropertyNames.session),
    cell: readCell(metadata, action),
    startedAt: readStart(action),
    code: { path, sha256: readRecordedHash(instrument) },
    inputs: checkDistinctInputs(
      objects.filter((entity) => !isStdin(entity)).map((entity) => toPlannedInput(entity, folder, made)),
    ),
    stdin: planStdin(objects.filter(isStdin)),
    results,
    notes: listResultNotes(metadata, action),
    stdout: readRecordedStdoutHash(metadata, isLog),
    succeeded: !getEntityReferences(metadata, action, 'actionStatus').some((id) =>
      id.endsWith('FailedActionStatus'),
    ),
  };
}

const isFileEntity = ({ types }: Entity): boolean => types.includes('File') || types.includes('MediaObject');

/** In RO-Crate 1.1, a file that is gone is described as a work with a name for the code. */
const isFileOrGone = (entity: Entity): boolean =>
  isFileEntity(entity) ||
  (entity.types.includes('CreativeWork') && getEntityText(entity, 'alternateName') !== null);

const isStdin = (entity: Entity): boolean => getEntityText(entity, 'alternateName') === stdinFileName;

function planStdin([entity, ...more]: readonly Entity[]): PlannedText | null {
  if (entity === undefined) return null;
  const path = entityIdToPath(entity.id);
  if (more.length > 0) throw replayUnsupportedError('two of its inputs have the same name');
  if (path === null) throw inputNotContainedError(entity);
  return { path, sha256: readRecordedHash(entity) };
}

function findOnlyInstrument(metadata: CrateMetadata, action: Entity): Entity {
  const instruments = getEntityTargets(metadata, action, 'instrument');
  if (instruments.length === 1) return instruments[0]!;
  throw replayUnsupportedError('a run does not name one instrument that the crate describes');
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

function listResultNotes(metadata: CrateMetadata, action: Entity): string[] {
  const more = readRunProperty(metadata, action, runPropertyNames.moreResults);
  if (more !== null && /^\d{1,9}$/.test(more))
    return [`The run made or changed ${more} more files, which nobody hashed: they are not compared.`];
  return readRunProperty(metadata, action, runPropertyNames.incompleteResults) === 'true'
    ? ['The run may have made more files, which nobody recorded.']
    : [];
}

/** The interpreter is named like the language's. Crates of earlier releases call it `#runtime`. */
function readRecordedRuntime(metadata: CrateMetadata, code: Entity, language: Language): string | null {
  const needs = getEntityTargets(metadata, code, 'softwareRequirements');
  const { runtimeUrl } = languageEntities[language];
  const runtime = needs.find(({ id }) => id === '#runtime' || id.startsWith(`${runtimeUrl}#`));
  const version = runtime && (getEntityText(runtime, 'version') ?? getEntityText(runtime, 'softwareVersion'));
  return runtime && version ? `${getEntityText(runtime, 'name') ?? ''} ${version}`.trim() : null;
}

export function readRunProperty(metadata: CrateMetadata, action: Entity, name: string): string | null {
  const properties = getEntityTargets(metadata, action, 'additionalProperty');
  const property = properties.find((entity) => getEntityText(entity, 'name') === name);
  return property === undefined ? null : getEntityText(property, 'value');
}

/** Where a run has none that stays, such as /tmp, or none was recorded. */
const replayFolder = '/workspace/replay';

/** The folder that the run worked in, so that paths in its code lead to the same files. */
function readWorkingFolder(metadata: CrateMetadata, action: Entity): string {
  const recorded = readRunProperty(metadata, action, runPropertyNames.folder);
  const [, root, below = ''] = /^\/(workspace|artifacts)(?:\/(.*))?$/s.exec(recorded ?? '') ?? [];
  if (root === undefined) return replayFolder;
  const folders = below === '' ? [] : parsePath(below);
  return ['', root, ...folders].join('/');
}

const isKept = (path: string): boolean =>
  /^\/(?:workspace|artifacts)\/./s.test(path) || path.startsWith(shownFolder);

/** The paths of a file: its original names where files are kept, if it has any, else the last part of its path in the crate. */
function toPlannedFile(entity: Entity, folder: string): PlannedFile {
  const path = entityIdToPath(entity.id);
  const fallback = (path ?? entity.id).slice((path ?? entity.id).lastIndexOf('/') + 1);
  const known = getEntityTexts(entity, 'alternateName');
  const names = known.map((name) => toPathInRun(folder, name)).filter(isKept);
  return {
    path,
    names: names.length > 0 ? names : [toPathInRun(folder, fallback)],
    sha256: readRecordedHash(entity),
    missing: readMissingNote(entity),
  };
}

const maxMissingLength = 300;

/** Why a described file is not in the crate, in its own words; null if it says nothing of that. */
function readMissingNote(entity: Entity): string | null {
  const status = getEntityText(entity, 'creativeWorkStatus') ?? '';
  return status.startsWith(missingMark)
    ? status.slice(missingMark.length, missingMark.length + maxMissingLength)
    : null;
}

/** A name in the working folder is the one that this step has for an input. */
function toPlannedInput(
  entity: Entity,
  folder: string,
  made: ReadonlyMap<Entity, readonly string[]>,
): PlannedInput {
  const madeAt = made.get(entity) ?? [];
  const file = toPlannedFile(entity, folder);
  if (file.path === null && madeAt.length === 0) throw inputNotContainedError(entity);
  const own = file.names.filter((name) => name.startsWith(`${folder}/`));
  return { ...file, names: own.length > 0 ? own : file.names, madeAt };
}

function inputNotContainedError(entity: Entity): WorkcrateError {
  const name = getEntityText(entity, 'name') ?? entity.id;
  const missing = readMissingNote(entity);
  const why = missing === null ? '' : ` (${missing})`;
  return replayUnsupportedError(`it does not contain its input ${JSON.stringify(name.slice(0, 200))}${why}`);
}

function checkDistinctInputs(inputs: readonly PlannedInput[]): readonly PlannedInput[] {
  const names = inputs.flatMap((input) => input.names);
  if (new Set(names).size === names.length) return inputs;
  throw replayUnsupportedError('two of its inputs have the same name');
}

function readRecordedStdoutHash(
  { entities }: CrateMetadata,
  isLog: (entity: Entity) => boolean,
): string | null {
  const log = entities.find((entity) => /(?:^|\/)logs\/stdout\.txt$/.test(entity.id) && isLog(entity));
  return log === undefined ? null : readRecordedHash(log);
}

export function readRecordedHash(entity: Entity): string | null {
  const hash = getEntityText(entity, 'sha256')?.toLowerCase() ?? '';
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
}

function getEntityTexts({ properties }: Entity, name: string): string[] {
  return properties.flatMap((property) =>
    'text' in property && property.name === name ? [property.text] : [],
  );
}

export function getEntityText(entity: Entity, name: string): string | null {
  return getEntityTexts(entity, name)[0] ?? null;
}

export function getEntityTargets(
  { entities }: CrateMetadata,
  { properties }: Entity,
  name: string,
): Entity[] {
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
    `This crate cannot be run again: ${reason}. Only a Process Run Crate can be: runs of Python, JavaScript or Bash files that are in the crate.`,
  );
}
