import type { Clock } from '../../clock.ts';
import { isWorkcrateError } from '../../errors.ts';
import type { Files, StoredFile } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Uploads } from '../../links/links.ts';
import { createByUser } from './by-user.ts';
import { keyOf, nameOf, type Errand } from './errand.ts';

/** A file that was asked for and has not come, or has and was not fetched. */
export interface Awaited {
  readonly token: string;
  /** By which it was asked for last. */
  readonly rung: 'upload' | 'url';
  readonly operation: Errand['operation'];
  /** All that its page may tell. */
  readonly name: string;
  readonly expiresAt: number;
  /** What was said of it when it was asked for. */
  readonly size: number | null;
  readonly sha256: string | null;
}

export interface AwaitedOptions {
  readonly uploads: Pick<Uploads, 'request' | 'find' | 'file' | 'withdraw'>;
  readonly files: Pick<Files, 'open' | 'remove'>;
  readonly clock: Clock;
}

/** What came, for as long as somebody looks at it. */
export interface Came {
  readonly file: StoredFile;
  /** By which it was asked for. */
  readonly rung: Awaited['rung'];
  /** Its bytes. A chunk is good only until the next is asked for. */
  readonly read: () => AsyncIterable<Uint8Array>;
  /** Lets the file stay: later calls find it again until it expires. */
  readonly keep: () => void;
}

const mostAwaited = { each: 1000, users: 10_000 };
/** What came is taken over by the next call; if there is none, it goes. */
const keepSeconds = 3600;

export type AwaitedFiles = ReturnType<typeof createAwaited>;

/** Uploads that were asked for, by what they are to hold. This process remembers them; a restart asks anew. */
export function createAwaited({ uploads, files, clock }: AwaitedOptions) {
  const byToken = new Map<string, Awaited>();
  const open = createByUser<Awaited>(mostAwaited, ({ token }) => void byToken.delete(token));
  /** Two calls at once for the same file get one URL. */
  const requested = createByUser<Promise<Awaited>>(mostAwaited);

  function remember(user: string, key: string, awaited: Awaited): Awaited {
    open.set(user, key, awaited);
    byToken.set(awaited.token, awaited);
    return awaited;
  }

  async function arrived({ user }: Caller, errand: Errand): Promise<StoredFile | null> {
    const awaited = open.get(user, keyOf(errand));
    if (awaited === undefined) return null;
    try {
      return await uploads.file(await uploads.find(awaited.token));
    } catch (error) {
      if (!isWorkcrateError(error, 'upload_not_found')) throw error;
      open.remove(user, keyOf(errand));
      return null;
    }
  }

  async function request(caller: Caller, errand: Errand, rung: Awaited['rung']): Promise<Awaited> {
    const name = nameOf(errand.path);
    const { operation, size, sha256 } = errand;
    const filename = operation === 'read' ? name : `${name}.listing`;
    const announced = { filename, size, sha256, mediaType: null, keepSeconds };
    const { token, upload } = await uploads.request(caller, announced);
    const awaited = { token, rung, name, operation, size, sha256, expiresAt: upload.expiresAt };
    return remember(caller.user, keyOf(errand), awaited);
  }

  return {
    arrived,

    /** The same for as long as it is good: whoever lost the answer gets it again. */
    async expect(caller: Caller, errand: Errand, rung: Awaited['rung']): Promise<Awaited> {
      const { user } = caller;
      const key = keyOf(errand);
      const known = open.get(user, key);
      if (known && known.expiresAt > clock() && isSame(known, errand))
        return remember(user, key, { ...known, rung });
      if (known && !isSame(known, errand)) await uploads.withdraw(known.token).catch(unlessGone);
      const underWay = requested.get(user, key) ?? request(caller, errand, rung);
      requested.set(user, key, underWay);
      try {
        return await underWay;
      } finally {
        requested.remove(user, key);
      }
    },

    /**
     * Gives what came to `use`, to one call at a time, and deletes it afterwards unless it was kept. Null where
     * nothing came.
     */
    async taking<T>(caller: Caller, errand: Errand, use: (came: Came) => Promise<T>): Promise<T | null> {
      const key = keyOf(errand);
      const file = await arrived(caller, errand);
      const awaited = open.get(caller.user, key);
      // Another call may have had it in the meantime.
      if (file === null || awaited === undefined) return null;
      open.remove(caller.user, key);
      await using object = await files.open(file);
      if (object === null) return null;
      let isKept = false;
      const read = () => object.read(0, object.size);
      try {
        return await use({ file, rung: awaited.rung, read, keep: () => void (isKept = true) });
      } finally {
        if (isKept) remember(caller.user, key, awaited);
        else await files.remove({ user: file.owner }, file.id);
      }
    },

    /** Takes back what somebody said no to: nothing can be sent there any more. */
    async withdraw({ user }: Caller, errand: Errand): Promise<void> {
      const key = keyOf(errand);
      const token = open.get(user, key)?.token;
      open.remove(user, key);
      if (token !== undefined) await uploads.withdraw(token).catch(unlessGone);
    },

    /** What a page is about; null for what is not awaited, or no longer. */
    page(token: string): Awaited | null {
      const awaited = byToken.get(token);
      return awaited && awaited.expiresAt > clock() ? awaited : null;
    },
  };
}

/** What was said of a file before may have been wrong, and would be held against it. */
const isSame = (known: Awaited, { size, sha256 }: Errand): boolean =>
  known.size === size && known.sha256 === sha256;

/** It has expired, or was used in this very moment, and goes by itself. */
function unlessGone(error: unknown): void {
  const codes = ['upload_not_found', 'upload_used', 'upload_busy'] as const;
  if (!codes.some((code) => isWorkcrateError(error, code))) throw error;
}
