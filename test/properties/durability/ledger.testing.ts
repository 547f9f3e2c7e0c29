import type { Program } from '../../behaviour/cli/program.testing.ts';

/** What the server has been told and what it has acknowledged, as its client knows it. */
export interface Ledger {
  /** The sha256 of all that was ever sent, acknowledged or not, by its filename. */
  readonly sent: Map<string, string>;
  /** Acknowledged and not deleted, by id, with the sha256. */
  readonly kept: Map<string, string>;
  /** Asked to be deleted. Whether that happened is open until it is acknowledged. */
  readonly deleting: Set<string>;
  readonly deleted: Set<string>;
  /** Links handed out: the path of the URL, and the file behind it. */
  readonly links: Map<string, string>;
  /** Uploads whose answer did not arrive: the path of the URL, and the filename. */
  readonly unanswered: Map<string, string>;
}

export function emptyLedger(): Ledger {
  return {
    sent: new Map(),
    kept: new Map(),
    deleting: new Set(),
    deleted: new Set(),
    links: new Map(),
    unanswered: new Map(),
  };
}

export interface Listed {
  readonly file_id: string;
  readonly filename: string;
  readonly sha256: string;
}

/** Every file that the server lists. */
export async function listAll(program: Program): Promise<Map<string, Listed>> {
  const files = new Map<string, Listed>();
  for (let after: string | null = ''; after !== null;) {
    const { data } = await program.call('list_files', { limit: 200, ...(after ? { after } : {}) });
    for (const file of data.files as Listed[]) files.set(file.file_id, file);
    after = data.next as string | null;
  }
  return files;
}
