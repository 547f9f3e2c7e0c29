import { WorkcrateError } from '../../platform/errors.ts';
import { missingMark, pathToEntityId } from '../crates/metadata/metadata.ts';
import type { CrateAuthor, FileOfRun, FileOrigin, PackedFile } from './packed.ts';
import type { CrateSpecification } from './specification.ts';

/** A reference to another entity, in the only form that RO-Crate allows. */
export interface EntityReference {
  readonly '@id': string;
}

type GraphPropertyValue = string | number | EntityReference | readonly (string | EntityReference)[];

/** An entity of the flat graph. `createGraphEntity` leaves out properties that are null. */
export interface GraphEntity {
  readonly '@id': string;
  readonly '@type': string | readonly string[];
  readonly [property: string]: GraphPropertyValue;
}

export function createGraphEntity(
  id: string,
  type: string | readonly string[],
  properties: Readonly<Record<string, GraphPropertyValue | null>>,
): GraphEntity {
  const stated = Object.entries(properties).filter(([, value]) => value !== null) as [
    string,
    GraphPropertyValue,
  ][];
  return { '@id': id, '@type': type, ...Object.fromEntries(stated) };
}

/** The address of this program. */
export const serverUrl = 'https://www.npmjs.com/package/workcrate';

export const toEntityReference = (id: string): EntityReference => ({ '@id': id });

/** Compacted form: none is null, and a single one is not in a list. */
export function toEntityReferences(ids: readonly string[]): EntityReference | EntityReference[] | null {
  if (ids.length <= 1) return ids[0] === undefined ? null : toEntityReference(ids[0]);
  return ids.map(toEntityReference);
}

/** With an offset in place of `Z`: the public validator knows only that form of ISO 8601. */
export function toIsoTimestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '+00:00');
}

export function createFileEntity(file: PackedFile, about: string | null = null): GraphEntity {
  return createGraphEntity(pathToEntityId(file.path), 'File', {
    ...describePackedFile(file),
    about: about === null ? null : toEntityReference(about),
  });
}

export function describePackedFile(file: PackedFile) {
  return {
    name: getBaseName(file.knownAs[0] ?? file.path),
    description: file.description,
    alternateName: compactTexts(file.knownAs),
    contentSize: String(file.size),
    encodingFormat: file.mediaType,
    sha256: file.sha256,
    dateModified: file.modified === null ? null : toIsoTimestamp(file.modified),
    isBasedOn: file.origin === null ? null : toEntityReference(toOriginFileId(file.origin)),
  };
}

/** As `toEntityReferences`: none is null, and a single one is not in a list. */
const compactTexts = (texts: readonly string[]): string | readonly string[] | null =>
  texts.length > 1 ? texts : (texts[0] ?? null);

const getBaseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

export const isPackedFile = (file: FileOfRun): file is PackedFile => 'mediaType' in file;

/** A `#` makes it an entity that is not part of the payload: the way to describe a file that is missing. */
export const toRunFileId = (file: FileOfRun): string =>
  isPackedFile(file) ? pathToEntityId(file.path) : toLocalEntityId('gone', file.path);

/** RO-Crate 1.1 demands of everything that is a File that it is in the crate. */
export function createRunFileEntity(
  file: FileOfRun,
  { describesMissingFiles }: CrateSpecification,
): GraphEntity {
  if (isPackedFile(file)) return createFileEntity(file);
  return createGraphEntity(toRunFileId(file), describesMissingFiles ? 'File' : 'CreativeWork', {
    name: getBaseName(file.knownAs[0] ?? file.path),
    description: `${file.description}. It is not in this crate: ${file.missing}.`,
    creativeWorkStatus: `${missingMark}${file.missing}`,
    alternateName: compactTexts(file.knownAs),
    localPath: describesMissingFiles ? file.path : null,
    contentSize: file.size === null ? null : String(file.size),
    sha256: file.sha256,
    isBasedOn: file.origin === null ? null : toEntityReference(toOriginFileId(file.origin)),
  });
}

const toOriginFileId = ({ crateId, path }: FileOrigin): string => toLocalEntityId(crateId, path);
const toOriginCrateId = ({ crateId }: FileOrigin): string => `#${crateId}`;

/** The files of other crates that some of these are copies of, and those crates. */
export function createOriginEntities(
  files: readonly { readonly origin: FileOrigin | null }[],
): GraphEntity[] {
  const found = new Map<string, GraphEntity>();
  for (const { origin } of files) {
    if (origin === null) continue;
    const { crateId, path } = origin;
    const crate = toEntityReference(toOriginCrateId(origin));
    const file = { name: path, identifier: `${crateId}/${path}`, isPartOf: crate };
    found.set(toOriginFileId(origin), createGraphEntity(toOriginFileId(origin), 'CreativeWork', file));
    const whole = { name: `The crate ${crateId}`, identifier: crateId };
    found.set(crate['@id'], createGraphEntity(crate['@id'], 'Dataset', whole));
  }
  return [...found.values()];
}

/** The user who ran it, with the same id in every crate of that user. */
export function createAgentEntity(user: string): GraphEntity {
  return createGraphEntity(toLocalEntityId('user', user), 'Person', {
    name: user,
    givenName: user,
    identifier: user,
  });
}

/** The authors and their organisations. Two authors with the same id are the same person. */
export function createAuthorEntities(authors: readonly CrateAuthor[]): {
  people: GraphEntity[];
  organisations: GraphEntity[];
} {
  const people = new Map<string, GraphEntity>();
  const organisations = new Map<string, GraphEntity>();
  for (const { name, orcid, affiliation } of authors) {
    const id = orcid === undefined ? toLocalEntityId('author', name) : toOrcidUrl(orcid);
    const employer = affiliation === undefined ? null : toLocalEntityId('organisation', affiliation);
    if (employer !== null)
      organisations.set(employer, createGraphEntity(employer, 'Organization', { name: affiliation! }));
    const person = { name, affiliation: employer === null ? null : toEntityReference(employer) };
    if (!people.has(id)) people.set(id, createGraphEntity(id, 'Person', person));
  }
  return { people: [...people.values()], organisations: [...organisations.values()] };
}

/** The URL of an ORCID iD, whose last digit is a checksum (ISO 7064, 11-2). */
export function toOrcidUrl(text: string): string {
  const id = /^(?:https?:\/\/orcid\.org\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\/?$/i.exec(text.trim())?.[1];
  if (id !== undefined && hasValidOrcidChecksum(id.toUpperCase()))
    return `https://orcid.org/${id.toUpperCase()}`;
  throw new WorkcrateError(
    'invalid_input',
    `${JSON.stringify(text.slice(0, 60))} is not an ORCID iD. Write it as 0000-0002-1825-0097, or leave it out.`,
  );
}

function hasValidOrcidChecksum(id: string): boolean {
  const digits = id.replaceAll('-', '');
  const sum = digits
    .slice(0, 15)
    .split('')
    .reduce((total, digit) => (total + Number(digit)) * 2, 0);
  const check = (12 - (sum % 11)) % 11;
  return digits.at(-1) === (check === 10 ? 'X' : String(check));
}

/** An id for something that has no address of its own. */
export function toLocalEntityId(kind: string, name: string): string {
  return `#${encodeURIComponent(kind)}-${encodeURIComponent(name.toWellFormed())}`;
}
