import { WorkcrateError } from '../../errors.ts';
import { splitExtension } from '../../filenames.ts';
import type { Language } from '../../sandbox/sandbox.ts';
import {
  toActionId,
  createAgentEntity,
  createAuthorEntities,
  createGraphEntity,
  createFileEntity,
  pathToEntityId,
  toIsoTimestamp,
  toEntityReference,
  toEntityReferences,
  createRunEntities,
  type GraphEntity,
} from './entities.ts';
import { createLicenceEntity } from './run-facts.ts';

/** Where a file came from, where that was another crate. */
export interface FileOrigin {
  readonly crateId: string;
  readonly path: string;
}

/** What code calls its standard input, where that is a file of the crate. No file that a run is given has such a name. */
export const stdinFileName = '/dev/stdin';

/** A file that stands in the crate. */
export interface PackedFile {
  /** Below the root of the crate, as it stands in the archive. */
  readonly path: string;
  /** What the code calls it: a name in its working folder, a path in /artifacts, or `stdinFileName`; null where it knows none. */
  readonly knownAs: string | null;
  readonly description: string;
  readonly size: number;
  readonly sha256: string;
  readonly mediaType: string;
  /** In milliseconds; null where it was made while packing. */
  readonly modified: number | null;
  readonly origin: FileOrigin | null;
}

/** A file that the run was given and that is gone. What is known of it is told all the same. */
export interface MissingFile {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly origin: FileOrigin | null;
}

/** A bound that held during the run, or a wall that stood. */
export interface RunLimit {
  readonly name: string;
  readonly value: number | string;
  readonly unit: string | null;
}

/** An interpreter: its name and its version, such as `Python` and `3.11.2`. */
export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
}

/** One run: what was run on what, by whom, and what came of it. */
export interface PackedRun {
  readonly id: string;
  readonly language: Language;
  /** What ran it; null where that was not noted. */
  readonly runtime: RuntimeVersion | null;
  readonly workingDir: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly succeeded: boolean;
  /** How it ended, such as `exit code 0`. */
  readonly outcome: string;
  /** What it said about its failure; null where it did not fail. */
  readonly error: string | null;
  readonly sandbox: string;
  readonly limits: readonly RunLimit[];
  readonly code: PackedFile;
  /** The start of the code, for the page. */
  readonly codeText: string;
  readonly inputs: readonly PackedFile[];
  readonly missing: readonly MissingFile[];
  readonly results: readonly PackedFile[];
  readonly logs: readonly PackedFile[];
}

export interface CrateAuthor {
  readonly name: string;
  /** Sixteen digits in groups of four, or the URL of it. */
  readonly orcid?: string | undefined;
  readonly affiliation?: string | undefined;
}

/** What is said of the crate as a whole. */
export interface AboutCrate {
  readonly title: string;
  readonly description: string;
  /** A URL, an SPDX identifier or a text; null where nobody has stated one. */
  readonly license: string | null;
  readonly keywords: readonly string[];
  readonly authors: readonly CrateAuthor[];
  /** Who had it packed, and ran what is in it. */
  readonly user: string;
  readonly published: number;
  /** The version of this program. */
  readonly version: string;
}

/** A crate as it is to be written: of a run, of files, or of both. */
export interface PackedCrate {
  readonly about: AboutCrate;
  readonly run: PackedRun | null;
  /** What belongs to no run. */
  readonly files: readonly PackedFile[];
}

/** Every file that the metadata describes, in the order in which it stands in the archive. */
function listPackedFiles({ run, files }: PackedCrate): PackedFile[] {
  return [...(run === null ? [] : [run.code, ...run.inputs, ...run.results, ...run.logs]), ...files];
}

export const metadataName = 'ro-crate-metadata.json';
export const previewName = 'ro-crate-preview.html';

const roCrateSpecificationUrl = 'https://w3id.org/ro/crate/1.3';
/** Of the versions of the profile, the one that is made for RO-Crate 1.3; 0.5 and before extend 1.1. */
const processRunProfile = { id: 'https://w3id.org/ro/wfrun/process/0.6', version: '0.6' };

export interface MetadataDocument {
  readonly '@context': string;
  readonly '@graph': readonly GraphEntity[];
}

/** The RO-Crate 1.3 metadata of a crate, and of a Process Run Crate where there is a run. */
export function createMetadataDocument(crate: PackedCrate): MetadataDocument {
  const { about, run, files } = crate;
  const agent = createAgentEntity(about.user);
  const { people, organisations } = createAuthorEntities(about.authors);
  const authors = people.length === 0 ? [agent] : people;
  const isAgentNamed = run !== null || people.length === 0;
  const described = [
    ...people,
    ...organisations,
    ...(isAgentNamed ? [agent] : []),
    ...(run === null ? [] : [createProfileEntity(), ...createRunEntities(run, about, agent['@id'])]),
    ...files.map((file) => createFileEntity(file)),
  ];
  const licence = avoidLicenceIdClash(described, createLicenceEntity(about.license));
  return {
    '@context': `${roCrateSpecificationUrl}/context`,
    '@graph': [
      createGraphEntity(metadataName, 'CreativeWork', {
        about: toEntityReference('./'),
        conformsTo: toEntityReference(roCrateSpecificationUrl),
        description: 'What is known of this crate, as RO-Crate JSON-LD',
      }),
      createRootEntity(crate, licence, authors),
      createGraphEntity(previewName, 'CreativeWork', {
        name: 'A page about this crate',
        about: toEntityReference('./'),
      }),
      licence,
      ...described,
    ],
  };
}

