/**
 * The room for kept results. They count with their user's folders, and give way to these and to a disk that fills: older
 * ones go before new bytes are kept or claimed. Which of them go, and how, is in `kept-results.ts`.
 */
import { createKeyedMutex } from '../concurrency/mutex.ts';
import { measureFreeSpace, type FreeSpace } from '../data-folder/disk-reserve.ts';
import type { Log } from '../observability/log.ts';
import type { Sandbox, Workspace } from '../sandbox/sandbox.ts';

/** How often folders and disk are looked at while code runs. */
const lookEveryMs = 1000;
/** The folders of a user are looked at again after so many times what that took. */
const lookPatience = 20;

export interface KeptQuotaOptions {
  readonly sandbox: Pick<Sandbox, 'limits' | 'measureDisk'>;
  /** What is kept of a user. */
  readonly countKept: (owner: string) => Promise<number>;
  /** The oldest of a user, or of all, until so many bytes are free again. */
  readonly dropOldest: (owner: string | null, bytes: number) => Promise<void>;
  /** Whether code runs. */
  readonly isBusy: () => boolean;
  readonly log: Log;
}

export type KeptQuota = ReturnType<typeof createKeptQuota>;

export function createKeptQuota({ sandbox, countKept, dropOldest, isBusy, log }: KeptQuotaOptions) {
  const owners = new Map<string, WatchedOwner>();
  const inTurn = createKeyedMutex();
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> = Promise.resolve();

  /** By how much the folders of a user, what is kept, and so many bytes more are beyond the quota. */
  async function countExcess(owner: string, place: Workspace, bytes: number): Promise<number> {
    const { diskBytes } = sandbox.limits;
    const underWay = owners.get(owner)?.underWay ?? 0;
    const kept = (await countKept(owner)) + underWay + bytes;
    return kept === 0 ? 0 : kept + (await sandbox.measureDisk(place, diskBytes - kept)) - diskBytes;
  }

  async function makeRoomInQuota(owner: string, place: Workspace, bytes: number): Promise<boolean> {
    const excess = await countExcess(owner, place, bytes);
    if (excess <= 0) return true;
    await dropOldest(owner, excess);
    return (await countExcess(owner, place, bytes)) <= 0;
  }

  async function makeRoomOnDisk(place: Workspace, bytes: number): Promise<boolean> {
    const missing = countMissing(await measureFreeSpace(place.workspace), bytes);
    if (missing <= 0) return true;
    await dropOldest(null, missing);
    return countMissing(await measureFreeSpace(place.workspace), bytes) <= 0;
  }

  /** Whether so many bytes fit beside the folders of a user and what is kept, of which the oldest go where they must. */
  const makeRoom = async (owner: string, place: Workspace, bytes: number): Promise<boolean> =>
    (await makeRoomInQuota(owner, place, bytes)) && (await makeRoomOnDisk(place, bytes));

  async function lookAtAll(isDue: (watched: WatchedOwner) => boolean): Promise<void> {
    for (const [owner, watched] of owners) {
      if (!isDue(watched)) continue;
      const began = performance.now();
      await inTurn(owner, () => makeRoom(owner, watched.place, 0));
      const ended = performance.now();
      watched.lookAt = ended + lookPatience * (ended - began);
    }
  }

  /** One look after the other. */
  function look(isDue: (watched: WatchedOwner) => boolean): Promise<void> {
    looking = looking
      .then(() => lookAtAll(isDue))
      .catch((error: unknown) => log.error('execution.kept_results_not_trimmed', { error }));
    return looking;
  }

  function lookLater(): void {
    timer = setTimeout(() => {
      const wasBusy = isBusy();
      void look(({ lookAt }) => performance.now() >= lookAt).then(() => {
        if (timer === null) return;
        if (wasBusy) lookLater();
        else stopWatching();
      });
    }, lookEveryMs).unref();
  }

  function stopWatching(): void {
    timer = null;
    for (const [owner, { underWay }] of owners) if (underWay === 0) owners.delete(owner);
  }

  function watch(owner: string, place: Workspace): WatchedOwner {
    const watched = owners.get(owner) ?? { place, underWay: 0, lookAt: 0 };
    owners.set(owner, watched);
    if (timer === null) lookLater();
    return watched;
  }

  return {
    /** Code of this user is about to run: the folders are looked at now and then until no code does. */
    watch: (owner: string, place: Workspace): void => void watch(owner, place),

    /** So many bytes are about to be kept; null where there is no room. To be released when the row says so. */
    claim(owner: string, place: Workspace, bytes: number): Promise<Disposable | null> {
      const watched = watch(owner, place);
      return inTurn(owner, async () => {
        if (!(await makeRoom(owner, place, bytes))) return null;
        watched.underWay += bytes;
        return { [Symbol.dispose]: () => void (watched.underWay -= bytes) };
      });
    },

    /** Before the server writes so many bytes into the folders of a user whose code runs. */
    async giveWay(place: Workspace, bytes: number): Promise<void> {
      for (const [owner, watched] of owners)
        if (watched.place.workspace === place.workspace)
          await inTurn(owner, () => makeRoom(owner, place, bytes));
    },

    /** Looks now at the users whose code has run, and at the disk with these folders. */
    async sweep(place: Workspace | null): Promise<void> {
      await look(() => true);
      if (place !== null) await makeRoomOnDisk(place, 0);
    },

    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer ?? undefined);
      timer = null;
      await looking;
    },
  };
}

interface WatchedOwner {
  readonly place: Workspace;
  /** Bytes that are being kept, of which no row says so yet. */
  underWay: number;
  /** When the folders are looked at again. */
  lookAt: number;
}

/**
 * How many bytes are missing to twice the reserve, which kept results leave free: no run and no upload ends because of
 * them. Where inodes are missing, something has to go too.
 */
function countMissing({ freeBytes, reserveBytes, inodes }: FreeSpace, bytesToCome: number): number {
  const bytes = 2 * reserveBytes + bytesToCome - freeBytes;
  return inodes !== null && inodes.free < 2 * inodes.reserve ? Math.max(bytes, 1) : bytes;
}
