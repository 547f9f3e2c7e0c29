import { WorkcrateError } from '../../errors.ts';
import { splitExtension } from '../../filenames.ts';
import type { Language } from '../../sandbox/sandbox.ts';
import {
  actionId,
  agentEntity,
  authorEntities,
  entity,
  fileEntity,
  idOfPath,
  iso,
  reference,
  references,
  runEntities,
  type GraphEntity,
} from './entities.ts';
import { licenceEntity } from './run-facts.ts';

/** Where a file came from, where that was another crate. */
export interface Origin {
  readonly crateId: string;
  readonly path: string;
}

/** What code calls its standard input, where that is a file of the crate. No file that a run is given has such a name. */
export const stdinName = '/dev/stdin';

/** A file that stands in the crate. */
export interface PackedFile {
  /** Below the root of the crate, as it stands in the archive. */
  readonly path: string;
  /** What the code calls it: a name in its working folder, a path in /artifacts, or `stdinName`; null where it knows none. */
  readonly knownAs: string | null;
  readonly description: string;
  readonly size: number;
  readonly sha256: string;
  readonly mediaType: string;
  /** In milliseconds; null where it was made while packing. */
  readonly modified: number | null;
  readonly origin: Origin | null;
}

/** A file that the run was given and that is gone. What is known of it is told all the same. */
export interface MissingFile {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly origin: Origin | null;
}

/** A bound that held during the run, or a wall that stood. */
export interface RunLimit {
  readonly name: string;
  readonly value: number | string;
  readonly unit: string | null;
}

/** An interpreter: its name and its version, such as `Python` and `3.11.2`. */
export interface Runtime {
  readonly name: string;
  readonly version: string;
}

