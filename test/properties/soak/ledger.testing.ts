/** What the clients of a soak were told, so that it can be looked for later. */
export interface SoakLedger {
  /** Files that were acknowledged and not deleted: the sha256 by id. */
  readonly files: Map<string, string>;
  /** Files whose deletion was acknowledged. */
  readonly deleted: Set<string>;
  /** Links that were not revoked: the path of the URL, with the file behind it. */
  readonly links: Map<string, { readonly file: string; readonly sha256: string }>;
  /** Links that were revoked. */
  readonly revoked: Set<string>;
  /** Single-use links that were fetched whole. */
  readonly used: Set<string>;
  /** Runs whose result was given: the output by id. */
  readonly runs: Map<string, string>;
  /** Crates that were packed: the sha256 by id. */
  readonly crates: Map<string, string>;
  /** Uploads that are not complete: the path of the URL, the bytes, and how many were acknowledged. */
  readonly uploads: Map<string, PartialUpload>;
  /** How often each action was done. */
  readonly done: Map<string, number>;
  /** Whatever is not as it was told, or was answered in a way that it must not be. */
  readonly problems: string[];
}

export interface PartialUpload {
  readonly bytes: Uint8Array<ArrayBuffer>;
  acknowledged: number;
}

export function openLedger(): SoakLedger {
  return {
    files: new Map(),
    deleted: new Set(),
    links: new Map(),
    revoked: new Set(),
    used: new Set(),
    runs: new Map(),
    crates: new Map(),
    uploads: new Map(),
    done: new Map(),
    problems: [],
  };
}

export function countAction({ done }: SoakLedger, name: string): void {
  done.set(name, (done.get(name) ?? 0) + 1);
}
