import { WorkcrateError } from '../../errors.ts';
import { fillBuffer } from '../../streams.ts';

/** All bytes of metadata, in memory; `size` of them are to come. */
export async function gathered(
  size: number,
  limit: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (size > limit)
    throw new WorkcrateError(
      'too_large',
      `The metadata of the crate has ${size} bytes, and the limit is ${limit}. Raise --max-metadata.`,
    );
  const whole = Buffer.allocUnsafeSlow(size);
  return whole.subarray(0, await fillBuffer(whole, bytes));
}
