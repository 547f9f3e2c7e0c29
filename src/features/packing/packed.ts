import { splitExtension } from '../../platform/text/filenames.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';
import type { RecordedCall } from '../code-mode/store.ts';
import { pathToEntityId } from '../crates/metadata/metadata.ts';
import {
  createAgentEntity,
  createAuthorEntities,
  createGraphEntity,
  createFileEntity,
  isPackedFile,
  toIsoTimestamp,
  toEntityReference,
  toEntityReferences,
  type GraphEntity,
} from './entities.ts';
import { toCallActionId } from './call-entities.ts';
import { createRunEntities, toActionId } from './run-entities.ts';
import { createLicenceEntity } from './run-facts.ts';
import type { CrateSpecification, JsonLdContext } from './specification.ts';

/** The crate that a file came from. */
export interface FileOrigin {
  readonly crateId: string;
  readonly path: string;
}

/** The name of standard input, as a file of the crate. No input file of a run can have this name. */
export const stdinFileName = '/dev/stdin';

/** What a run showed, such as a figure, as files of the crate: below this folder, which is none that a run can use. */
export const shownFolder = '/dev/shown/';

/** A file that is in the crate. */
export interface PackedFile {
  /** Path below the root of the crate, as in the archive. */
  readonly path: string;
  /**
   * Its names for the code: in the working folder of its run, as a path inside, `stdinFileName` or in `shownFolder`. In a
   * chain they are paths, and there may be several: one step's result can be another's input elsewhere.
   */
  readonly knownAs: readonly string[];
  readonly description: string;
  readonly size: number;
  readonly sha256: string;
  readonly mediaType: string;
  /** In milliseconds; null if it was made while packing. */
  readonly modified: number | null;
  readonly origin: FileOrigin | null;
}

/** A file of a run of which there are no bytes in the crate. It still says what is known of it. */
export interface MissingFile {
  /** The path that it would have in the crate, which no other file has. */
  readonly path: string;
  readonly knownAs: readonly string[];
  readonly description: string;
  /** Null if it was not recorded. */
  readonly size: number | null;
  readonly sha256: string | null;
  readonly origin: FileOrigin | null;
  /** Why its bytes are not in the crate, as a clause. */
  readonly missing: string;
}

/** A file of a run: in the crate, or described only. */
export type FileOfRun = PackedFile | MissingFile;

/** A limit that was enforced during the run. */
export interface RunLimit {
  readonly name: string;
  readonly value: number | string;
  readonly unit: string | null;
}

/** An interpreter or a library: its name and its version, such as `Python` and `3.11.2`. */
export interface SoftwareVersion {
  readonly name: string;
  readonly version: string;
}

/** A call of a tool by the code of a run. */
export interface PackedCall extends Omit<
  RecordedCall,
  'arguments' | 'argumentsHash' | 'result' | 'resultHash' | 'ms'
> {
  readonly id: string;
  readonly runId: string;
  readonly endedAt: number;
  /** Their hashes are those of the files. */
  readonly arguments: FileOfRun;
  readonly result: FileOfRun | null;
}

/** One run: code, inputs, results and outcome. */
export interface PackedRun {
  readonly id: string;
  readonly language: Language;
  /** How the page calls it: by its number in a chain. */
  readonly title: string;
  /** The interpreter; null if it was not recorded. */
  readonly runtime: SoftwareVersion | null;
  readonly libraries: readonly SoftwareVersion[];
  /** The session that it was a cell of; null if it was a run of its own. */
  readonly session: string | null;
  /** The number of the cell, which tracebacks name. */
  readonly cell: number | null;
  /** The saved script that it ran, as `name@version`; null if its code was written for it. */
  readonly script: string | null;
  readonly workingDir: string;
  readonly startedAt: number;
  /** Null where nobody saw its end. */
  readonly endedAt: number | null;
  readonly succeeded: boolean;
  /** How it ended, such as `exit code 0`. */
  readonly outcome: string;
  /** Its error message; null if it did not fail. */
  readonly error: string | null;
  readonly sandbox: string;
  readonly limits: readonly RunLimit[];
  readonly code: PackedFile;
  /** The start of the code, for the preview. */
  readonly codeText: string;
  readonly inputs: readonly FileOfRun[];
  /** Whether it may have read files that nobody recorded. */
  readonly inputsMayBeIncomplete: boolean;
  readonly results: readonly FileOfRun[];
  /** How many more files it made or changed, which nobody hashed. */
  readonly moreResults: number;
  /** Whether it may have made files that nobody recorded. */
  readonly resultsMayBeIncomplete: boolean;
  /** Values that it showed, as texts, for the page. */
  readonly shownTexts: readonly string[];
  readonly logs: readonly PackedFile[];
  /** The tools that its code called. */
  readonly calls: readonly PackedCall[];
  /** The definitions of the tools that it could call; null where it could call none. */
  readonly toolsFile: PackedFile | null;
}

export interface CrateAuthor {
  readonly name: string;
  /** Sixteen digits in groups of four, or the URL of it. */
  readonly orcid?: string | undefined;
  readonly affiliation?: string | undefined;
}

