/**
 * The entities of runs: each action with its code, software, limits, inputs, results and output. It writes no entity of
 * the crate as a whole (`packed.ts`).
 */
import type { Language } from '../../ports/sandbox/sandbox.ts';
import { pathToEntityId } from '../crates/metadata/metadata.ts';
import {
  createFileEntity,
  createGraphEntity,
  createOriginEntities,
  createRunFileEntity,
  describePackedFile,
  serverUrl,
  toEntityReference,
  toEntityReferences,
  toIsoTimestamp,
  toLocalEntityId,
  toRunFileId,
  type GraphEntity,
} from './entities.ts';
import { createCallEntities } from './call-entities.ts';
import type { PackedCrate, PackedRun, RunLimit, SoftwareVersion } from './packed.ts';
import type { CrateSpecification } from './specification.ts';

/** The name of each language and its runtime, and where they are defined. */
export const languageEntities: Readonly<
  Record<Language, { name: string; url: string; runtime: string; runtimeUrl: string }>
> = {
  python: {
    name: 'Python',
    url: 'https://docs.python.org/3/reference/',
    runtime: 'Python',
    runtimeUrl: 'https://www.python.org/',
  },
  node: {
    name: 'JavaScript',
    url: 'https://tc39.es/ecma262/',
    runtime: 'Node.js',
    runtimeUrl: 'https://nodejs.org/',
  },
  bash: {
    name: 'Bash',
    url: 'https://www.gnu.org/software/bash/manual/',
    runtime: 'Bash',
    runtimeUrl: 'https://www.gnu.org/software/bash/',
  },
};

/** 1.2 demands a version of all software; where none was recorded, the crate says so. */
const unknownVersion = 'unknown';

export const toActionId = ({ id }: PackedRun): string => `#${id}`;

/** The entities of a Process Run Crate: each action with its instrument, inputs and results. What steps share is there once. */
export function createRunEntities(crate: PackedCrate, agent: string): GraphEntity[] {
  const all = crate.runs.flatMap((run) => createEntitiesOfRun(run, crate, agent));
  const found = new Map<string, GraphEntity>();
  for (const entity of all) if (!found.has(entity['@id'])) found.set(entity['@id'], entity);
  return [...found.values()];
}

function createEntitiesOfRun(
  run: PackedRun,
  { about, specification }: PackedCrate,
  agent: string,
): GraphEntity[] {
  const runtime = createRuntimeEntity(run);
  const language = createLanguageEntity(run);
  const does = `The server that ran the code, in its sandbox ${run.sandbox}, and packed this crate`;
  const server = createSoftwareEntity('Workcrate', serverUrl, about.version, does);
  const libraries = run.libraries.map(createLibraryEntity);
  const needs = [runtime, server, ...libraries];
  const files = [...run.inputs, ...run.results];
  return [
    createActionEntity(run, specification, agent),
    createCodeEntity(
      run,
      language['@id'],
      needs.map((software) => software['@id']),
    ),
    language,
    ...needs,
    ...listRunProperties(run).map(createRunPropertyEntity),
    ...files.map((file) => createRunFileEntity(file, specification)),
    ...run.logs.map((file) => createFileEntity(file, toActionId(run))),
    ...createOriginEntities(files),
    ...createCallEntities(run, specification, { agent, run: toActionId(run) }),
  ];
}

/** The address of each version is another, so that steps on two versions are told apart. */
const toVersionedUrl = (url: string, version: string | null): string =>
  version === null ? url : `${url}#${encodeURIComponent(version.toWellFormed())}`;

function createSoftwareEntity(
  name: string,
  url: string,
  version: string | null,
  description: string,
): GraphEntity {
  const properties = { name, description, url, version: version ?? unknownVersion };
  return createGraphEntity(toVersionedUrl(url, version), 'SoftwareApplication', properties);
}

function createRuntimeEntity({ language, runtime: ran }: PackedRun): GraphEntity {
  const { runtime, runtimeUrl } = languageEntities[language];
  const [name, version] = [ran?.name ?? runtime, ran?.version ?? null];
  return createSoftwareEntity(name, runtimeUrl, version, 'The interpreter that ran the code');
}

