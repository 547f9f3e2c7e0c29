/**
 * What an agent can do by itself before it calls again: send a file or a listing by its shell, or prove that it shares
 * files with this server. The commands are in `commands.ts`; nothing is asked here.
 */
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { ToolContext } from '../../../core/offer/tool.ts';
import { bsdListingForm, buildSendFilesCommand, buildSendListingCommand } from './commands.ts';
import { describeOtherWays } from './failures.ts';
import { listAskable, type ClientInstructions, type FileRequest, type RequestCall } from './file-request.ts';
import type { FilesystemChallenges } from './filesystem-challenge.ts';
import type { PendingUploads } from './pending-uploads.ts';

export interface OffersOptions {
  readonly awaited: Pick<PendingUploads, 'expect'>;
  readonly proofs: FilesystemChallenges;
  /** The base of the URLs handed out. A function, since the port may be known only later. */
  readonly baseUrl: () => string;
}

export function createOffers({ awaited, proofs, baseUrl }: OffersOptions) {
  async function offer({ request, context }: RequestCall): Promise<ClientInstructions> {
    const { caller, client } = context;
    const [sent, byPage] = await Promise.all([
      awaited.expect(caller, request, 'upload'),
      awaited.expect(caller, request, 'url'),
    ]);
    const uploadUrl = `${baseUrl()}/uploads/${sent.token}`;
    const path = request.path.relative;
    const isFile = request.operation === 'read';
    return {
      offer: 'upload',
      path,
      rung: 'upload',
      command: isFile
        ? buildSendFilesCommand([{ path, url: uploadUrl }])
        : buildSendListingCommand(request, uploadUrl),
      bsdForm: isFile ? null : bsdListingForm,
      uploadUrl,
      pageUrl: `${baseUrl()}/ask/${byPage.token}`,
      expiresAt: Math.min(sent.expiresAt, byPage.expiresAt),
      proofCommand: proofFor(request, context)?.command ?? null,
      askable: listAskable(request, { capabilities: client.capabilities, sharesProject: false }),
    };
  }

  function proofFor({ root }: FileRequest, { caller, sharesMachine }: ToolContext) {
    if (!sharesMachine || root === null || proofs.isProven(caller.user, root)) return null;
    return proofs.challenge(caller.user, root);
  }

  function offerProof({ request, context }: RequestCall): ClientInstructions {
    const { command, until } = proofs.challenge(context.caller.user, request.root!);
    const path = request.path.relative;
    return {
      offer: 'proof',
      path,
      rung: 'direct',
      command,
      bsdForm: null,
      uploadUrl: null,
      pageUrl: null,
      expiresAt: until,
      proofCommand: command,
      askable: [],
    };
  }

  return { offer, offerProof };
}

/** Who is asked in vain, or too long, is offered the usual way in the same answer. */
export async function offerUploadIfRefused<T>(
  { offer }: Pick<ReturnType<typeof createOffers>, 'offer'>,
  call: RequestCall,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isWorkcrateError(error, 'client_refused') && !isWorkcrateError(error, 'client_timeout')) throw error;
    const message = `${error.message} Instead, ${describeOtherWays(await offer(call))}`;
    throw new WorkcrateError(error.code, message, { cause: error, details: { ...error.details } });
  }
}
