/** What the process that validates can do. Users take turns, one crate at a time: it may fill much of the memory. */
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { CallContext } from '../../platform/workers/workers.ts';
import type { CrateLocation } from '../crates/crate.ts';
import { demandSource, openCrateContainer, openIndexedSourcesOnce } from '../crates/sources/sources.ts';
import type { ValidationSettings } from './crate-validation.ts';
import type { ValidationProfile } from './profiles.ts';
import { toValidationAnswer } from './report.ts';
import { validateCrate } from './validate.ts';

export type ValidatingMethods = ReturnType<typeof createValidatingWorker>;

interface ValidationCall {
  readonly viewer: string;
  readonly place: CrateLocation;
  readonly profile: ValidationProfile | null;
}

export function createValidatingWorker({ sources, maxMetadata }: ValidationSettings) {
  const openSources = openIndexedSourcesOnce(sources);
  const queue = createFairQueue({
    most: 1,
    mostOfUser: 1,
    mostWaitingOfUser: 50,
    order: 'rotation',
    refusals: {
      busy: (running, queued) => tooManyValidationsError(running, queued),
      cancelled: ({ reason }) => reason as unknown,
      closed: () => new WorkcrateError('stopping', 'The server is stopping.'),
    },
  });
  return {
    async validate({ viewer, place, profile }: ValidationCall, { signal }: CallContext) {
      const source = demandSource(await openSources(), place.source);
      return queue.run({ user: viewer, signal }, async () => {
        await using container = await openCrateContainer(source, place, { signal });
        return toValidationAnswer(await validateCrate({ container, place, maxMetadata, profile, signal }));
      });
    },
  };
}

const tooManyValidationsError = (running: number, queued: number): WorkcrateError =>
  new WorkcrateError(
    'too_many_requests',
    `Too many validations are waiting. Of yours, ${running} are running and ${queued} are waiting. Try again later.`,
    { details: { running, queued } },
  );
