import type { OpenObject } from '../storage/storage.ts';
import type { ObjectRange, Segment } from '../transfer/transfer.ts';

export function lengthOf(segment: Segment): number {
  return 'bytes' in segment ? segment.bytes.length : segment.end - segment.start;
}

/** The same bytes, the last of which is given only once `act` has been done. */
export async function* lastByteAfter(act: () => Promise<void>, segment: Segment): AsyncGenerator<Segment> {
  if ('bytes' in segment) {
    yield { bytes: segment.bytes.subarray(0, -1) };
    await act();
    yield { bytes: segment.bytes.subarray(-1) };
  } else if (segment.object.descriptor === null) yield { ...segment, object: reading(act, segment) };
  else {
    const last = segment.end - 1;
    yield { ...segment, end: last };
    await act();
    yield { ...segment, start: last };
  }
}

/** In one read: a second one, for a byte, may cost as much as the first. */
function reading(act: () => Promise<void>, { object }: ObjectRange): OpenObject {
  return {
    size: object.size,
    descriptor: null,
    async *read(start, end, signal) {
      let left = end - start;
      for await (const chunk of object.read(start, end, signal)) {
        left -= chunk.length;
        if (left > 0 || chunk.length === 0) yield chunk;
        else {
          yield chunk.subarray(0, -1);
          await act();
          yield chunk.subarray(-1);
        }
      }
    },
    [Symbol.asyncDispose]: () => object[Symbol.asyncDispose](),
  };
}
