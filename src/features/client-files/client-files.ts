/**
 * Files of the client, by whichever method the client supports. It puts the parts of this room together and writes the
 * audit lines. Which paths are allowed is decided by the allow-list in `policy/`; how a client is asked, in
 * `requests/`.
 */
import type { Audit } from '../../core/audit/audit.ts';
import type { Caller } from '../../core/identity.ts';
import type { Question, ToolContext } from '../../core/offer/tool.ts';
import type { ClientCache } from './cache/cache.ts';
import type { ClientListing } from './client-file.ts';
import type { ClientInstructions } from './requests/file-request.ts';
import { createFolderLister } from './requests/list.ts';
import { createFileMethods, type FileMethodsOptions } from './requests/methods.ts';
import { createFileReader, auditOperation, type FoundFile, type UnspentFile } from './requests/read.ts';
import {
  createRequests,
  type ClientRequestsOptions,
  type ListFolderOptions,
  type ReadFileOptions,
} from './requests/requests.ts';

export type { ClientEntry, ClientFile, ClientListing, TransferMethod } from './client-file.ts';
export type { ClientInstructions } from './requests/file-request.ts';
export { createFilesystemChallenges, type FilesystemChallenges } from './requests/filesystem-challenge.ts';
export type { FoundFile, ReadClientFile, UnspentFile } from './requests/read.ts';
export { buildSendFilesCommand } from './requests/commands.ts';
export { describeMethod } from './freshness.ts';
export type { ListFolderOptions, ReadFileOptions } from './requests/requests.ts';

export interface ClientFilesOptions extends FileMethodsOptions, Omit<ClientRequestsOptions, 'methods'> {
  readonly cache: ClientCache;
  readonly audit: Audit;
  /** A file of more is not held in memory. */
  readonly mostBytes: number;
}

export type ClientFiles = ReturnType<typeof createClientFiles>;

/**
 * The client's files, by whichever way the client can give them. A question goes back to the client, and the same call
 * is made again with its answer; an offer says what the client can do by itself before it calls again.
 */
export function createClientFiles(options: ClientFilesOptions) {
  const { audit } = options;
  const methods = createFileMethods(options);
  const requests = createRequests({ ...options, methods });
  const { read, find, offer } = createFileReader({ ...options, methods, requests });
  const list = createFolderLister({ ...options, methods, requests });
  return {
    read: (
      input: ReadFileOptions,
      context: ToolContext,
    ): Promise<FoundFile | Question | ClientInstructions> =>
      auditOperation(audit, 'read_client_file', input.path, context, () => read(input, context)),

    /** The same without asking: null where the client would have to be. */
    find: (input: ReadFileOptions, context: ToolContext): Promise<UnspentFile | Question | null> =>
      auditOperation(audit, 'read_client_file', input.path, context, () => find(input, context)),

    /** How the client can send it, whether or not it is here. */
    offer: (input: ReadFileOptions, context: ToolContext): Promise<Question | ClientInstructions> =>
      auditOperation(audit, 'read_client_file', input.path, context, () => offer(input, context)),

    /** Refuses a path that can never be asked for; of some that cannot be known before the client tells its project. */
    demand: (path: string, context: ToolContext): Promise<null> =>
      auditOperation(audit, 'read_client_file', path, context, async () => requests.demand(path, context)),

    list: (
      input: ListFolderOptions,
      context: ToolContext,
    ): Promise<ClientListing | Question | ClientInstructions> =>
      auditOperation(audit, 'list_client_directory', input.path, context, () => list(input, context)),

    /** The policy for the project of this client. */
    policyFor: requests.policyFor,

    /** Warns once of allowed paths that are in none of these folders of this machine. */
    warnOfMissing: requests.warnOfMissing,

    /** Has a large file that stayed stored asked for anew: whether there was one. */
    forgetKept: (caller: Caller, projectKey: string | null, path: string): Promise<boolean> =>
      methods.forgetKept(caller, {
        operation: 'read',
        path: { relative: path, absolute: null },
        projectKey,
        recursive: false,
        pattern: null,
      }),

    /** What the page of an upload is about; null for any other token. */
    page: methods.page,

    /** Removes what was written for clients to prove that they see it. */
    [Symbol.dispose]: () => options.proofs[Symbol.dispose](),
  };
}