/** The description of the crate as a whole. */
export interface AboutCrate {
  readonly title: string;
  readonly description: string;
  /** A URL, an SPDX identifier or a text; null if none is stated. */
  readonly license: string | null;
  readonly keywords: readonly string[];
  readonly authors: readonly CrateAuthor[];
  /** The user who packed it, and ran the code. */
  readonly user: string;
  readonly published: number;
  /** The version of this program. */
  readonly version: string;
}

/** A crate before it is written: of runs, of files, or of both. */
export interface PackedCrate {
  readonly about: AboutCrate;
  /** The version of RO-Crate that it is written in. */
  readonly specification: CrateSpecification;
  /** In the order of their start. A file that one made and another was given is the same in both. */
  readonly runs: readonly PackedRun[];
  /** Files that do not belong to a run. */
  readonly files: readonly PackedFile[];
}

/** Every file that the crate holds and the metadata describes, once. */
function listPackedFiles({ runs, files }: PackedCrate): Set<PackedFile> {
  const ofRuns = runs.flatMap(({ code, inputs, results, logs, calls, toolsFile }) => [
    code,
    ...inputs,
    ...results,
    ...logs,
    ...calls.flatMap((call) => (call.result === null ? [call.arguments] : [call.arguments, call.result])),
    ...(toolsFile === null ? [] : [toolsFile]),
  ]);
  return new Set([...ofRuns.filter(isPackedFile), ...files]);
}

export const metadataName = 'ro-crate-metadata.json';
export const previewName = 'ro-crate-preview.html';

export interface MetadataDocument {
  readonly '@context': JsonLdContext;
  readonly '@graph': readonly GraphEntity[];
}

/** The RO-Crate metadata of a crate; a Process Run Crate if there are runs. */
export function createMetadataDocument(crate: PackedCrate): MetadataDocument {
  const { about, specification, runs, files } = crate;
  const agent = createAgentEntity(about.user);
  const { people, organisations } = createAuthorEntities(about.authors);
  const authors = people.length === 0 ? [agent] : people;
  const isAgentNamed = runs.length > 0 || people.length === 0;
  const described = [
    ...people,
    ...organisations,
    ...(isAgentNamed ? [agent] : []),
    ...(runs.length === 0 ? [] : [createProfileEntity(specification)]),
    ...createRunEntities(crate, agent['@id']),
    ...files.map((file) => createFileEntity(file)),
  ];
  const licence = avoidLicenceIdClash(described, createLicenceEntity(about.license));
  return {
    '@context': specification.context,
    '@graph': [
      createGraphEntity(metadataName, 'CreativeWork', {
        about: toEntityReference('./'),
        conformsTo: toEntityReference(specification.url),
        name: 'Metadata of this crate',
        description: 'What is known of this crate, as RO-Crate JSON-LD',
      }),
      createRootEntity(crate, licence, authors),
      createGraphEntity(previewName, 'CreativeWork', {
        name: 'A page about this crate',
        description: 'What is in this crate, for people',
        about: toEntityReference('./'),
      }),
      licence,
      ...described,
    ],
  };
}

/** A licence may be any address, even that of another entity; but ids must be unique. */
function avoidLicenceIdClash(others: readonly GraphEntity[], licence: GraphEntity): GraphEntity {
  const isTaken = others.some((other) => other['@id'] === licence['@id']);
  return isTaken ? { ...licence, '@id': '#license' } : licence;
}

function createRootEntity(
  crate: PackedCrate,
  licence: GraphEntity,
  authors: readonly GraphEntity[],
): GraphEntity {
  const { about, specification, runs } = crate;
  return createGraphEntity('./', 'Dataset', {
    name: about.title,
    description: about.description,
    datePublished: toIsoTimestamp(about.published),
    license: toEntityReference(licence['@id']),
    author: toEntityReferences(authors.map((author) => author['@id'])),
    keywords: about.keywords.length > 1 ? about.keywords : (about.keywords[0] ?? null),
    conformsTo: runs.length === 0 ? null : toEntityReference(specification.runProfile.id),
    mentions: toEntityReferences(runs.flatMap((run) => [toActionId(run), ...run.calls.map(toCallActionId)])),
    hasPart: toEntityReferences([...listPackedFiles(crate)].map(({ path }) => pathToEntityId(path))),
  });
}

function createProfileEntity({ runProfile: { id, version, types } }: CrateSpecification): GraphEntity {
  return createGraphEntity(id, types.length === 1 ? types[0]! : types, {
    name: 'Process Run Crate',
    version,
  });
}

/**
 * Gives each file a unique path in the archive: its own name, sanitized for all readers. Names that differ only in case
 * or Unicode form are different names, here as in the archive.
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

/** Replaces what readers of archives reject: backslashes, drives, control characters and `..`. */
function sanitizePathPart(part: string): string {
  const plain = part
    .toWellFormed()
    .replace(/[\\\p{Cc}]/gu, '_')
    .replace(/^([a-z]):/i, '$1_');
  return /^\s*\.{1,2}\s*$/.test(plain) ? '_' : plain;
}

/** Continues from the last number, since starting over takes quadratic time for many equal names. */
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