/** Only runs of Python record libraries, so the address is that of the index of Python packages. */
function createLibraryEntity({ name, version }: SoftwareVersion): GraphEntity {
  const url = `https://pypi.org/project/${encodeURIComponent(name.toWellFormed())}/`;
  return createSoftwareEntity(name, url, version, 'A library that the code imported');
}

/** Python and Bash are as their interpreters. JavaScript has versions of its own, which nobody records. */
function createLanguageEntity({ language, runtime }: PackedRun): GraphEntity {
  const { name, url } = languageEntities[language];
  const version =
    runtime && (language === 'node' ? `of ${runtime.name} ${runtime.version}` : runtime.version);
  const description = 'The language of the code';
  const properties = { name, description, url, version: version ?? unknownVersion };
  return createGraphEntity(toVersionedUrl(url, version), 'ComputerLanguage', properties);
}

function createActionEntity(run: PackedRun, specification: CrateSpecification, agent: string): GraphEntity {
  const { name } = languageEntities[run.language];
  return createGraphEntity(toActionId(run), 'CreateAction', {
    name: `${name} run ${run.id}`,
    description: `${name} code in ${run.workingDir}: ${run.outcome}.`,
    identifier: run.id,
    instrument: toEntityReference(pathToEntityId(run.code.path)),
    agent: toEntityReference(agent),
    startTime: toIsoTimestamp(run.startedAt),
    endTime: run.endedAt === null ? null : toIsoTimestamp(run.endedAt),
    actionStatus: specification.toActionStatus(run.succeeded),
    error: run.succeeded ? null : (run.error ?? run.outcome),
    object: toEntityReferences(run.inputs.map(toRunFileId)),
    // What it wrote to its outputs is a result too, which `about` tells from files that it made.
    result: toEntityReferences([...run.results, ...run.logs].map(toRunFileId)),
    additionalProperty: toEntityReferences(listRunProperties(run).map(toRunPropertyId)),
  });
}

/** Names of properties that a replay reads again. */
export const runPropertyNames = {
  folder: 'working folder',
  session: 'session',
  cell: 'cell',
  script: 'script',
  incomplete: 'inputs_may_be_incomplete',
  moreResults: 'results_not_hashed',
  incompleteResults: 'results_may_be_incomplete',
} as const;

function listRunProperties(run: PackedRun): RunLimit[] {
  const { workingDir, session, cell, script, inputsMayBeIncomplete, limits } = run;
  const { moreResults, resultsMayBeIncomplete } = run;
  const toProperty = (name: string, value: string): RunLimit => ({ name, value, unit: null });
  return [
    toProperty(runPropertyNames.folder, workingDir),
    ...(session === null ? [] : [toProperty(runPropertyNames.session, session)]),
    ...(cell === null ? [] : [toProperty(runPropertyNames.cell, String(cell))]),
    ...(script === null ? [] : [toProperty(runPropertyNames.script, script)]),
    ...(inputsMayBeIncomplete ? [toProperty(runPropertyNames.incomplete, 'true')] : []),
    ...(moreResults > 0 ? [toProperty(runPropertyNames.moreResults, String(moreResults))] : []),
    ...(resultsMayBeIncomplete ? [toProperty(runPropertyNames.incompleteResults, 'true')] : []),
    ...limits,
  ];
}

/** By name and value: steps may have other limits. */
const toRunPropertyId = ({ name, value }: RunLimit): string => toLocalEntityId(name, String(value));

function createRunPropertyEntity(property: RunLimit): GraphEntity {
  return createGraphEntity(toRunPropertyId(property), 'PropertyValue', {
    name: property.name,
    value: property.value,
    unitText: property.unit,
  });
}

/** Code that was written for one run has no other version than its hash. */
const codeVersionLength = 12;

/** The code is a file and the instrument at once, so it is one entity of both types. A saved script has a name of its own. */
function createCodeEntity(
  { code: file, script }: PackedRun,
  language: string,
  needs: readonly string[],
): GraphEntity {
  const version = script === null ? null : script.slice(script.lastIndexOf('@') + 1);
  return createGraphEntity(pathToEntityId(file.path), ['File', 'SoftwareSourceCode'], {
    ...describePackedFile(file),
    identifier: script,
    programmingLanguage: toEntityReference(language),
    version: version ?? file.sha256.slice(0, codeVersionLength),
    softwareRequirements: toEntityReferences(needs),
  });
}
