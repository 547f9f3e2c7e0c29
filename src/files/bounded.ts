import { WorkcrateError } from '../errors.ts';
import { formatBytes } from '../text.ts';

/** Passes bytes through until there are more than `most`, then breaks off. */
export async function* bounded(bytes: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > most) throw tooLarge(most);
    yield chunk;
  }
}

export function tooLarge(most: number): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The file has more than ${formatBytes(most)}, which is the limit. Send a smaller file.`,
    {
      details: { limit: most },
    },
  );
}
