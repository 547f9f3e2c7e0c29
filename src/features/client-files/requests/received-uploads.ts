/**
 * Uploads that have come, found by what they were asked for, at any server. Each is deleted once it was read, unless
 * it is too large for memory. It receives no bytes: `links/` does.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Files, StoredFile } from '../../../core/files/files.ts';
import type { Caller } from '../../../core/identity.ts';
import type { Upload, Uploads } from '../../../core/links/links.ts';
import type { ClientEntry } from '../client-file.ts';
import { toRequestKey, type FileRequest, type FileRequestKey } from './file-request.ts';

/** An upload that came, for as long as it is read. */
export interface ReceivedFile {
  readonly file: StoredFile;
  /** By which it was asked for. */
  readonly rung: UploadNote['rung'];
  /** When it came, in milliseconds. */
  readonly receivedAt: number;
  /** Its bytes. A chunk is good only until the next is asked for. */
  readonly read: () => AsyncIterable<Uint8Array>;
  /** Lets the file stay: it is found as what is kept, until it expires. */
  readonly keep: () => void;
}

export type KeptUpload = Pick<ReceivedFile, 'file' | 'rung' | 'receivedAt'>;

/** Whether an upload that came by this way, then, may answer a call. */
export type IsRecentEnough = (came: Pick<ReceivedFile, 'rung' | 'receivedAt'>) => boolean;

/** What was made of an upload. It answers other calls as well until it is spent. */
export interface UsedUpload<T> {
  readonly value: T;
  readonly spend: () => Promise<void>;
}

export interface ReceivedUploadsOptions {
  readonly uploads: Pick<Uploads, 'file' | 'arrivedFor' | 'allArrived' | 'claim' | 'note'>;
  readonly files: Pick<Files, 'open' | 'remove'>;
}

/** What came is not what was wanted. After any other failure it can be had by the next call. */
const isUnusableUpload = (error: unknown): boolean =>
  (['size_mismatch', 'hash_mismatch', 'too_large', 'invalid_input'] as const).some((code) =>
    isWorkcrateError(error, code),
  );

/**
 * Files that came, by what they were asked for. Any server finds them, and several calls may read one at once: it is
 * deleted only when somebody has had all of it, so that nothing is lost with a call or a process that ends before.
 */
export function createReceivedUploads({ uploads, files }: ReceivedUploadsOptions) {
  /** The newest first. */
  const listArrived = ({ user }: Caller, request: FileRequestKey): Promise<Upload[]> =>
    uploads.arrivedFor(user, toPurposeKey(request));

  /** Deletes what came. If a caller knows its id, the file stays until it expires. */
  async function release(upload: Upload): Promise<void> {
    const { isKept } = parseUploadNote(upload);
    if ((await uploads.claim(upload)) && !isKept) await files.remove({ user: upload.owner }, upload.fileId!);
  }

  const markKept = (upload: Upload): Promise<void> =>
    uploads.note(upload, JSON.stringify({ ...parseUploadNote(upload), isKept: true }));

  /** Null where its bytes are gone, such as by its owner, or had by another call: it counts as never sent. */
  async function useUpload<T>(
    upload: Upload,
    use: (came: ReceivedFile) => Promise<T>,
  ): Promise<UsedUpload<T> | null> {
    const file = await uploads.file(upload);
    await using object = file && (await files.open(file));
    if (file === null || object === null) return null;
    let isKept = false;
    const read = () => object.read(0, object.size);
    try {
      const value = await use({ file, ...toArrival(upload), read, keep: () => void (isKept = true) });
      return { value, spend: () => (isKept ? markKept(upload) : release(upload)) };
    } catch (error) {
      if (isUnusableUpload(error)) await release(upload);
      throw error;
    }
  }

  /** Gives what came last to `use`, and leaves it for other calls until it is spent. Null where nothing new came. */
  async function findReceived<T>(
    caller: Caller,
    request: FileRequest,
    use: (came: ReceivedFile) => Promise<T>,
    isRecentEnough: IsRecentEnough = () => true,
  ): Promise<UsedUpload<T> | null> {
    const came = await listArrived(caller, request);
    const fresh = came.filter(
      (upload) => !parseUploadNote(upload).isKept && isRecentEnough(toArrival(upload)),
    );
    for (const upload of fresh) {
      const used = await useUpload(upload, use);
      if (used === null) {
        await uploads.claim(upload);
        continue;
      }
      const spend = async () => {
        await used.spend();
        for (const older of came.filter((other) => other !== upload)) await release(older);
      };
      return { value: used.value, spend };
    }
    return null;
  }

  return {
    findReceived,

    /** What was kept, for any number of calls. */
    async kept(caller: Caller, request: FileRequest): Promise<KeptUpload | null> {
      for (const upload of await listArrived(caller, request)) {
        const file = parseUploadNote(upload).isKept ? await uploads.file(upload) : null;
        if (file !== null) return { file, ...toArrival(upload) };
      }
      return null;
    },

    /** Has what was kept asked for anew. The file itself stays, since a caller knows its id. */
    async forgetKept(caller: Caller, request: FileRequestKey): Promise<boolean> {
      const kept = (await listArrived(caller, request)).filter((upload) => parseUploadNote(upload).isKept);
      for (const upload of kept) await release(upload);
      return kept.length > 0;
    },

    /** The same for those that a listing shows to have changed since they came. */
    async outdate({ user }: Caller, projectKey: string | null, seen: readonly ClientEntry[]): Promise<void> {
      const kept = (await uploads.allArrived(user)).filter((upload) => parseUploadNote(upload).isKept);
      if (kept.length === 0) return;
      const entries = new Map(seen.map((entry) => [entry.path, entry]));
      for (const upload of kept) {
        const note = parseUploadNote(upload);
        const entry = note.place === projectKey ? entries.get(note.path) : undefined;
        if (entry !== undefined && hasUploadChanged(upload, entry)) await release(upload);
      }
    },
  };
}

const toArrival = (upload: Upload) => ({
  rung: parseUploadNote(upload).rung,
  receivedAt: upload.completedAt!,
});

const hasUploadChanged = ({ declaredSize, completedAt }: Upload, { size, mtime }: ClientEntry): boolean =>
  (size !== null && size !== declaredSize) || (mtime !== null && mtime > completedAt!);

/** The note that is stored with an upload in the database, for any server. */
const noteShape = z.object({
  operation: z.enum(['read', 'list']),
  /** Of the client's: where it is, for whoever compares. */
  path: z.string(),
  place: z.string().nullable(),
  /** All that its page may tell. */
  name: z.string(),
  /** By which it was asked for last. */
  rung: z.enum(['upload', 'url']),
  /** What was said of it when it was asked for. */
  size: z.number().nullable(),
  sha256: z.string().nullable(),
  /** Whether it came and a caller knows its id. */
  isKept: z.boolean(),
});

export type UploadNote = z.output<typeof noteShape>;

/** Short, however long the path is. */
export const toPurposeKey = (request: FileRequestKey): string => hash('sha256', toRequestKey(request), 'hex');

export const parseUploadNote = ({ purpose }: Upload): UploadNote =>
  noteShape.parse(JSON.parse(purpose!.note));
