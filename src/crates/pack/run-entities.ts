import type { Language } from '../../sandbox/sandbox.ts';
import { entity, iso, reference, references, type GraphEntity } from './entity.ts';
import { codeEntity, fileEntity, missingEntity, missingId, originEntities } from './file-entities.ts';
import { idOfPath, localId } from './ids.ts';
import type { About, PackedRun, RunLimit } from './packed.ts';

/** What each language is called, and who says what it is. */
export const languageNames: Readonly<
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

const runtimeId = '#runtime';
const serverId = '#workcrate';

export const actionId = ({ id }: PackedRun): string => `#${id}`;

/** The action, its instrument, what it was given and what it made: the entities of a Process Run Crate. */
export function runEntities(run: PackedRun, about: About, agent: string): GraphEntity[] {
  const { name, url, runtime, runtimeUrl } = languageNames[run.language];
  const version = run.runtime?.version ?? null;
  return [
    actionEntity(run, agent),
    codeEntity(run.code, url, [runtimeId, serverId]),
    entity(url, 'ComputerLanguage', { name, url, version: run.language === 'node' ? null : version }),
    entity(runtimeId, 'SoftwareApplication', {
      name: run.runtime?.name ?? runtime,
      url: runtimeUrl,
      softwareVersion: version,
    }),
    entity(serverId, 'SoftwareApplication', {
      name: 'Workcrate',
      description: `The server that ran the code, in its sandbox ${run.sandbox}, and packed this crate`,
      softwareVersion: about.version,
    }),
    ...run.limits.map(limitEntity),
    ...[...run.inputs, ...run.results].map((file) => fileEntity(file)),
    ...run.missing.map(missingEntity),
    ...run.logs.map((file) => fileEntity(file, actionId(run))),
    ...originEntities([...run.inputs, ...run.missing]),
  ];
}

function actionEntity(run: PackedRun, agent: string): GraphEntity {
  const { name } = languageNames[run.language];
  const status = run.succeeded ? 'CompletedActionStatus' : 'FailedActionStatus';
  return entity(actionId(run), 'CreateAction', {
    name: `${name} run ${run.id}`,
    description: `${name} code in ${run.workingDir}: ${run.outcome} after ${run.endedAt - run.startedAt} ms.`,
    identifier: run.id,
    instrument: reference(idOfPath(run.code.path)),
    agent: reference(agent),
    startTime: iso(run.startedAt),
    endTime: iso(run.endedAt),
    actionStatus: reference(`http://schema.org/${status}`),
    error: run.succeeded ? null : (run.error ?? run.outcome),
    object: references([...run.inputs.map(({ path }) => idOfPath(path)), ...run.missing.map(missingId)]),
    result: references(run.results.map(({ path }) => idOfPath(path))),
    additionalProperty: references(run.limits.map(limitId)),
  });
}

const limitId = ({ name }: RunLimit): string => localId('limit', name);

function limitEntity(limit: RunLimit): GraphEntity {
  return entity(limitId(limit), 'PropertyValue', {
    name: limit.name,
    value: limit.value,
    unitText: limit.unit,
  });
}
