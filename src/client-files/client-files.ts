/**
 * Files of the client, by whichever method the client supports. It puts the parts of this room together and writes the
 * audit lines. Which paths are allowed is decided by the allow-list in `policy/`; how a client is asked, in
 * `requests/`.
 */
import type { Audit } from '../audit/audit.ts';
import type { Caller } from '../identity.ts';
import type { Question, ToolContext } from '../mcp/tool.ts';
import type { ClientCache } from './cache/cache.ts';
import type { ClientListing } from './client-file.ts';
import type { Offer } from './requests/file-request.ts';
import { createListing } from './requests/list.ts';
import { createLadder, type LadderOptions } from './requests/methods.ts';
import { createReading, auditOperation, type HadFile } from './requests/read.ts';
import { createApproaches, type ApproachOptions, type ListWish, type ReadWish } from './requests/requests.ts';

export type { ClientEntry, ClientFile, ClientListing, Rung } from './client-file.ts';
export { isOffer, type Offer } from './requests/file-request.ts';
export { createFilesystemChallenges, type FilesystemChallenges } from './requests/filesystem-challenge.ts';
export type { HadFile, ReadFile } from './requests/read.ts';
export type { ListWish, ReadWish } from './requests/requests.ts';

export interface BridgeOptions extends LadderOptions, Omit<ApproachOptions, 'ladder'> {
  readonly cache: ClientCache;
  readonly audit: Audit;
  /** A file of more is not held in memory. */
  readonly mostBytes: number;
}

export type Bridge = ReturnType<typeof createBridge>;

/**
 * The client's files, by whichever way the client can give them. A question goes back to the client, and the same call
 * is made again with its answer; an offer says what the client can do by itself before it calls again.
 */
export function createBridge(options: BridgeOptions) {
  const { audit } = options;
  const ladder = createLadder(options);
  const approaches = createApproaches({ ...options, ladder });
  const { read, find } = createReading({ ...options, ladder, approaches });
  const list = createListing({ ...options, ladder, approaches });
  return {
    read: (wish: ReadWish, context: ToolContext): Promise<HadFile | Question | Offer> =>
      auditOperation(audit, 'read_client_file', wish.path, context, () => read(wish, context)),

    /** The same without asking: null where the client would have to be. */
    find: (wish: ReadWish, context: ToolContext): Promise<HadFile | Question | null> =>
      auditOperation(audit, 'read_client_file', wish.path, context, () => find(wish, context)),

    /** Refuses a path that can never be asked for; of some that cannot be known before the client tells its project. */
    demand: (path: string, context: ToolContext): Promise<null> =>
      auditOperation(audit, 'read_client_file', path, context, async () => approaches.demand(path, context)),

    list: (wish: ListWish, context: ToolContext): Promise<ClientListing | Question | Offer> =>
      auditOperation(audit, 'list_client_directory', wish.path, context, () => list(wish, context)),

    /** The policy for the project of this client. */
    policyFor: approaches.policyFor,

    /** Warns once of allowed paths that are in none of these folders of this machine. */
    warnOfMissing: approaches.warnOfMissing,

    /** Has a large file that stayed stored asked for anew: whether there was one. */
    forgetKept: (caller: Caller, place: string | null, path: string): Promise<boolean> =>
      ladder.forgetKept(caller, {
        operation: 'read',
        path: { relative: path, absolute: null },
        place,
        recursive: false,
        pattern: null,
      }),

    /** What the page of an upload is about; null for any other token. */
    page: ladder.page,

    /** Removes what was written for clients to prove that they see it. */
    [Symbol.dispose]: () => options.proofs[Symbol.dispose](),
  };
}