/** Somebody may name any address as a licence, that of another entity too; and no two may have one id. */
function avoidLicenceIdClash(others: readonly GraphEntity[], licence: GraphEntity): GraphEntity {
  const isTaken = others.some((other) => other['@id'] === licence['@id']);
  return isTaken ? { ...licence, '@id': '#license' } : licence;
}

function createRootEntity(
  crate: PackedCrate,
  licence: GraphEntity,
  authors: readonly GraphEntity[],
): GraphEntity {
  const { about, run } = crate;
  return createGraphEntity('./', 'Dataset', {
    name: about.title,
    description: about.description,
    datePublished: toIsoTimestamp(about.published),
    license: toEntityReference(licence['@id']),
    author: toEntityReferences(authors.map((author) => author['@id'])),
    keywords: about.keywords.length > 1 ? about.keywords : (about.keywords[0] ?? null),
    conformsTo: run === null ? null : toEntityReference(processRunProfile.id),
    mentions: run === null ? null : toEntityReference(toActionId(run)),
    hasPart: toEntityReferences(listPackedFiles(crate).map(({ path }) => pathToEntityId(path))),
  });
}

function createProfileEntity(): GraphEntity {
  return createGraphEntity(processRunProfile.id, ['CreativeWork', 'Profile'], {
    name: 'Process Run Crate',
    version: processRunProfile.version,
  });
}

/**
 * Gives each file a path of its own in the archive, as it was named where any reader can take that. Names that differ by
 * case or by Unicode form are two names, here as in the archive.
 */
export function createMemberNaming() {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return (folder: string, name: string): string => {
    const path = `${folder}/${name.split('/').filter(Boolean).map(sanitizePathPart).join('/')}`;
    const own = taken.has(path) ? addNumberToPath(path, taken, numbers) : path;
    taken.add(own);
    return own;
  };
}

export type MemberNaming = ReturnType<typeof createMemberNaming>;

/** What no reader of an archive takes: a backslash, a drive, a control character, a way up. */
function sanitizePathPart(part: string): string {
  const plain = part
    .toWellFormed()
    .replace(/[\\\p{Cc}]/gu, '_')
    .replace(/^([a-z]):/i, '$1_');
  return /^\s*\.{1,2}\s*$/.test(plain) ? '_' : plain;
}

/** Goes on from the number last tried, as starting over takes quadratic time for many equal names. */
function addNumberToPath(path: string, taken: ReadonlySet<string>, numbers: Map<string, number>): string {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const [stem, extension] = splitExtension(path.slice(folder.length));
  for (let number = (numbers.get(path) ?? 1) + 1; ; number++) {
    const candidate = `${folder}${stem} (${number})${extension}`;
    if (taken.has(candidate)) continue;
    numbers.set(path, number);
    return candidate;
  }
}

const packedUsersFolder = 'users';
const packedSharedFolder = 'shared';
const maxUserFolderBytes = 250;

/** The folder of a user's own crates. No two users have the same one, on disks that ignore case neither. */
function toUserFolder(user: string): string {
  const name = [...Buffer.from(user)].map(encodeFolderByte).join('');
  if (user !== '' && user.isWellFormed() && name.length <= maxUserFolderBytes) return name;
  throw new WorkcrateError('invalid_input', 'Nothing can be packed for a user of this name: it is too long.');
}

function encodeFolderByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[a-z0-9_-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
}

/** Where a crate goes: below the folder of its owner, or where everybody's are. `attempt` counts from 1. */
export function createPackedObjectName(
  owner: string | null,
  title: string,
  id: string,
  attempt: number,
): string {
  const folder = owner === null ? packedSharedFolder : `${packedUsersFolder}/${toUserFolder(owner)}`;
  return `${folder}/${slugifyTitle(title)}-${id}${attempt === 1 ? '' : `-${attempt}`}.zip`;
}

/** Whose a packed crate is by the name of its object: null for everybody's. */
export function parsePackedObjectOwner(name: string): string | null {
  const folder = /^users\/((?:[a-z0-9_-]|=[0-9a-f]{2})+)\//.exec(name)?.[1];
  if (folder === undefined) return null;
  const bytes = folder.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

const maxSlugLength = 60;

function slugifyTitle(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return plain.slice(0, maxSlugLength).replace(/^-+|-+$/g, '') || 'crate';
}
