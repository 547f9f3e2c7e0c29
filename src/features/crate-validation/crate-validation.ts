/**
 * The door of validation for a server: judges a crate that a caller may see, in a process of its own, since the metadata
 * of a crate may fill much of the memory. The rules are in `validate.ts`; who may see a crate is asked of `crates`.
 */
import { extname } from 'node:path';
import type { Caller } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { createHelperProcess, type Thread } from '../../platform/workers/workers.ts';
import type { ConfiguredSource, Crates } from '../crates/crates.ts';
import type { ValidationProfile } from './profiles.ts';
import type { ValidationAnswer } from './report.ts';
import type { ValidatingMethods } from './validating.ts';

/** Plain data, since it is sent to the process. */
export interface ValidationSettings {
  readonly sources: readonly ConfiguredSource[];
  readonly maxMetadata: number;
}

export interface CrateValidationOptions extends ValidationSettings {
  readonly crates: Pick<Crates, 'locate'>;
  readonly log: Log;
}

export interface CrateValidations extends AsyncDisposable {
  /** Judges a crate by the rules of RO-Crate, and of what it states or what is asked for. */
  validate(
    caller: Caller,
    crateId: string,
    profile: ValidationProfile | null,
    signal: AbortSignal,
  ): Promise<ValidationAnswer>;
}

export function createCrateValidation(options: CrateValidationOptions): CrateValidations {
  const { crates, sources, maxMetadata, log } = options;
  const settings: ValidationSettings = { sources, maxMetadata };
  const validating: Thread<ValidatingMethods> = createHelperProcess(processFile, settings, log);
  return {
    async validate(caller, crateId, profile, signal) {
      const place = await crates.locate(caller, crateId, signal);
      return validating.call('validate', { viewer: caller.user, place, profile }, { signal });
    },
    [Symbol.asyncDispose]: () => validating[Symbol.asyncDispose](),
  };
}

/** Works both from the TypeScript sources and from a build. */
const processFile = new URL(`./validating-process${extname(import.meta.filename)}`, import.meta.url);
