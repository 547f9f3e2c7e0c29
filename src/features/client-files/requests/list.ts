/**
 * Lists a folder of the client. Every path that comes back is checked against the allow-list again, and the pattern is
 * applied again. How the client is asked is in `methods.ts`.
 */
import { join } from 'node:path';
import type { Audit } from '../../../core/audit/audit.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Question, ToolContext } from '../../../core/offer/tool.ts';
import type { ClientCache } from '../cache/cache.ts';
import type { ClientListing } from '../client-file.ts';
import type { RawEntries } from '../policy/policy.ts';
import { parseListing } from './commands.ts';
import { listDirectly } from './direct.ts';
import { clientRefusedError } from './failures.ts';
import type { ClientInstructions, AnswerSource, UseAnswer } from './file-request.ts';
import type { FileMethods } from './methods.ts';
import { offerUploadIfRefused } from './offers.ts';
import type { PreparedRequest, ClientRequests, ListFolderOptions } from './requests.ts';

export interface ListRequestOptions {
  readonly methods: FileMethods;
  readonly requests: ClientRequests;
  readonly audit: Audit;
  readonly cache: Pick<ClientCache, 'outdate'>;
}

/** Lists a folder of the client's. Every path that comes is judged, and the pattern applied again (E1). */
export function createFolderLister({ methods, requests, audit, cache }: ListRequestOptions) {
  async function judged(
    { call, policy }: PreparedRequest,
    entries: RawEntries,
    { rung, from }: Pick<AnswerSource, 'rung' | 'from'>,
  ): Promise<ClientListing> {
    const { request, context } = call;
    const { recursive, pattern, path } = request;
    const how = { recursive, pattern, from, signal: context.signal };
    const { outside, firstOutside, ...listing } = await policy.judgeListing(path, entries, how);
    if (outside > 0) noteLie(context, firstOutside, outside);
    cache.outdate(context.caller.user, request.projectKey, listing.entries);
    await methods.outdate(context.caller, request.projectKey, listing.entries);
    const localPath = rung === 'direct' ? join(request.root!, path.relative) : null;
    return { ...listing, rung, localPath };
  }

  /** Whoever lists what lies elsewhere has been asked for none of it. */
  function noteLie({ caller, client }: ToolContext, subject: string | null, outside: number): void {
    const about = { operation: 'list_client_directory', user: caller.user, client: client.name, subject };
    const event = { ...about, result: 'path_refused', details: { outside } };
    audit.violation(event, 'answered_outside', new Error('a client listed what was not asked for'));
  }

  return async (
    input: ListFolderOptions,
    context: ToolContext,
  ): Promise<ClientListing | Question | ClientInstructions> => {
    const { recursive = false, pattern = null } = input;
    const terms = { binary: false, size: null, sha256: null, recursive, pattern };
    const prepared = requests.begin('list', input, terms, context);
    if ('ask' in prepared) return prepared;
    const { call, policy, state } = prepared;
    const use: UseAnswer<ClientListing> = (chunks, source) =>
      judged(
        prepared,
        parseListing(chunks, { isWhole: isTypedAnswer(source), folder: call.request.path.relative }),
        source,
      );
    if (state !== null)
      return offerUploadIfRefused(methods, call, async () => {
        const came = await methods.answered(call, state, { use, meanwhile: () => null });
        if (came !== null) return came;
        throw clientRefusedError(call.request.path.relative, 'the answer holds no listing');
      });
    if (prepared.isDirect)
      return judged(prepared, listDirectly(call.request, policy), { rung: 'direct', from: 'folder' });
    return (await methods.arrived(call, use)) ?? requests.ask(prepared, input);
  };
}

/** A person, or a model between its marks, gives all there is. What is sent may be cut off on its way. */
const isTypedAnswer = ({ rung }: AnswerSource): boolean => rung === 'form' || rung === 'sampling';

/** What was said of a file before it came; null where nothing was. */
interface AnnouncedDigest {
  readonly size: number | null;
  readonly sha256: string | null;
}

interface ReceivedDigest {
  readonly size: number;
  readonly sha256: string;
}

/** Refuses a file that is not what it was said to be. Nothing of it is kept. */
export function checkSame(came: ReceivedDigest, said: AnnouncedDigest): void {
  const found = findDifference(came, said);
  if (found === 'size')
    throw new WorkcrateError(
      'size_mismatch',
      `${said.size} bytes were announced, but ${came.size} arrived. Nothing was kept; check the file and call again.`,
    );
  if (found === 'sha256')
    throw new WorkcrateError(
      'hash_mismatch',
      `The received bytes have the sha256 ${came.sha256}, not the announced one. Nothing was kept; call again.`,
    );
}

export function findDifference(
  { size, sha256 }: ReceivedDigest,
  said: AnnouncedDigest,
): 'size' | 'sha256' | null {
  if (said.size !== null && said.size !== size) return 'size';
  return said.sha256 !== null && said.sha256 !== sha256 ? 'sha256' : null;
}