/** One run: what was run on what, by whom, and what came of it. */
export interface PackedRun {
  readonly id: string;
  readonly language: Language;
  /** What ran it; null where that was not noted. */
  readonly runtime: Runtime | null;
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

export interface Author {
  readonly name: string;
  /** Sixteen digits in groups of four, or the URL of it. */
  readonly orcid?: string | undefined;
  readonly affiliation?: string | undefined;
}

/** What is said of the crate as a whole. */
export interface About {
  readonly title: string;
  readonly description: string;
  /** A URL, an SPDX identifier or a text; null where nobody has stated one. */
  readonly license: string | null;
  readonly keywords: readonly string[];
  readonly authors: readonly Author[];
  /** Who had it packed, and ran what is in it. */
  readonly user: string;
  readonly published: number;
  /** The version of this program. */
  readonly version: string;
}

/** A crate as it is to be written: of a run, of files, or of both. */
export interface PackedCrate {
  readonly about: About;
  readonly run: PackedRun | null;
  /** What belongs to no run. */
  readonly files: readonly PackedFile[];
}

/** Every file that the metadata describes, in the order in which it stands in the archive. */
function filesOf({ run, files }: PackedCrate): PackedFile[] {
  return [...(run === null ? [] : [run.code, ...run.inputs, ...run.results, ...run.logs]), ...files];
}

export const metadataName = 'ro-crate-metadata.json';
export const previewName = 'ro-crate-preview.html';

const specification = 'https://w3id.org/ro/crate/1.3';
/** Of the versions of the profile, the one that is made for RO-Crate 1.3; 0.5 and before extend 1.1. */
const profile = { id: 'https://w3id.org/ro/wfrun/process/0.6', version: '0.6' };

export interface MetadataDocument {
  readonly '@context': string;
  readonly '@graph': readonly GraphEntity[];
}

/** The RO-Crate 1.3 metadata of a crate, and of a Process Run Crate where there is a run. */
export function metadataOf(crate: PackedCrate): MetadataDocument {
  const { about, run, files } = crate;
  const agent = agentEntity(about.user);
  const { people, organisations } = authorEntities(about.authors);
  const authors = people.length === 0 ? [agent] : people;
  const isAgentNamed = run !== null || people.length === 0;
  const described = [
    ...people,
    ...organisations,
    ...(isAgentNamed ? [agent] : []),
    ...(run === null ? [] : [profileEntity(), ...runEntities(run, about, agent['@id'])]),
    ...files.map((file) => fileEntity(file)),
  ];
  const licence = apartFrom(described, licenceEntity(about.license));
  return {
    '@context': `${specification}/context`,
    '@graph': [
      entity(metadataName, 'CreativeWork', {
        about: reference('./'),
        conformsTo: reference(specification),
        description: 'What is known of this crate, as RO-Crate JSON-LD',
      }),
      rootEntity(crate, licence, authors),
      entity(previewName, 'CreativeWork', { name: 'A page about this crate', about: reference('./') }),
      licence,
      ...described,
    ],
  };
}

/** Somebody may name any address as a licence, that of another entity too; and no two may have one id. */
function apartFrom(others: readonly GraphEntity[], licence: GraphEntity): GraphEntity {
  const isTaken = others.some((other) => other['@id'] === licence['@id']);
  return isTaken ? { ...licence, '@id': '#license' } : licence;
}

function rootEntity(crate: PackedCrate, licence: GraphEntity, authors: readonly GraphEntity[]): GraphEntity {
  const { about, run } = crate;
  return entity('./', 'Dataset', {
    name: about.title,
    description: about.description,
    datePublished: iso(about.published),
    license: reference(licence['@id']),
    author: references(authors.map((author) => author['@id'])),
    keywords: about.keywords.length > 1 ? about.keywords : (about.keywords[0] ?? null),
    conformsTo: run === null ? null : reference(profile.id),
    mentions: run === null ? null : reference(actionId(run)),
    hasPart: references(filesOf(crate).map(({ path }) => idOfPath(path))),
  });
}

function profileEntity(): GraphEntity {
  return entity(profile.id, ['CreativeWork', 'Profile'], {
    name: 'Process Run Crate',
    version: profile.version,
  });
}

/**
 * Gives each file a path of its own in the archive, as it was named where any reader can take that. Names that differ by
 * case or by Unicode form are two names, here as in the archive.
 */
export function createNaming() {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return (folder: string, name: string): string => {
    const path = `${folder}/${name.split('/').filter(Boolean).map(harmless).join('/')}`;
    const own = taken.has(path) ? numbered(path, taken, numbers) : path;
    taken.add(own);
    return own;
  };
}

export type Naming = ReturnType<typeof createNaming>;

/** What no reader of an archive takes: a backslash, a drive, a control character, a way up. */
function harmless(part: string): string {
  const plain = part
    .toWellFormed()
    .replace(/[\\\p{Cc}]/gu, '_')
    .replace(/^([a-z]):/i, '$1_');
  return /^\s*\.{1,2}\s*$/.test(plain) ? '_' : plain;
}

/** Goes on from the number last tried, as starting over takes quadratic time for many equal names. */
function numbered(path: string, taken: ReadonlySet<string>, numbers: Map<string, number>): string {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const [stem, extension] = splitExtension(path.slice(folder.length));
  for (let number = (numbers.get(path) ?? 1) + 1; ; number++) {
    const candidate = `${folder}${stem} (${number})${extension}`;
    if (taken.has(candidate)) continue;
    numbers.set(path, number);
    return candidate;
  }
}

const usersFolder = 'users';
const sharedFolder = 'shared';
const mostFolderBytes = 250;

/** The folder of a user's own crates. No two users have the same one, on disks that ignore case neither. */
function folderOf(user: string): string {
  const name = [...Buffer.from(user)].map(plainOrHex).join('');
  if (user !== '' && user.isWellFormed() && name.length <= mostFolderBytes) return name;
  throw new WorkcrateError('invalid_input', 'Nothing can be packed for a user of this name: it is too long.');
}

function plainOrHex(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[a-z0-9_-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
}

/** Where a crate goes: below the folder of its owner, or where everybody's are. `attempt` counts from 1. */
export function objectName(owner: string | null, title: string, id: string, attempt: number): string {
  const folder = owner === null ? sharedFolder : `${usersFolder}/${folderOf(owner)}`;
  return `${folder}/${slug(title)}-${id}${attempt === 1 ? '' : `-${attempt}`}.zip`;
}

/** Whose a packed crate is by the name of its object: null for everybody's. */
export function ownerOfObject(name: string): string | null {
  const folder = /^users\/((?:[a-z0-9_-]|=[0-9a-f]{2})+)\//.exec(name)?.[1];
  if (folder === undefined) return null;
  const bytes = folder.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

const mostSlug = 60;

function slug(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return plain.slice(0, mostSlug).replace(/^-+|-+$/g, '') || 'crate';
}
