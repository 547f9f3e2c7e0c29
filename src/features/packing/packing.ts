/**
 * The door of packing for a server: has a crate packed and indexed, so that it is found at once, and handed out; whole or
 * not at all. What goes into it is decided in `pack.ts`. It runs nothing again: `replay.ts` does.
 */
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import { getQuotas } from '../../core/store-options.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Source, SourceObject } from '../../ports/storage/source.ts';
import type { Crates } from '../crates/crates.ts';
import { createCratePacker, type CratePackerOptions, type PackProgress, type PackRequest } from './pack.ts';
import { createPackQuota, type PackQuotaOptions } from './quota.ts';

type PackOptions = Omit<CratePackerOptions, 'reserveRoom'> & Omit<PackQuotaOptions, 'held'>;

export interface PackingOptions extends PackOptions {
  readonly crates: Pick<Crates, 'takeIn' | 'forget' | 'locate' | 'packedBytes'>;
  readonly log: Log;
}

/** A packed crate that is in the index. */
export interface IndexedPackedCrate {
  readonly crateId: string;
  readonly locator: string;
  readonly size: number;
  readonly sha256: string;
  /** Sentences about what is left out or unusual. */
  readonly notes: readonly string[];
}

export type Packing = ReturnType<typeof createPacking>;

type PackingRooms = Omit<PackingOptions, 'quotas' | 'isForSeveral' | 'target' | 'maxBytes'>;

/** Packing as the settings say: crates go to the last of the sources. A user may pack as much as they may keep in files. */
export const openPacking = (
  config: Config,
  { sources, ...rooms }: PackingRooms & { readonly sources: { readonly packs: Source } },
): Packing =>
  createPacking({
    ...rooms,
    quotas: getQuotas(config),
    isForSeveral: config.auth.length > 0,
    target: sources.packs,
    maxBytes: config.maxFileSize,
  });

function createPacking(options: PackingOptions) {
  const { crates, target, log } = options;
  const reserveRoom = createPackQuota({ ...options, held: (owner) => crates.packedBytes(owner) });
  const packer = createCratePacker({ ...options, reserveRoom });

  /** Removes a packed crate that could not be indexed. A failure in here is only logged: the caller gets the first one. */
  async function takeBack(made: SourceObject): Promise<void> {
    try {
      await target.remove(made);
      await crates.forget({ source: target.url, object: made.name }, AbortSignal.timeout(rollbackTimeoutMs));
    } catch (error) {
      log.warn('crates.not_taken_back', { object: made.name, error });
    }
  }

  return {
    /**
     * Packs a crate, indexes it so that it is found at once, and hands it out. If any of that fails, the crate is
     * removed again.
     */
    async pack<T>(
      caller: Caller,
      request: PackRequest,
      watching: PackProgress,
      handOut: (packed: IndexedPackedCrate) => Promise<T>,
    ): Promise<T> {
      await using packed = await packer.pack(caller, request, watching);
      const { object, sha256, notes } = packed;
      try {
        const crateId = await crates.takeIn({ source: target.url, object: object.name }, watching.signal);
        const { locator } = await crates.locate(caller, crateId, watching.signal);
        await packer.notePacked(caller, packed);
        return await handOut({ crateId, locator, size: object.size, sha256, notes });
      } catch (error) {
        await takeBack(object);
        throw target.kind === 'folder' && isWorkcrateError(error, 'source_unreachable')
          ? packedCrateUnreadableError(error)
          : error;
      }
    },
  };
}

const rollbackTimeoutMs = 10_000;

const packedCrateUnreadableError = (cause: WorkcrateError): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    'The crate was written but could not be read back, so it was removed. The disk for packed crates is failing: the server log says how.',
    { cause },
  );
