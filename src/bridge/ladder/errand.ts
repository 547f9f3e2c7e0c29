import type { ClientPath, Rung } from '../client-file.ts';

/** What is to be had of a client, after its path was judged. */
export interface Errand {
  readonly operation: 'read' | 'list';
  readonly path: ClientPath;
  /** The client's project folder; null where nobody told. */
  readonly root: string | null;
  /** Reading: the bytes matter, not a text. */
  readonly binary: boolean;
  /** Reading: what the file is said to be; compared with what comes. */
  readonly size: number | null;
  readonly sha256: string | null;
  /** Of which project it is, and seen from where: what is remembered goes by it. */
  readonly place: string | null;
  /** Listing. */
  readonly recursive: boolean;
  readonly pattern: string | null;
}

/** What a client says of a thing in a folder, unjudged. */
export interface RawEntry {
  readonly path: string;
  readonly type: string | null;
  readonly size: number | null;
  readonly mtime: number | null;
}

/** What the client can do for itself, then call again. Not a failure: most agents have a shell. */
export interface Offer {
  readonly offer: 'upload' | 'proof';
  /** From the project's folder. */
  readonly path: string;
  readonly rung: Rung;
  /** For sh, in the project's folder. */
  readonly command: string;
  readonly uploadUrl: string | null;
  /** Where a person sends the same; null for a proof. */
  readonly pageUrl: string | null;
  /** In milliseconds. */
  readonly expiresAt: number;
  /** A command whose output, given as `proof`, lets files be read without being sent; null where that cannot be. */
  readonly proofCommand: string | null;
}

export const isOffer = (answer: object): answer is Offer => 'offer' in answer;

export type ErrandKey = Pick<Errand, 'operation' | 'path' | 'place' | 'recursive' | 'pattern'>;

/** Tells errands of a user apart of which one has nothing to say about the other. */
export function keyOf({ operation, path, place, recursive, pattern }: ErrandKey): string {
  return JSON.stringify([place, operation, path.relative, recursive, pattern]);
}

/** The last name of a path, for people to read. */
export const nameOf = (path: ClientPath): string => path.relative.split('/').at(-1) || 'project';
