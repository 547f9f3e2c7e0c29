import { WorkcrateError } from '../errors.ts';

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
    `More bytes than the ${most} that are allowed here. Send a smaller file.`,
    {
      details: { limit: most },
    },
  );
}
