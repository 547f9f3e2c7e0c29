import { WorkcrateError } from '../../errors.ts';
import type { Language } from '../../sandbox/sandbox.ts';
import type { About, Author, MissingFile, Origin, PackedFile, PackedRun, RunLimit } from './packed.ts';

/** A reference to another entity, in the one form that RO-Crate knows. */
export interface Reference {
  readonly '@id': string;
}

type Value = string | number | Reference | readonly (string | Reference)[];

/** An entity of the flat graph. What is null is left out when it is made. */
export interface GraphEntity {
  readonly '@id': string;
  readonly '@type': string | readonly string[];
  readonly [property: string]: Value;
}

export function entity(
  id: string,
  type: string | readonly string[],
  properties: Readonly<Record<string, Value | null>>,
): GraphEntity {
  const stated = Object.entries(properties).filter(([, value]) => value !== null) as [string, Value][];
  return { '@id': id, '@type': type, ...Object.fromEntries(stated) };
}

export const reference = (id: string): Reference => ({ '@id': id });

/** Compacted form: nothing is null, and one alone stands without a list. */
export function references(ids: readonly string[]): Reference | Reference[] | null {
  if (ids.length <= 1) return ids[0] === undefined ? null : reference(ids[0]);
  return ids.map(reference);
}

export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** `sha256` is a term of the RO-Crate 1.3 context (schema.org), so nothing has to be added to that. */
export function fileEntity(file: PackedFile, about: string | null = null): GraphEntity {
  return entity(idOfPath(file.path), 'File', {
    ...described(file),
    about: about === null ? null : reference(about),
  });
}

/** The code is a file and the instrument at once, so it is one entity of both types. */
function codeEntity(file: PackedFile, language: string, needs: readonly string[]): GraphEntity {
  return entity(idOfPath(file.path), ['File', 'SoftwareSourceCode'], {
    ...described(file),
    programmingLanguage: reference(language),
    softwareRequirements: references(needs),
  });
}

function described(file: PackedFile) {
  return {
    name: lastName(file.knownAs ?? file.path),
    description: file.description,
    alternateName: file.knownAs,
    contentSize: String(file.size),
    encodingFormat: file.mediaType,
    sha256: file.sha256,
    dateModified: file.modified === null ? null : iso(file.modified),
    isBasedOn: file.origin === null ? null : reference(originId(file.origin)),
  };
}

const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** A `#` makes it an entity that is no part of the payload: RO-Crate's way to tell of a file that is not there. */
const missingId = ({ name }: MissingFile): string => localId('input', name);

function missingEntity(file: MissingFile): GraphEntity {
  return entity(missingId(file), 'File', {
    name: file.name,
    description:
      'A file that the run was given. It was gone when the run was packed, and is not in this crate.',
    alternateName: file.name,
    localPath: `inputs/${file.name}`,
    contentSize: String(file.size),
    sha256: file.sha256,
    isBasedOn: file.origin === null ? null : reference(originId(file.origin)),
  });
}

const originId = ({ crateId, path }: Origin): string => localId(crateId, path);
const crateEntityId = ({ crateId }: Origin): string => `#${crateId}`;

/** The files of other crates that some of these are copies of, and those crates. */
function originEntities(files: readonly { readonly origin: Origin | null }[]): GraphEntity[] {
  const found = new Map<string, GraphEntity>();
  for (const { origin } of files) {
    if (origin === null) continue;
    const { crateId, path } = origin;
    const crate = reference(crateEntityId(origin));
    const file = { name: path, identifier: `${crateId}/${path}`, isPartOf: crate };
    found.set(originId(origin), entity(originId(origin), 'CreativeWork', file));
    const whole = { name: `The crate ${crateId}`, identifier: crateId };
    found.set(crate['@id'], entity(crate['@id'], 'Dataset', whole));
  }
  return [...found.values()];
}

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

/** Who ran it: the same id in every crate of the user's. */
export function agentEntity(user: string): GraphEntity {
  return entity(localId('user', user), 'Person', { name: user, givenName: user, identifier: user });
}

/** The authors and where they work. Two that have the same id are the same person. */
export function authorEntities(authors: readonly Author[]): {
  people: GraphEntity[];
  organisations: GraphEntity[];
} {
  const people = new Map<string, GraphEntity>();
  const organisations = new Map<string, GraphEntity>();
  for (const { name, orcid, affiliation } of authors) {
    const id = orcid === undefined ? localId('author', name) : orcidUrl(orcid);
    const employer = affiliation === undefined ? null : localId('organisation', affiliation);
    if (employer !== null)
      organisations.set(employer, entity(employer, 'Organization', { name: affiliation! }));
    const person = { name, affiliation: employer === null ? null : reference(employer) };
    if (!people.has(id)) people.set(id, entity(id, 'Person', person));
  }
  return { people: [...people.values()], organisations: [...organisations.values()] };
}

/** The address of an ORCID iD, whose last digit proves the others (ISO 7064, 11-2). */
export function orcidUrl(text: string): string {
  const id = /^(?:https?:\/\/orcid\.org\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\/?$/i.exec(text.trim())?.[1];
  if (id !== undefined && hasRightEnd(id.toUpperCase())) return `https://orcid.org/${id.toUpperCase()}`;
  throw new WorkcrateError(
    'invalid_input',
    `${JSON.stringify(text.slice(0, 60))} is no ORCID iD. Write it as 0000-0002-1825-0097, or leave it out.`,
  );
}

function hasRightEnd(id: string): boolean {
  const digits = id.replaceAll('-', '');
  const sum = digits
    .slice(0, 15)
    .split('')
    .reduce((total, digit) => (total + Number(digit)) * 2, 0);
  const check = (12 - (sum % 11)) % 11;
  return digits.at(-1) === (check === 10 ? 'X' : String(check));
}

/** What may not stand in an IRI as it is, or would end its path. Letters of every language may. */
const toEncode = /[\p{C}\p{Z}"<>\\^`{|}%#?[\]]/gu;

/** The `@id` of a file: its path as a relative IRI reference, which differs wherever the path does. */
export function idOfPath(path: string): string {
  return path.replace(toEncode, percentEncoded);
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** The path that an `@id` stands for; null where it is not that of a file in the crate. */
export function pathOfId(id: string): string | null {
  if (/^(?:[a-z][a-z0-9+.-]*:|_:|[#/])/i.test(id)) return null;
  const path = decoded(id.replace(/^(?:\.\/)+/, ''));
  const isInside = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  return isInside && !/[\\\0]/.test(path) ? path : null;
}

/** Crates are met whose ids are plain paths: there a percent sign is one. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An id for something that has no address of its own. */
function localId(kind: string, name: string): string {
  return `#${kind}-${encodeURIComponent(name.toWellFormed())}`;
}
