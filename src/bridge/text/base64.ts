import { WorkcrateError } from '../../errors.ts';

export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Exact: what is no base64, or was cut, is refused and not skipped. Line breaks are fine. */
export function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new WorkcrateError(
      'invalid_input',
      'The content is not valid base64: use A-Z, a-z, 0-9, + and /, padded with =. For plain text leave binary out.',
    );
  }
}
