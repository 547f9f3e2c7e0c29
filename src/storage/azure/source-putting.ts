import { alreadyExists } from '../failures.ts';
import { partsOf, type Part } from '../remote/remote.ts';
import { checkNewName, exactly } from '../source-names.ts';
import type { AzureOptions } from './azure.ts';
import type { Blobs } from './blobs.ts';
import { writeBlocks } from './block-writer.ts';
import { mostBlocks, newAttempt } from './blocks.ts';
import { createMaking } from './making.ts';

/**
 * Writes a new blob under a name of the caller's. What is taken is told before a byte is sent. Blocks of one that
 * failed are no blob, and are dropped by the service within a week.
 */
export async function putNew(
  blobs: Blobs,
  options: AzureOptions,
  name: string,
  size: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  checkNewName(name, options.prefix);
  const whole = options.prefix + name;
  if ((await blobs.head(whole, signal)) !== null) throw alreadyExists(name);
  const making = { key: name, name: whole, attempt: newAttempt(name), size };
  const { fromBlocks, fromBytes } = createMaking(blobs);
  const partBytes = Math.max(options.partBytes, Math.ceil(size / (mostBlocks - 1)));
  const parts = partsOf(exactly(bytes, size), { partBytes, hash: 'md5', signal });
  await using _ = parts.all;
  if (size > partBytes) {
    const target = { name: whole, attempt: making.attempt, run: 1, start: 0, count: 0 };
    const { ids, failure } = await writeBlocks(blobs, target, parts);
    if (failure !== null) throw failure.error;
    await fromBlocks(making, ids);
    return;
  }
  const { bytes: body }: Part = (await parts.all.next()).value;
  // There is nothing more, but it may have failed.
  await parts.all.next();
  await fromBytes(making, body);
}
