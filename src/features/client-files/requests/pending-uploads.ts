/**
 * Uploads that a client was asked for and that have not come. The database knows them; only tokens are remembered
 * here, since they are stored nowhere. What has arrived is in `received-uploads.ts`, and `links/` receives the bytes.
 */
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Caller } from '../../../core/identity.ts';
import type { Upload, Uploads } from '../../../core/links/links.ts';
import { createByUser } from './by-user.ts';
import { getRequestName, type FileRequest } from './file-request.ts';
import {
  createReceivedUploads,
  parseUploadNote,
  toPurposeKey,
  type ReceivedUploadsOptions,
  type UploadNote,
} from './received-uploads.ts';

export type { IsRecentEnough, KeptUpload as KeptFile, ReceivedFile, UsedUpload } from './received-uploads.ts';

/** A file that was asked for and has not come. */
export interface PendingUpload extends UploadNote {
  readonly token: string;
  readonly expiresAt: number;
}

export interface PendingUploadsOptions extends ReceivedUploadsOptions {
  readonly uploads: ReceivedUploadsOptions['uploads'] &
    Pick<Uploads, 'request' | 'find' | 'openFor' | 'giveUp'>;
}

const maxPendingUploads = { each: 1000, users: 10_000 };
/** What came is taken over by the next call; if there is none, it goes. */
const keepSeconds = 3600;

export type PendingUploads = ReturnType<typeof createPendingUploads>;

/**
 * Uploads that were asked for, by what they are to hold. The database knows them, so that any server finds what came;
 * only the tokens, which stand nowhere, are remembered by the process that handed them out.
 */
export function createPendingUploads(options: PendingUploadsOptions) {
  const { uploads } = options;
  const tokens = createByUser<string>(maxPendingUploads);
  /** Two calls at once for the same file get one URL. */
  const requested = createByUser<Promise<PendingUpload>>(maxPendingUploads);

  /** The upload of a token while it is awaited; null for any other, and once it was used or has expired. */
  async function find(token: string): Promise<Upload | null> {
    try {
      const upload = await uploads.find(token);
      return upload.purpose === null || upload.fileId !== null ? null : upload;
    } catch (error) {
      if (isWorkcrateError(error, 'upload_not_found')) return null;
      throw error;
    }
  }

  async function requestUpload(
    caller: Caller,
    request: FileRequest,
    note: UploadNote,
  ): Promise<PendingUpload> {
    const { operation, name, size, sha256 } = note;
    const filename = operation === 'read' ? name : `${name}.listing`;
    const key = toPurposeKey(request);
    const purpose = { key, note: JSON.stringify(note) };
    const announced = { filename, size, sha256, mediaType: null, keepSeconds, purpose };
    const { token, upload } = await uploads.request(caller, announced);
    tokens.set(caller.user, toAnnouncedKey(request, note.rung), token);
    return toPendingUpload(token, upload, note);
  }

  /** The URL that this process has handed out, if it is still good. */
  async function toldBefore(
    { user }: Caller,
    request: FileRequest,
    note: UploadNote,
  ): Promise<PendingUpload | null> {
    const token = tokens.get(user, toAnnouncedKey(request, note.rung));
    const upload = token === undefined ? null : await find(token);
    return upload && toPendingUpload(token!, upload, note);
  }

  async function ask(caller: Caller, request: FileRequest, rung: UploadNote['rung']): Promise<PendingUpload> {
    const { operation, path, projectKey, size, sha256 } = request;
    const name = getRequestName(path);
    const note = {
      operation,
      path: path.relative,
      place: projectKey,
      name,
      rung,
      size,
      sha256,
      isKept: false,
    };
    return (await toldBefore(caller, request, note)) ?? requestUpload(caller, request, note);
  }

  return {
    ...createReceivedUploads(options),

    /** The same for as long as it is good: whoever lost the answer gets it again, from the same server. */
    async expect(caller: Caller, request: FileRequest, rung: UploadNote['rung']): Promise<PendingUpload> {
      const { user } = caller;
      const key = toAnnouncedKey(request, rung);
      const underWay = requested.get(user, key) ?? ask(caller, request, rung);
      requested.set(user, key, underWay);
      try {
        return await underWay;
      } finally {
        requested.remove(user, key);
      }
    },

    /** Takes back what somebody said no to, at whichever server it was asked for: nothing can be sent there any more. */
    async withdraw({ user }: Caller, request: FileRequest): Promise<void> {
      for (const upload of await uploads.openFor(user, toPurposeKey(request))) await uploads.giveUp(upload);
    },

    /** What a page is about; null for what is not awaited, or no longer. */
    async page(token: string): Promise<PendingUpload | null> {
      const upload = await find(token);
      return upload && toPendingUpload(token, upload, parseUploadNote(upload));
    },
  };
}

/**
 * What was said of a file is held against what is sent: who says something else gets another URL. So do people and
 * shells, since what a person gave is remembered for longer.
 */
const toAnnouncedKey = (request: FileRequest, rung: UploadNote['rung']): string =>
  JSON.stringify([toPurposeKey(request), request.size, request.sha256, rung]);

const toPendingUpload = (token: string, { expiresAt }: Upload, note: UploadNote): PendingUpload => ({
  ...note,
  token,
  expiresAt,
});
