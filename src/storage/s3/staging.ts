import { offsetConflict } from '../failures.ts';
import { partsOf, type Names } from '../remote/remote.ts';
import type { Staging } from '../storage.ts';
import type { Bucket } from './bucket.ts';
import { commit } from './committing.ts';
import { headIn } from './heads.ts';
import { allNames } from './listing.ts';
import { abortMultipart } from './multipart.ts';
import { writeParts } from './part-writer.ts';
import { refused } from './refusals.ts';
import { removeName } from './removing.ts';
import { stagedIn, wholeName } from './state.ts';
import { fresh, load, peek, save, sizeOf } from './staged.ts';
import type { Staged } from './state.ts';

/** Bytes on their way in: whole parts in a multipart upload on the object they are meant for, the rest in `staging/ID`. */
export function s3Staging(bucket: Bucket, names: Names): Staging {
  return {
    size: async (id) => sizeOf(await peek(bucket, names.staged(id))),
    append: (id, offset, bytes, { signal, key } = {}) => {
      const stateName = names.staged(id);
      // Bytes that are meant for no key yet are put together beside it, and copied when it is known.
      const targetName = key === undefined ? wholeName(stateName) : names.object(key);
      return append(bucket, { stateName, targetName }, offset, bytes, signal);
    },
    commit: (id, key) => commit(bucket, names.staged(id), key, names.object(key)),
    discard: (id) => discard(bucket, names.staged(id)),
    list: async () => {
      const staged = await allNames(bucket, names.staging);
      return staged.flatMap(({ name, modified }) => {
        const id = names.idOf(name);
        return id === null ? [] : [{ id, modified }];
      });
    },
  };
}

async function append(
  bucket: Bucket,
  destination: { stateName: string; targetName: string },
  offset: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  const before = await load(bucket, destination.stateName);
  const size = sizeOf(before?.found ?? null);
  if (offset !== 0 && offset !== size) throw offsetConflict(size);
  const { staged, tail } =
    offset === 0 ? await startAfresh(bucket, destination.stateName, before?.found.staged) : goOn(before!);
  const { partBytes } = bucket.options;
  const parts = partsOf(bytes, { partBytes, hash: 'sha256', before: tail, signal });
  return writeParts(bucket, destination, staged, tail, parts);
}

const goOn = ({ found, tail }: NonNullable<Awaited<ReturnType<typeof load>>>) => ({
  staged: found.staged,
  tail,
});

/** The state is written anew at once where it named parts: a crash must not leave it naming what is gone. */
async function startAfresh(bucket: Bucket, stateName: string, old: Staged | undefined) {
  const [staged, tail] = [fresh(), Buffer.alloc(0)];
  if (old?.multipart) {
    await abortMultipart(bucket, old.multipart);
    await save(bucket, stateName, staged, tail);
  }
  return { staged, tail };
}

/**
 * The parts go first: a crash between leaves a state without them, which can be discarded again. Of a state that is
 * damaged, or of somebody else, nothing is believed but that it stands there.
 */
async function discard(bucket: Bucket, stateName: string): Promise<void> {
  const answer = await bucket.ask({ method: 'HEAD', name: stateName });
  if (answer.refusal?.status === 404) return;
  if (answer.refusal !== null) throw refused(bucket, answer.refusal);
  const staged = stagedIn(bucket, stateName, headIn(answer.headers).note);
  const whole = wholeName(stateName);
  if (staged?.multipart) await abortMultipart(bucket, staged.multipart);
  if (staged === null || staged.multipart?.name === whole) await removeName(bucket, whole);
  await removeName(bucket, stateName);
}
