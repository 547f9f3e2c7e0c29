import type { Language } from '../../sandbox/sandbox.ts';

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
export function filesOf({ run, files }: PackedCrate): PackedFile[] {
  return [...(run === null ? [] : [run.code, ...run.inputs, ...run.results, ...run.logs]), ...files];
}
